// Package record writes this cluster's ExportedServices to the broker, one for each exported Service.
package record

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/agent/inputs"
	"github.com/atoll-mcs/atoll/internal/agent/local"
	"github.com/atoll-mcs/atoll/internal/agent/publish/compare"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/kit/status"
)

// Reconciler writes records.
type Reconciler struct {
	cluster *inputs.Cluster
	broker  *inputs.Broker
	// grace is how long the record of a deleted Service remains while its ServiceExport exists, so that a replaced
	// Service keeps its imports and their addresses.
	grace    time.Duration
	problems *status.Problems
	writes   *compare.Writes

	missing, withdrawn kit.Since[types.NamespacedName] // the Service of an export; a record
}

// New returns the controller and its reconciler.
func New(c *inputs.Cluster, b *inputs.Broker, member cache.Cache, grace time.Duration, problems *status.Problems, writes *compare.Writes) (controller.Controller, *Reconciler, error) {
	r := &Reconciler{cluster: c, broker: b, grace: grace, problems: problems, writes: writes}
	run, err := kit.New("record", r,
		kit.Watch(member, &mcsv1beta1.ServiceExport{}, kit.Same[*mcsv1beta1.ServiceExport]),
		kit.Watch(member, &corev1.Service{}, kit.Same[*corev1.Service]),
		kit.Watch(member, &corev1.Namespace{}, r.namespace),
		kit.Watch(member, &trafficv1alpha1.TrafficPolicy{}, func(_ context.Context, e kit.Event[*trafficv1alpha1.TrafficPolicy]) []reconcile.Request {
			return inputs.Targets(e, inputs.KindExport)
		}),
		c.OnOwnChanges(r.all),
	)
	return run, r, err
}

// all returns the services of all of the cluster's exports and records.
func (r *Reconciler) all(ctx context.Context) []reconcile.Request {
	exports, err := local.ServiceExports(ctx, r.cluster.Client)
	if err != nil {
		return nil // the cache has stopped
	}
	return append(exports, r.cluster.ServicesOf(ctx, r.cluster.ID)...)
}

// namespace maps a namespace that is drained, or no longer, to its exports.
func (r *Reconciler) namespace(ctx context.Context, e kit.Event[*corev1.Namespace]) []reconcile.Request {
	return r.cluster.DrainedBy(ctx, e)
}

type todo struct {
	decision
	have  *brokerv1alpha1.ExportedService
	own   local.Own
	again time.Duration // when to check again without an event, 0 for never
}

func (r *Reconciler) find(ctx context.Context, service types.NamespacedName, now time.Time) (t todo, err error) {
	if t.own, err = r.cluster.Own(ctx, service); err != nil {
		return t, fmt.Errorf("reading the export of %s: %w", service, err)
	}
	if t.have, err = r.broker.Record(ctx, r.cluster.Clusterset, r.cluster.ID, service); err != nil {
		return t, fmt.Errorf("reading the ExportedService of %s: %w", service, err)
	}
	left := time.Duration(0)
	if t.own.Service == nil && t.own.Contribution != nil { // copied from the record
		left = r.grace - r.missing.For(service, now)
	} else {
		r.missing.Over(service)
	}
	if left <= 0 && t.own.Service == nil {
		t.own.Contribution = nil
	}
	keep := time.Duration(0)
	if t.have != nil && layout.Withdrawn(t.have) {
		keep = keepWithdrawn - r.withdrawn.For(service, now)
	} else {
		r.withdrawn.Over(service)
	}
	t.decision, t.again = decide(r.cluster.Clusterset, t.have, t.own, keep <= 0), max(left, keep, 0)
	if end := t.own.Drain.Changes; !end.IsZero() {
		t.again = end.Sub(now) // nothing else waits: the Service exists
	}
	return t, nil
}

// Pending reports whether the record of a service is out of date.
func (r *Reconciler) Pending(ctx context.Context, service types.NamespacedName) (bool, error) {
	t, err := r.find(ctx, service, time.Now())
	return t.write != nil || t.remove, err
}

// Reconcile writes this cluster's record of one service.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	now := time.Now()
	t, err := r.find(ctx, req.NamespacedName, now)
	if err != nil {
		return reconcile.Result{}, err
	}
	if t.have != nil {
		r.writes.Observe(t.have, t.write == nil && !t.remove)
	}
	write := func() error { return compare.Apply(ctx, r.writes, r.broker, t.have, t.write, t.remove) }
	if t.have != nil || t.write == nil {
		err = write()
	} else {
		if current, err := r.isCurrent(ctx, t.own.Service); err != nil || !current {
			return reconcile.Result{}, err // the Service's next event queues the export
		}
		err = r.cluster.Stages.Do(kit.Exported, write)
	}
	out, problem := kit.OutcomeOf(err), status.Problem{}
	if t.own.Export != nil {
		problem = status.ProblemOf(out)
	}
	r.problems.Set(req.NamespacedName, status.Part{}, problem)
	if out.Done() && t.again > 0 {
		return kit.After(t.again), nil
	}
	return out.Result("writing the ExportedService of %s", req)
}

// isCurrent reports whether the cache has the newest version of a Service. ServiceExports and Services have separate
// watches. A new export must not report a conflict for an old version of its Service, which a user has just fixed. The
// only export of a service conflicts with nothing and saves the request: the Service's next event corrects its record.
func (r *Reconciler) isCurrent(ctx context.Context, service *corev1.Service) (bool, error) {
	key := client.ObjectKeyFromObject(service)
	if others, err := r.cluster.Conflicting(ctx, key, nil); err != nil || len(others) == 0 {
		return err == nil, err
	}
	live := &corev1.Service{}
	if err := r.cluster.Live.Get(ctx, key, live); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return live.ResourceVersion == service.ResourceVersion, nil
}
