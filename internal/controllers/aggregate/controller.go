// Package aggregate keeps the clusterset's catalogue on the broker: a ServiceImport for
// each exported service, with the clusters that export it, for people and tools to read.
// Nobody derives anything from it (docs/adr/0008).
package aggregate

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/agent/catalogue"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/controllers"
	"github.com/atoll-mcs/atoll/internal/mcs/merge"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/pace"
)

// workers is small: a burst of exports must not have to wait for the catalogue.
const workers = 2

// apart is the least time between two writes to one entry. Two members of which one does not
// see yet what the other one sees both take the entry for theirs, and undo what the other one
// has written as soon as they see it.
const apart = 500 * time.Millisecond

// Controller keeps the entries of which its cluster is the writer.
type Controller struct {
	broker     *broker.View
	heartbeats *broker.Heartbeats
	aggregates *broker.Aggregates
	writer     controllers.Writer
	pacer      *pace.Pacer[types.NamespacedName]
}

// NewController returns a controller that reads exports by view, and asks heartbeats which
// exporters live.
func NewController(view *broker.View, heartbeats *broker.Heartbeats) *Controller {
	return &Controller{
		broker:     view,
		heartbeats: heartbeats,
		aggregates: broker.NewAggregates(view),
		writer: controllers.Writer{
			// An entry does not name its writer; its managed fields do.
			Client: client.WithFieldOwner(view.Client, names.ManagerAggregate(view.Self)),
			Reader: view.Client,
			Broker: true,
		},
		pacer: pace.New[types.NamespacedName](pace.Limits{Interval: apart, Burst: 1, Withdrawals: apart}),
	}
}

// Name is the controller's name in logs and metrics.
func (c *Controller) Name() string { return "aggregate" }

// Register adds the controller, and the copy of the catalogue that it needs, to a manager.
func (c *Controller) Register(mgr ctrl.Manager) error {
	if err := mgr.Add(c.aggregates); err != nil {
		return err
	}
	options := controllers.Options[reconcile.Request]()
	options.MaxConcurrentReconciles = workers
	return ctrl.NewControllerManagedBy(mgr).
		Named(c.Name()).
		WatchesRawSource(controllers.Events(c.subscribe)).
		WatchesRawSource(controllers.Once(c.await, c.all)).
		WatchesRawSource(controllers.Lost(c.broker.Epoch, c.await, c.all)).
		WithOptions(options).
		Complete(c)
}

// subscribe has services queued of which an export or the entry changes, or the writer may
// be another.
func (c *Controller) subscribe(add func(reconcile.Request, bool)) {
	queue := func(initial bool, services ...types.NamespacedName) {
		for _, s := range services {
			add(reconcile.Request{NamespacedName: s}, initial)
		}
	}
	c.broker.OnExport(func(e *brokerv1alpha1.ExportedService, initial bool) {
		queue(initial, e.Spec.Service())
	})
	c.aggregates.OnChange(func(service types.NamespacedName, initial bool) { queue(initial, service) })
	c.aggregates.OnListed(func() { queue(true, c.services()...) })
	c.heartbeats.OnChange(func(cluster names.ClusterID) {
		queue(false, c.broker.ServicesOf(cluster)...)
		for _, service := range c.aggregates.Services() {
			if len(c.broker.Exports(service)) == 0 {
				queue(false, service)
			}
		}
	})
}

func (c *Controller) await(ctx context.Context) error {
	for _, await := range []func(context.Context) error{c.broker.AwaitExports, c.heartbeats.Await, c.aggregates.Await} {
		if err := await(ctx); err != nil {
			return err
		}
	}
	return nil
}

// services are those with an export or an entry.
func (c *Controller) services() []types.NamespacedName {
	return append(c.broker.Services(), c.aggregates.Services()...)
}

// all has all of them queued.
func (c *Controller) all(context.Context) ([]reconcile.Request, error) {
	var requests []reconcile.Request
	for _, service := range c.services() {
		requests = append(requests, reconcile.Request{NamespacedName: service})
	}
	return requests, nil
}

// Reconcile brings the entry of one service up to date where that is this cluster's task.
// It writes once at most: what is left to do follows when the write comes back.
func (c *Controller) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	if !c.broker.ExportsSynced() || !c.heartbeats.Synced() || !c.aggregates.Synced() {
		return reconcile.Result{}, nil // all are queued once they are
	}
	// The own record too is the one on the broker: an entry says what is exported there.
	var exports []merge.Export
	for _, e := range c.broker.Exports(req.NamespacedName) {
		if e.Spec.Scope != brokerv1alpha1.ScopeHub {
			exports = append(exports, e.Spec)
		}
	}
	have := c.aggregates.Aggregate(req.NamespacedName)
	if catalogue.Writer(exports, have, c.heartbeats.Members()) != c.broker.Self || have != nil && have.DeletionTimestamp != nil {
		return reconcile.Result{}, nil
	}
	write, follows := func(ctx context.Context) error { return c.remove(ctx, have) }, false
	if len(exports) > 0 {
		if write, follows = c.change(have, catalogue.Want(c.broker.Namespace, req.NamespacedName, exports)); write == nil {
			return reconcile.Result{}, nil
		}
	}
	if !follows {
		if wait := c.pacer.Wait(req.NamespacedName, false, time.Now()); wait > 0 {
			return reconcile.Result{RequeueAfter: wait}, nil
		}
	}
	if err := write(ctx); err != nil {
		return reconcile.Result{}, fmt.Errorf("writing the aggregate of %s on the broker: %w", req, err)
	}
	return reconcile.Result{}, nil
}

// change returns the next write on the way from have to want, or nil, and whether it only
// follows another one.
func (c *Controller) change(have, want *mcsv1beta1.ServiceImport) (write func(context.Context) error, follows bool) {
	if have == nil {
		return func(ctx context.Context) error { return c.writer.Create(ctx, want) }, false
	}
	updated := have.DeepCopy()
	updated.Labels, updated.Annotations, updated.Spec = want.Labels, want.Annotations, want.Spec
	updated.Finalizers, updated.OwnerReferences = nil, nil
	if !equality.Semantic.DeepEqual(have, updated) {
		return func(ctx context.Context) error { return c.writer.Update(ctx, updated) }, false
	}
	updated.Status = want.Status
	if !equality.Semantic.DeepEqual(have.Status, updated.Status) {
		return func(ctx context.Context) error { return c.writer.UpdateStatus(ctx, updated) }, true
	}
	return nil, false
}

// remove deletes the entry of a service that nobody exports any more. A cluster that it
// does not name puts its own name to it first: the admission policy lets no other one
// delete it. So entries go even if all that they name are gone for good.
func (c *Controller) remove(ctx context.Context, have *mcsv1beta1.ServiceImport) error {
	if slices.Contains(catalogue.Clusters(have), c.broker.Self.String()) {
		return c.writer.Delete(ctx, have)
	}
	updated := have.DeepCopy()
	if updated.Annotations == nil {
		updated.Annotations = map[string]string{}
	}
	catalogue.SetClusters(updated, []string{c.broker.Self.String()})
	return c.writer.Update(ctx, updated)
}
