package servicepolicy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/kit/status"
)

// failures are the API server's answers to writes of one object.
var failures = []struct {
	name    string
	err     error
	refusal bool // the API server refuses the object, so that its condition says so at once
}{
	{"400", apierrors.NewBadRequest("sentence of the API server"), true},
	{"403 by a quota", apierrors.NewForbidden(policies, "x", errors.New("sentence of the API server")), true},
	{"409", apierrors.NewConflict(policies, "x", errors.New("sentence of the API server")), false},
	{"413", apierrors.NewRequestEntityTooLargeError("sentence of the API server"), true},
	{"422", apierrors.NewInvalid(schema.GroupKind{Kind: "sentence of the API server"}, "x", nil), true},
	{"500", apierrors.NewInternalError(errors.New("sentence of the API server")), false},
	{"500 of a webhook", apierrors.NewInternalError(errors.New("failed calling webhook: sentence of the API server")), true},
	{"503", apierrors.NewServiceUnavailable("sentence of the API server"), false},
	{"504", apierrors.NewTimeoutError("sentence of the API server", 1), false},
	{"an unusual code of a policy", &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusGone, Message: "denied the request: sentence of the API server"}}, true},
	{"no answer", fmt.Errorf("sentence of the API server: %w", context.DeadlineExceeded), false},
}

var policies = brokerv1alpha1.GroupVersion.WithResource("servicepolicies").GroupResource()

// failing makes writes of a kind and name fail with *err.
func failing(w *world, is func(client.Object) bool, err *error) {
	w.Client = interceptor.NewClient(w.Client.(client.WithWatch), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if is(o) && *err != nil {
				return *err
			}
			return c.Create(ctx, o, opts...)
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			if is(o) && *err != nil {
				return *err
			}
			return c.Update(ctx, o, opts...)
		},
	})
}

// What the hub cannot write for one MultiClusterService is this object's condition, with the API
// server's sentence and a retry. Others are written, and the hub does not rebuild its caches.
func TestOneObjectThatCannotBeWritten(t *testing.T) {
	db := types.NamespacedName{Namespace: "set", Name: "db"} // in the clusterset's own namespace
	for _, tt := range failures {
		for _, have := range []*brokerv1alpha1.ServicePolicy{nil, policyOf(multiClusterService(consumers("c9")), false)} {
			t.Run(fmt.Sprintf("%s, update %t", tt.name, have != nil), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					other := multiClusterService(in(db.Namespace))
					other.Name = db.Name
					objects := []client.Object{multiClusterService(), other}
					if have != nil {
						objects = append(objects, have.DeepCopy())
					}
					w, failure := newWorld(t, objects...), tt.err
					failing(w, func(o client.Object) bool { return o.GetName() == "web.shop" }, &failure)
					r, _ := w.reconciler()
					for began := time.Now(); time.Since(began) < status.FailedAfter+10*time.Second; <-time.After(5 * time.Second) {
						result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: web})
						if err == nil && result.RequeueAfter == 0 {
							t.Fatal("the failed write is not retried")
						}
						if c := exportedOf(t, w, web); time.Since(began) == 0 && (c != nil) != tt.refusal {
							t.Errorf("after the first failure the condition is %+v", c)
						}
					}
					c := exportedOf(t, w, web)
					if c == nil || c.Status != metav1.ConditionFalse || !strings.Contains(c.Message, "sentence of the API server") ||
						(c.Reason == networkingv1alpha1.ReasonPolicyRefused) != tt.refusal {
						t.Errorf("the condition is %+v", c)
					}
					if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: db}); err != nil {
						t.Fatal(err)
					}
					if c := exportedOf(t, w, db); c == nil || c.Reason != networkingv1alpha1.ReasonNotExported {
						t.Errorf("the condition of the other MultiClusterService is %+v", c)
					}
					compared(t, w, r)

					failure = nil
					if result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: web}); err != nil || result.RequeueAfter > 0 || r.failed.Has(web) {
						t.Errorf("after the failure: %+v, %v", result, err)
					}
					if c := exportedOf(t, w, web); c == nil || c.Reason != networkingv1alpha1.ReasonNotExported {
						t.Errorf("after the failure the condition is %+v", c)
					}
					compared(t, w, r)
				})
			})
		}
	}
}

// compared checks that the hub confirms its policies to members.
func compared(t *testing.T, w *world, r *reconciler) {
	t.Helper()
	c := &Comparer{Client: w, Reader: w, Clusterset: "set", Failed: r.failed}
	lease, err := c.renew(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if right, err := c.compare(t.Context(), lease); err != nil || !right {
		t.Errorf("the comparison fails for all: %t, %v", right, err)
	}
}

func exportedOf(t *testing.T, w *world, name types.NamespacedName) *metav1.Condition {
	t.Helper()
	mcs := &networkingv1alpha1.MultiClusterService{}
	if err := w.Get(t.Context(), name, mcs); err != nil {
		t.Fatal(err)
	}
	return meta.FindStatusCondition(mcs.Status.Conditions, networkingv1alpha1.ConditionExported)
}

// A status that cannot be written does not keep the policy from members. It is retried, and an
// Event reports a refusal, as no condition can.
func TestStatusThatCannotBeWritten(t *testing.T) {
	for _, tt := range failures {
		w, failure := newWorld(t, multiClusterService()), tt.err
		w.Client = interceptor.NewClient(w.Client.(client.WithWatch), interceptor.Funcs{
			SubResourceApply: func(ctx context.Context, c client.Client, subresource string, o runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
				if failure != nil {
					return failure
				}
				return c.SubResource(subresource).Apply(ctx, o, opts...)
			},
		})
		r, events := w.reconciler()
		result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: web})
		if err == nil && result.RequeueAfter == 0 {
			t.Errorf("%s: the failed write is not retried", tt.name)
		}
		if tt.refusal != (len(events) == 1 && strings.Contains(<-events, "sentence of the API server")) {
			t.Errorf("%s: there are %d more Events", tt.name, len(events))
		}
		if strings.Join(w.writes, " ") != "create" || r.failed.Has(web) {
			t.Errorf("%s: the policy was not written: %q", tt.name, w.writes)
		}
		failure = nil
		if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: web}); err != nil || exportedOf(t, w, web) == nil {
			t.Errorf("%s: the condition is missing after the failure: %v", tt.name, err)
		}
	}
}

// MultiClusterServices that the API server accepts although no Service fits them.
func TestOddObjects(t *testing.T) {
	typeless := multiClusterService(func(m *networkingv1alpha1.MultiClusterService) {
		m.Spec.Types = []networkingv1alpha1.ExposureType{"LoadBalance"} // as another product's CRD accepts
	})
	if c := (state{mcs: typeless, exporters: []string{"c1"}}).exported(); c.Status != metav1.ConditionFalse || c.Reason != networkingv1alpha1.ReasonNoSuchType || !strings.Contains(c.Message, `"LoadBalance"`) {
		t.Errorf("without a known type: %+v", c)
	}
	for _, name := range []string{"web.v2", strings.Repeat("x", 64), strings.Repeat("x", 253)} {
		odd := multiClusterService(func(m *networkingv1alpha1.MultiClusterService) { m.Name = name })
		key := types.NamespacedName{Namespace: odd.Namespace, Name: name}
		w := newWorld(t, odd)
		r, _ := w.reconciler()
		if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: key}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := w.Get(t.Context(), key, odd); err != nil {
			t.Fatal(err)
		}
		if c := meta.FindStatusCondition(odd.Status.Conditions, networkingv1alpha1.ConditionServiceFound); c == nil || c.Status != metav1.ConditionFalse || !strings.Contains(c.Message, "No Service can have the name") {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

// Members ignore a policy whose name is not that of its service, and so does the hub: it does not
// rebuild its caches again and again.
func TestForeignPolicyIsNotCompared(t *testing.T) {
	foreign := policyOf(multiClusterService(consumers("c9")), false)
	foreign.Name = "foreign"
	w := newWorld(t, multiClusterService(), policyOf(multiClusterService(), false), foreign)
	r, _ := w.reconciler()
	compared(t, w, r)
}
