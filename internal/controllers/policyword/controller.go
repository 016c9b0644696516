// Package policyword keeps the hub's word on the broker for which ServicePolicies there are,
// without which members don't believe that one is gone.
package policyword

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/controllers"
	"github.com/atoll-mcs/atoll/internal/names"
)

// Controller keeps the one Hub object.
type Controller struct {
	writer controllers.Writer
	key    client.ObjectKey
}

// NewController returns a controller that writes to the clusterset's namespace.
func NewController(writer controllers.Writer, clusterset string) *Controller {
	return &Controller{writer: writer, key: client.ObjectKey{Namespace: clusterset, Name: brokerv1alpha1.HubName}}
}

// Name is the controller's name in logs and metrics.
func (c *Controller) Name() string { return "policyword" }

// Register adds the controller to a manager. It waits for the copies of both kinds, so that it
// says nothing of what it has not seen.
func (c *Controller) Register(mgr ctrl.Manager) error {
	same := func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: c.key}}
	}
	comesOrGoes := predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return (e.ObjectOld.GetDeletionTimestamp() == nil) != (e.ObjectNew.GetDeletionTimestamp() == nil)
	}}
	return ctrl.NewControllerManagedBy(mgr).
		Named(c.Name()).
		Watches(&networkingv1alpha1.MultiClusterService{}, handler.EnqueueRequestsFromMapFunc(same), builder.WithPredicates(comesOrGoes)).
		Watches(&brokerv1alpha1.Hub{}, handler.EnqueueRequestsFromMapFunc(same)).
		// A hub that begins without any MultiClusterService says so too.
		WatchesRawSource(controllers.Events(func(add func(reconcile.Request, bool)) {
			add(reconcile.Request{NamespacedName: c.key}, false)
		})).
		WithOptions(controllers.Options[reconcile.Request]()).
		Complete(c)
}

// Reconcile brings the hub's word up to date. It is about what MultiClusterServices there are,
// not about what policies are on the broker, which may have lost some.
func (c *Controller) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	list := &networkingv1alpha1.MultiClusterServiceList{}
	if err := c.writer.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return reconcile.Result{}, fmt.Errorf("listing MultiClusterServices: %w", err)
	}
	var set broker.PolicySet
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp == nil {
			set.Add(names.Aggregate(list.Items[i].Namespace, list.Items[i].Name))
		}
	}
	have := &brokerv1alpha1.Hub{}
	err := c.writer.Client.Get(ctx, c.key, have)
	switch {
	case apierrors.IsNotFound(err):
		err = c.writer.Create(ctx, &brokerv1alpha1.Hub{ObjectMeta: metav1.ObjectMeta{Namespace: c.key.Namespace, Name: c.key.Name}, Spec: set.Word()})
	case err == nil && have.Spec != set.Word():
		have.Spec = set.Word()
		err = c.writer.Update(ctx, have)
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("writing the hub's word: %w", err)
	}
	return reconcile.Result{}, nil
}
