// Package policyword keeps the hub's word on the broker for which ServicePolicies there are,
// without which members don't believe that one is gone.
package policyword

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/controllers"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Controller keeps the one Hub object.
type Controller struct {
	writer controllers.Writer
	key    client.ObjectKey
	newest controllers.Newest[*brokerv1alpha1.Hub]

	mu    sync.Mutex
	names map[string]bool // of the policies that there are to be
	set   broker.PolicySet
}

// NewController returns a controller that writes to the clusterset's namespace.
func NewController(writer controllers.Writer, clusterset string) *Controller {
	return &Controller{
		writer: writer, key: client.ObjectKey{Namespace: clusterset, Name: brokerv1alpha1.HubName}, names: map[string]bool{},
	}
}

// Name is the controller's name in logs and metrics.
func (c *Controller) Name() string { return "policyword" }

// Register adds the controller to a manager. It waits for the copies of both kinds, so that it
// says nothing of what it has not seen.
func (c *Controller) Register(mgr ctrl.Manager) error {
	this := reconcile.Request{NamespacedName: c.key}
	return ctrl.NewControllerManagedBy(mgr).
		Named(c.Name()).
		Watches(&networkingv1alpha1.MultiClusterService{}, c.follow(this)).
		Watches(&brokerv1alpha1.Hub{}, handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
			return []reconcile.Request{this}
		})).
		// A hub that begins without any MultiClusterService says so too.
		WatchesRawSource(controllers.Events(func(add func(reconcile.Request, bool)) { add(this, false) })).
		WithOptions(controllers.Options[reconcile.Request]()).
		Complete(c)
}

// follow keeps the set of policies by what becomes of MultiClusterServices, so that each costs what it is about, however many
// there are.
func (c *Controller) follow(this reconcile.Request) handler.Funcs {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	note := func(object client.Object, there bool, q queue) {
		if c.note(names.Aggregate(object.GetNamespace(), object.GetName()), there) {
			q.Add(this)
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { note(e.Object, stays(e.Object), q) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) { note(e.ObjectNew, stays(e.ObjectNew), q) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { note(e.Object, false, q) },
	}
}

// stays tells whether a MultiClusterService is not about to go.
func stays(mcs client.Object) bool { return mcs.GetDeletionTimestamp() == nil }

// note notes whether there is to be a policy of a name, and tells whether that is new.
func (c *Controller) note(name string, there bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case there == c.names[name]:
		return false
	case there:
		c.names[name] = true
		c.set.Add(name)
	default:
		delete(c.names, name)
		c.set.Remove(name)
	}
	return true
}

func (c *Controller) word() brokerv1alpha1.HubSpec {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.set.Word()
}

// Reconcile brings the hub's word up to date. It is about what MultiClusterServices there are,
// not about what policies are on the broker, which may have lost some.
func (c *Controller) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	have, word := &brokerv1alpha1.Hub{}, c.word()
	err := c.writer.Client.Get(ctx, c.key, have)
	switch {
	case apierrors.IsNotFound(err):
		err = c.writer.Create(ctx, &brokerv1alpha1.Hub{ObjectMeta: metav1.ObjectMeta{Namespace: c.key.Namespace, Name: c.key.Name}, Spec: word})
	case err == nil:
		if have = c.newest.Of(have); have.Spec == word {
			return reconcile.Result{}, nil
		}
		have.Spec = word
		if err = c.writer.Update(ctx, have); err == nil {
			c.newest.Wrote(have)
		}
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("writing the hub's word: %w", err)
	}
	return reconcile.Result{}, nil
}
