package controllers

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/atoll-mcs/atoll/internal/status"
)

// TakenError says that an object can't be made, because there is one of its name: somebody else's, or, with Ours, one of Atoll's own that
// belongs to something else.
type TakenError struct {
	Kind, Namespace, Name string
	Ours                  bool
}

func (e TakenError) Error() string {
	if e.Ours {
		return fmt.Sprintf("%s %s/%s exists already for another service or cluster: it is tried again when that is gone", e.Kind, e.Namespace, e.Name)
	}
	return fmt.Sprintf("%s %s/%s exists already and was not made by Atoll: delete or rename it", e.Kind, e.Namespace, e.Name)
}

// Taken returns the errors about names that are taken.
func Taken(err error) []TakenError {
	var found []TakenError
	for _, e := range all(err) {
		var taken TakenError
		if errors.As(e, &taken) {
			found = append(found, taken)
		}
	}
	return found
}

// Refused tells whether a write failed for a reason that people can do something about: a
// quota, a policy, an object of the same name. Anything else passes by trying again.
func Refused(err error) bool {
	for _, e := range all(err) {
		var taken TakenError
		if apierrors.IsForbidden(e) || apierrors.IsInvalid(e) || errors.As(e, &taken) {
			return true
		}
	}
	return false
}

// Unanswered tells whether a write failed for the sake of the API server, which was not reached, or did not
// have what belongs there: no namespace, no such kind, no account, no time. What it says of the object alone is
// an answer.
func Unanswered(err error) bool {
	if err == nil {
		return false
	}
	return slices.ContainsFunc(all(err), func(e error) bool {
		var taken TakenError
		var answer apierrors.APIStatus
		switch {
		case errors.As(e, &taken):
			return false
		case !errors.As(e, &answer):
			return true
		}
		code := answer.Status().Code
		return code == http.StatusNotFound || code == http.StatusUnauthorized || code == http.StatusTooManyRequests || code >= http.StatusInternalServerError ||
			apierrors.HasStatusCause(e, corev1.NamespaceTerminatingCause)
	})
}

// Tried says what has become of a step of a service on the broker, which was begun in a round of progress, and has failed unless err is nil.
func Tried(progress *status.Progress, step status.Step, service types.NamespacedName, round int, err error) {
	switch {
	case err == nil:
		progress.Done(step, service, round)
	case !Unanswered(err):
		progress.Refused(step, service, round)
	}
}

// Summary writes an error for people: of several, the first and how many more there are.
func Summary(err error) string {
	list := all(err)
	if len(list) == 1 {
		return list[0].Error()
	}
	return fmt.Sprintf("%v (and %d more)", list[0], len(list)-1)
}

// all returns the errors that were joined to err, or err itself.
func all(err error) []error {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		return joined.Unwrap()
	}
	return []error{err}
}
