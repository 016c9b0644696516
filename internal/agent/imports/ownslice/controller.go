// Package ownslice keeps the EndpointSlices of an import for this cluster's own Service, one for each of its
// slices. It needs no broker.
package ownslice

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/agent/imports/hints"
	"github.com/atoll-mcs/atoll/internal/agent/imports/imported"
	"github.com/atoll-mcs/atoll/internal/agent/inputs"
	"github.com/atoll-mcs/atoll/internal/agent/local"
	"github.com/atoll-mcs/atoll/internal/agent/pace"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/kit/metrics"
	"github.com/atoll-mcs/atoll/internal/kit/status"
	"github.com/atoll-mcs/atoll/internal/mcs/derived"
	"github.com/atoll-mcs/atoll/internal/mcs/endpoints"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// withdrawDelay is how long a deleted source slice's endpoints stay: they may have moved to another slice.
const withdrawDelay = 50 * time.Millisecond

// Reconciler writes imported slices of this cluster. A request is the name of a source slice.
type Reconciler struct {
	cluster  *inputs.Cluster
	hints    *hints.Hints
	pacer    *pace.Pacer[types.NamespacedName]
	problems *status.Problems
	metrics  *metrics.Metrics
	going    kit.Since[types.NamespacedName] // whose source is gone
}

// New returns the controller. limits applies to the writes of each slice.
func New(c *inputs.Cluster, member cache.Cache, h *hints.Hints, limits pace.Limits, problems *status.Problems, measured *metrics.Metrics) (controller.Controller, error) {
	r := &Reconciler{cluster: c, hints: h, pacer: pace.New[types.NamespacedName](limits), problems: problems, metrics: measured}
	return kit.New("ownslice", r,
		kit.WaitFor[reconcile.Request](h.Known()),
		kit.Watch(member, &discoveryv1.EndpointSlice{}, r.slice),
		kit.Watch(member, &mcsv1beta1.ServiceImport{}, func(ctx context.Context, e kit.Event[*mcsv1beta1.ServiceImport]) []reconcile.Request {
			if e.Initial || !imported.Changed(e) {
				return nil
			}
			return r.all(ctx, client.ObjectKeyFromObject(e.Latest()))
		}),
		kit.Watch(member, &mcsv1beta1.ServiceExport{}, func(ctx context.Context, e kit.Event[*mcsv1beta1.ServiceExport]) []reconcile.Request {
			if e.Initial || e.Old != nil && e.New != nil && e.Old.Generation == e.New.Generation {
				return nil
			}
			return r.all(ctx, client.ObjectKeyFromObject(e.Latest()))
		}),
		kit.Watch(member, &corev1.Service{}, func(ctx context.Context, e kit.Event[*corev1.Service]) []reconcile.Request {
			if imp := imported.Created(e); imp.Name != "" {
				return r.all(ctx, imp)
			}
			if e.Initial || imported.Of(e.Latest()).Name != "" {
				return nil
			}
			return r.all(ctx, client.ObjectKeyFromObject(e.Latest()))
		}),
		kit.On(&h.Changes, r.all),
		kit.On(&c.Changes, r.changed),
	)
}

// changed maps a change of a service's policy, or of everything.
func (r *Reconciler) changed(ctx context.Context, s kit.Scope) []reconcile.Request {
	switch {
	case s == kit.Scope{}:
		return r.exported(ctx)
	case s.Service.Name != "" && s.Member == "":
		return r.all(ctx, s.Service)
	}
	return nil
}

// slice maps a source slice, or a slice imported from this cluster, to the source slice.
func (r *Reconciler) slice(_ context.Context, e kit.Event[*discoveryv1.EndpointSlice]) []reconcile.Request {
	var all []reconcile.Request
	for _, s := range e.Versions() { // a user may have changed its labels
		switch {
		case inputs.IsImported(s):
			if cluster, source := imported.Source(s); cluster == r.cluster.ID {
				all = append(all, reconcile.Request{NamespacedName: source})
			}
		case inputs.SourceService(s).Name != "":
			all = append(all, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(s)})
		}
	}
	return all
}

// all returns requests for a Service's slices, and for the slices imported from this cluster under its name.
func (r *Reconciler) all(ctx context.Context, service types.NamespacedName) []reconcile.Request {
	sources, err := r.cluster.Sources(ctx, service)
	if err != nil {
		return nil // the cache has not synced yet: its first list queues every slice
	}
	here, err := r.cluster.Imported(ctx, service)
	if err != nil {
		return nil
	}
	var all []reconcile.Request
	for _, s := range sources {
		all = append(all, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(s)})
	}
	for _, s := range here {
		if cluster, source := imported.Source(s); cluster == r.cluster.ID {
			all = append(all, reconcile.Request{NamespacedName: source})
		}
	}
	return all
}

// exported returns requests for the slices of all exported Services, and for all slices imported from this cluster.
func (r *Reconciler) exported(ctx context.Context) (all []reconcile.Request) {
	exports, err := local.ServiceExports(ctx, r.cluster.Client)
	if err != nil {
		return nil // the cache has stopped
	}
	here, err := r.cluster.ImportedFrom(ctx, r.cluster.ID)
	if err != nil {
		return nil
	}
	for _, e := range exports {
		all = append(all, r.all(ctx, e.NamespacedName)...)
	}
	for _, s := range here {
		_, source := imported.Source(s)
		all = append(all, reconcile.Request{NamespacedName: source})
	}
	return all
}

// Reconcile writes the slice that is imported from one source slice.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	have, err := imported.Slice(ctx, r.cluster.Client, r.cluster.ID, req.NamespacedName)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("reading the imported EndpointSlice of %s: %w", req, err)
	}
	want, service, waits, err := r.want(ctx, req.NamespacedName, have)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("reading the objects that EndpointSlice %s depends on: %w", req, err)
	}
	if waits {
		r.going.Over(req.NamespacedName)
		return reconcile.Result{}, nil
	}
	if wait := r.wait(req.NamespacedName, have, want); wait > 0 {
		return kit.After(wait), nil
	}
	result, refusal, err := kit.Outcome(imported.Write(ctx, r.cluster, have, want))
	if err != nil {
		return result, fmt.Errorf("importing EndpointSlice %s: %w", req, err)
	}
	if refusal == "" && result.RequeueAfter == 0 {
		of := metrics.Service{Namespace: service.Namespace, Name: service.Name, Cluster: r.cluster.ID.String()}
		kit.CountSlice(r.metrics.Imported, of, req.Name, have, want)
	}
	service.Namespace = req.Namespace
	r.problems.SetSlice(service, r.cluster.ID.String()+"/"+req.Name, status.Outcome{Failure: refusal})
	return result, nil
}

// want returns the import of a source slice, or nil, and its service. waits: the import has no derived Service yet.
func (r *Reconciler) want(ctx context.Context, key types.NamespacedName, have *discoveryv1.EndpointSlice) (want *discoveryv1.EndpointSlice, service types.NamespacedName, waits bool, _ error) {
	source := &discoveryv1.EndpointSlice{}
	err := r.cluster.Client.Get(ctx, key, source, client.UnsafeDisableDeepCopy)
	if client.IgnoreNotFound(err) != nil {
		return nil, service, false, err
	}
	if service = inputs.SourceService(source); service.Name == "" {
		if have != nil {
			service = types.NamespacedName{Namespace: have.Namespace, Name: have.Labels[names.LabelServiceName]}
		}
		return nil, service, false, nil
	}
	imp, err := imported.Import(ctx, r.cluster.Client, service)
	if err != nil || imp == nil || len(imp.Spec.IPFamilies) == 0 || derived.Portless(imp) {
		return nil, service, false, err
	}
	own, err := r.cluster.Own(ctx, service)
	if err != nil || own.Service == nil || own.Contribution == nil || own.Contribution.Scope == brokerv1alpha1.ScopeHub {
		return nil, service, false, err
	}
	name, err := imported.ServiceName(ctx, r.cluster.Client, imp)
	if err != nil || name == "" {
		return nil, service, true, err
	}
	want = endpoints.Import{
		Import: imp, Service: name, Cluster: r.cluster.ID, Own: true, Ports: own.Contribution.Ports, IPFamilies: own.Contribution.IPFamilies,
	}.Slice(source)
	if want != nil {
		r.hints.Apply(imp, want)
		if have != nil {
			want.Name = have.Name
		}
	}
	return want, service, false, nil
}

// wait returns how long a write must wait.
func (r *Reconciler) wait(key types.NamespacedName, have, want *discoveryv1.EndpointSlice) time.Duration {
	now := time.Now()
	if want == nil && have != nil {
		return max(0, withdrawDelay-r.going.For(key, now))
	}
	r.going.Over(key)
	if have == nil || endpoints.Same(have, want) {
		return 0
	}
	return r.pacer.Wait(key, endpoints.Withdraws(have, want), now)
}
