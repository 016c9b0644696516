package kit

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// The functions of this file know some refusals only by the API server's words, which no API promises. The integration test
// TestWordsOfTheAPIServer tries each of them.

// IsRefusal reports whether the API server, or one of its policies or webhooks, refuses a write. Policies choose their
// status code, and a webhook that does not answer gives 500 (Internal Server Error): those are known by their text.
func IsRefusal(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	switch status.Status().Code {
	case http.StatusBadRequest, http.StatusForbidden, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return true
	}
	return slices.ContainsFunc([]string{"denied the request", "denied request: ", "failed calling webhook"}, func(text string) bool {
		return strings.Contains(status.Status().Message, text)
	})
}

// RefusesField reports whether the API server refuses the value of a field, such as spec.clusterIP, or of one that begins with
// the path. A policy names the field only in its text.
func RefusesField(err error, path string) bool {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	named := false
	for _, cause := range status.Status().Details.Causes {
		if strings.HasPrefix(cause.Field, path) {
			return true
		}
		named = named || cause.Field != ""
	}
	return !named && strings.Contains(status.Status().Message, path)
}

// RefusedAddress returns which of a Service's addresses the API server does not allocate, "" if it does not say, and whether
// another Service has it. The API server names one address at a time.
func RefusedAddress(err error, addresses []string) (address string, isTaken bool) {
	text := err.Error()
	for _, a := range addresses {
		if strings.Contains(text, "failed to allocate IP "+a+":") {
			address = a
		}
	}
	return address, strings.Contains(text, "already allocated")
}
