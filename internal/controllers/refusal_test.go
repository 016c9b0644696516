package controllers

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestRefused(t *testing.T) {
	resource := schema.GroupResource{Group: "discovery.k8s.io", Resource: "endpointslices"}
	quota := apierrors.NewForbidden(resource, "a", errors.New("exceeded quota: q"))
	taken := TakenError{"EndpointSlice", "shop", "b", false}
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

// What the API server says of an object is an answer; that it can't say anything is none.
func TestUnanswered(t *testing.T) {
	resource := schema.GroupResource{Group: "broker.atoll.dev", Resource: "exportedservices"}
	terminating := apierrors.NewForbidden(resource, "a", errors.New("it is being terminated"))
	terminating.ErrStatus.Details.Causes = append(terminating.ErrStatus.Details.Causes, metav1.StatusCause{Type: corev1.NamespaceTerminatingCause})
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "ExportedService"}, "a", nil)
	for _, tt := range []struct {
		err        error
		unanswered bool
	}{
		{nil, false},
		{errors.New("connection refused"), true},
		{context.DeadlineExceeded, true},
		{apierrors.NewTimeoutError("slow", 1), true},
		{apierrors.NewInternalError(errors.New("etcd is away")), true},
		{apierrors.NewTooManyRequests("busy", 1), true},
		{apierrors.NewUnauthorized("no such account"), true},
		{apierrors.NewNotFound(resource, "the definition, or the namespace"), true},
		{fmt.Errorf("writing: %w", terminating), true},
		{apierrors.NewForbidden(resource, "a", errors.New("exceeded quota: q")), false},
		{fmt.Errorf("writing: %w", invalid), false},
		{TakenError{"EndpointSlice", "shop", "b", false}, false},
		{fmt.Errorf("publishing: %w", errors.Join(invalid, errors.New("connection refused"))), true},
	} {
		if got := Unanswered(tt.err); got != tt.unanswered {
			t.Errorf("%v: unanswered %t", tt.err, got)
		}
	}
}
