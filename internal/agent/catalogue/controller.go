// Package catalogue writes one ServiceImport for each exported service to the broker, for people and tools to read.
// Each entry is kept by one member: the first exporter in precedence order whose heartbeat is not missing.
package catalogue

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/agent/inputs"
	"github.com/atoll-mcs/atoll/internal/agent/lost"
	"github.com/atoll-mcs/atoll/internal/agent/pace"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/merge"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

const (
	// apart is the minimum time between two changes of one entry.
	apart = 500 * time.Millisecond
	// again is when to check an entry after a write. Another member may have deleted the entry before this cache was
	// refilled; the cache gets no event for that.
	again = 5 * time.Second
)

// Reconciler writes catalogue entries.
type Reconciler struct {
	cluster    *inputs.Cluster
	broker     *inputs.Broker
	writer     client.Client
	heartbeats *lost.Heartbeats
	pacer      *pace.Pacer[types.NamespacedName]
	late       kit.Late[types.NamespacedName]
}

// New returns the controller.
func New(c *inputs.Cluster, b *inputs.Broker, broker cache.Cache, heartbeats *lost.Heartbeats) (controller.Controller, error) {
	r := &Reconciler{
		cluster: c, broker: b, heartbeats: heartbeats,
		writer: client.WithFieldOwner(b.Client, names.ManagerAggregate(c.ID)), // managed fields name the writer; the entry itself does not
		pacer:  pace.New[types.NamespacedName](pace.Limits{Interval: apart, Burst: 1, Withdrawals: apart}),
	}
	return kit.New("catalogue", r,
		kit.Watch(broker, &mcsv1beta1.ServiceImport{}, func(_ context.Context, e kit.Event[*mcsv1beta1.ServiceImport]) []reconcile.Request {
			return []reconcile.Request{{NamespacedName: serviceOf(e.Latest())}}
		}),
		kit.On(&heartbeats.Changes, r.member),
		c.OnChanges(c.Services),
	)
}

func serviceOf(entry *mcsv1beta1.ServiceImport) types.NamespacedName {
	return types.NamespacedName{Namespace: entry.Labels[names.LabelServiceNamespace], Name: entry.Labels[names.LabelServiceName]}
}

// member maps a member whose heartbeat goes missing or returns to its services, and to the entries without a writer.
func (r *Reconciler) member(ctx context.Context, id names.ClusterID) []reconcile.Request {
	if id == "" {
		return nil // the start: OnChanges queues all
	}
	entries := &mcsv1beta1.ServiceImportList{}
	if err := r.broker.List(ctx, entries, client.InNamespace(r.cluster.Clusterset), client.UnsafeDisableDeepCopy); err != nil {
		return nil // the cache has stopped
	}
	requests := r.cluster.ServicesOf(ctx, id)
	for i := range entries.Items {
		if clusters := Clusters(&entries.Items[i]); slices.Contains(clusters, id.String()) || !slices.ContainsFunc(clusters, func(c string) bool {
			return r.heartbeats.Live(names.ClusterID(c))
		}) {
			requests = append(requests, reconcile.Request{NamespacedName: serviceOf(&entries.Items[i])})
		}
	}
	return requests
}

// Reconcile updates one entry from the records of its service, if this cluster is the entry's writer.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	exports, awaited, err := r.cluster.Published(ctx, r.broker, req.NamespacedName)
	if err != nil || len(awaited) > 0 { // the service is queued again when these records are known
		return reconcile.Result{}, err
	}
	have, err := kit.Get(ctx, r.broker, client.ObjectKey{Namespace: r.cluster.Clusterset, Name: names.CatalogueEntry(req.Namespace, req.Name)}, &mcsv1beta1.ServiceImport{})
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("reading the aggregated ServiceImport of %s: %w", req, err)
	}
	for _, e := range exports {
		r.heartbeats.Expect(names.ClusterID(e.ClusterID)) // a new member may export before its heartbeat is read
	}
	if req.Name == "" || Writer(exports, have, r.heartbeats.Members()) != r.cluster.ID || have != nil && have.DeletionTimestamp != nil {
		return reconcile.Result{}, nil
	}
	write, follows := r.change(have, req.NamespacedName, exports)
	if write == nil {
		return reconcile.Result{}, nil
	}
	if !follows {
		if wait := r.late.Wait(req.NamespacedName, true, &r.cluster.Stages); wait > 0 {
			return kit.After(wait), nil
		}
		if wait := r.pacer.Wait(req.NamespacedName, false, time.Now()); wait > 0 {
			return kit.After(wait), nil
		}
	}
	out := kit.OutcomeOf(write(ctx))
	switch {
	case out.Refusal != "":
		return reconcile.Result{}, fmt.Errorf("writing the aggregated ServiceImport of %s: %s", req, out.Refusal)
	case out.Done():
		return kit.After(again), nil
	}
	return out.Result("writing the aggregated ServiceImport of %s", req)
}

// change returns the function that writes the difference, or nil. follows says that it only completes another write.
func (r *Reconciler) change(have *mcsv1beta1.ServiceImport, service types.NamespacedName, exports []merge.Export) (write func(context.Context) error, follows bool) {
	if len(exports) == 0 {
		if have == nil {
			return nil, false
		}
		return func(ctx context.Context) error { return kit.Delete(ctx, r.writer, have) }, false
	}
	want := Want(r.cluster.Clusterset, service, exports)
	if have == nil {
		return func(ctx context.Context) error {
			return kit.Create(ctx, r.writer, r.broker.Live, want, func(client.Object) bool { return true })
		}, false
	}
	now, then := digestsOf(have), digestsOf(want)
	want.UID, want.ResourceVersion = have.UID, have.ResourceVersion
	switch {
	case now.content != then.content:
		return func(ctx context.Context) error { return kit.Update(ctx, r.writer, want) }, false
	case now.status != then.status:
		return func(ctx context.Context) error { return client.IgnoreNotFound(r.writer.Status().Update(ctx, want)) }, true
	}
	return nil, false
}
