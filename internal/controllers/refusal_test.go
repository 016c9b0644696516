package controllers

import (
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestRefused(t *testing.T) {
	resource := schema.GroupResource{Group: "discovery.k8s.io", Resource: "endpointslices"}
	quota := apierrors.NewForbidden(resource, "a", errors.New("exceeded quota: q"))
	taken := TakenError{"EndpointSlice", "shop", "b"}
	away := errors.New("connection refused")
	for _, tt := range []struct {
		err     error
		refused bool
		summary string
	}{
		{away, false, "connection refused"},
		{fmt.Errorf("creating: %w", quota), true, `creating: endpointslices.discovery.k8s.io "a" is forbidden: exceeded quota: q`},
		{errors.Join(taken), true, "EndpointSlice shop/b exists already and was not made by Atoll: delete or rename it"},
		{errors.Join(away, quota, away), true, "connection refused (and 2 more)"},
		{fmt.Errorf("importing: %w", errors.Join(taken, away)), true, "EndpointSlice shop/b exists already and was not made by Atoll: delete or rename it (and 1 more)"},
		{errors.Join(away, away), false, "connection refused (and 1 more)"},
	} {
		if got := Refused(tt.err); got != tt.refused {
			t.Errorf("%v: refused %t", tt.err, got)
		}
		if got := Summary(tt.err); got != tt.summary {
			t.Errorf("%v: summary %q", tt.err, got)
		}
	}
}
