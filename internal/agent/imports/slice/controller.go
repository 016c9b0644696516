// Package slice keeps the EndpointSlices imported from other clusters, one for each published slice.
package slice

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/agent/imports/hints"
	"github.com/atoll-mcs/atoll/internal/agent/imports/imported"
	"github.com/atoll-mcs/atoll/internal/agent/inputs"
	"github.com/atoll-mcs/atoll/internal/agent/local"
	"github.com/atoll-mcs/atoll/internal/agent/lost"
	"github.com/atoll-mcs/atoll/internal/broker/border"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/kit/metrics"
	"github.com/atoll-mcs/atoll/internal/kit/status"
	"github.com/atoll-mcs/atoll/internal/mcs/endpoints"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
)

// Request is a source slice of another cluster. The name of the imported slice is derived from it.
type Request struct {
	Cluster names.ClusterID
	Source  types.NamespacedName
}

// Dependencies are the controller's dependencies.
type Dependencies struct {
	Cluster *inputs.Cluster
	// Network is the address ranges that other clusters' endpoints must not use.
	Network validation.Network
	Hints   *hints.Hints
	Hosts   *local.Hosts
	// Lost are the lost clusters, as far as known.
	Lost     *lost.Set
	Pace     *border.Pace
	Recorder events.EventRecorder
	Problems *status.Problems
	Metrics  *metrics.Metrics
}

// Reconciler writes imported slices.
type Reconciler struct {
	Dependencies
	seen metrics.Stopwatch[Request] // since a change on the broker was seen
}

// New returns the controller.
func New(d Dependencies, member cache.Cache) (controller.TypedController[Request], error) {
	r := &Reconciler{Dependencies: d}
	return kit.New("importedslice", r,
		kit.WaitFor[Request](d.Hints.Known()),
		kit.Watch(member, &discoveryv1.EndpointSlice{}, r.local),
		kit.Watch(member, &mcsv1beta1.ServiceImport{}, r.serviceImport),
		kit.Watch(member, &corev1.Service{}, r.derived),
		kit.Watch(member, &corev1.Namespace{}, r.namespace),
		kit.On(&d.Hints.Changes, r.of),
		kit.On(&d.Hosts.Changes, r.at),
		kit.On(&d.Cluster.Changes, r.changed),
	)
}

// Reconcile writes the slice that is imported from one source slice.
func (r *Reconciler) Reconcile(ctx context.Context, req Request) (reconcile.Result, error) {
	have, err := imported.Slice(ctx, r.Cluster.Client, req.Cluster, req.Source)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("reading the imported EndpointSlice of %v: %w", req, err)
	}
	in, err := r.gather(ctx, req, have)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("reading the objects that EndpointSlice %v depends on: %w", req, err)
	}
	if in.waits {
		return reconcile.Result{}, nil
	}
	d := decide(in, req, r.Network, r.Cluster.ID)
	if in.kept {
		d = decision{want: kept(r.Network, req, have), warnings: r.Problems.Of(in.service)[req.part()].Warnings}
	}
	if d.want != nil {
		r.Hints.Apply(in.imp, d.want)
		if have != nil {
			d.want.Name = have.Name
			keepRevision(have, d.want)
		}
		if d.want.Name != names.ImportedSlice(req.Cluster, req.Source.Name) {
			d.warnings = append(d.warnings, nameTaken(req, d.want))
		}
	}
	now := time.Now()
	if (have == nil || !endpoints.Same(have, d.want)) && d.want != nil && !endpoints.Withdraws(have, d.want) { // removals do not wait
		if wait := r.Pace.Wait(req.Cluster.String(), req.Source.Namespace, req.key(), now); wait > 0 {
			return kit.After(wait), nil
		}
	}
	result, refusal, err := kit.Outcome(imported.Write(ctx, r.Cluster, have, d.want))
	if err != nil {
		return result, fmt.Errorf("importing EndpointSlice %v: %w", req, err)
	}
	r.Pace.Done(req.Cluster.String(), req.Source.Namespace, req.key(), now)
	if refusal == "" && result.RequeueAfter == 0 {
		r.measure(in.service, req, have, d.want, now)
	}
	r.note(in, req, d, refusal)
	return result, nil
}

// measure counts a slice and its write, and the time since this cluster saw the change and since the other cluster made
// it. The latter needs synchronized clocks, like kube-proxy's latency metric.
func (r *Reconciler) measure(service types.NamespacedName, req Request, have, want *discoveryv1.EndpointSlice, now time.Time) {
	of := metrics.Service{Namespace: service.Namespace, Name: service.Name, Cluster: req.Cluster.String()}
	changed, written := kit.CountSlice(r.Metrics.Imported, of, req.Source.Name, have, want)
	took, live := r.seen.Stop(req)
	if !live || !written {
		return
	}
	r.Metrics.Import.Observe(took.Seconds())
	if want == nil || changed == 0 {
		return
	}
	if at, err := time.Parse(time.RFC3339Nano, want.Annotations[names.AnnotationLastChangeTriggerTime]); err == nil && !at.After(now) {
		r.Metrics.Total.Observe(time.Since(at).Seconds())
	}
}

func (req Request) key() string { return req.Source.String() + "." + req.Cluster.String() }

func (r *Reconciler) gather(ctx context.Context, req Request, have *discoveryv1.EndpointSlice) (in inputsOf, err error) {
	published, known := r.Cluster.View.Slice(req.Cluster, req.Source)
	if published != nil {
		in.source, in.state, in.detail = published.Value, published.State, published.Detail
	}
	switch {
	case in.source != nil:
		in.service = layout.Service(in.source)
	case have != nil:
		in.service = types.NamespacedName{Namespace: have.Namespace, Name: have.Labels[names.LabelServiceName]}
	}
	if in.service.Name == "" {
		return in, nil
	}
	if in.imp, err = imported.Import(ctx, r.Cluster.Client, in.service); err != nil || in.imp == nil {
		return in, err
	}
	rules, err := r.Cluster.Refusals(ctx, in.service.Namespace)
	if err != nil {
		return in, err
	}
	in.refused, in.lost = rules.Reason(req.Cluster) != "", r.Lost.Has(req.Cluster.String())
	export, exportKnown := r.Cluster.View.Export(req.Cluster, in.service)
	if export != nil && export.Record.Spec.Consumes(r.Cluster.ID.String()) {
		in.record = export.Record
	}
	if !in.imports() {
		in.waits = !exportKnown // the service is queued when this is known
		return in, nil
	}
	if in.derived, err = imported.ServiceName(ctx, r.Cluster.Client, in.imp); err != nil || in.derived == "" || !r.Lost.Known() {
		in.waits = true // the Service's event queues the slice, or everything is queued
		return in, err
	}
	if in.kept = !known; in.record.Spec.OnClusterLoss != names.OnLossKeep {
		in.out = r.Lost.Endpoints(req.Cluster.String())
	}
	in.member = r.Cluster.View.Cluster(req.Cluster)
	return in, nil
}
