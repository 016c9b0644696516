// Package importedslice writes the imported EndpointSlices. There is one for each slice of another cluster and, even
// without the broker, one for each slice of this cluster's exported Services.
package importedslice

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/agent/imports/hints"
	"github.com/atoll-mcs/atoll/internal/agent/imports/imported"
	"github.com/atoll-mcs/atoll/internal/agent/inputs"
	"github.com/atoll-mcs/atoll/internal/agent/local"
	"github.com/atoll-mcs/atoll/internal/agent/lost"
	"github.com/atoll-mcs/atoll/internal/agent/pace"
	"github.com/atoll-mcs/atoll/internal/broker/border"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/kit/metrics"
	"github.com/atoll-mcs/atoll/internal/kit/status"
	"github.com/atoll-mcs/atoll/internal/mcs/endpoints"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
)

// withdrawDelay is how long the endpoints of this cluster's own slice stay when it is deleted: they may have moved to another
// slice.
const withdrawDelay = 50 * time.Millisecond

// portDelay is how long a slice keeps a port that its source has lost, in case the source is about to get the port's new name.
const portDelay = 2 * time.Second

// demotionLimits delay a demotion, which is always safe. A promotion that is not delayed needs an earlier demotion.
var demotionLimits = pace.Limits{Interval: 2 * time.Second, Burst: 10}

// Request is an imported slice. Its name is derived from its source.
type Request struct {
	Cluster names.ClusterID
	Source  types.NamespacedName
	// Ports is empty, or the first of the source's ports that the slice has: their endpoints have other roles than those of the
	// source's first port.
	Ports string
}

// Dependencies are the controller's dependencies.
type Dependencies struct {
	Cluster *inputs.Cluster
	// Network is the address ranges that other clusters' endpoints must not use.
	Network validation.Network
	Hints   *hints.Hints
	Hosts   *local.Hosts
	// Lost are the lost clusters, as far as known.
	Lost *lost.Set
	// OmitStandby leaves out endpoints on standby.
	OmitStandby bool
	// Pace delays the changes of other clusters' slices, Limits those of each of this cluster's own.
	Pace     *border.Pace
	Limits   pace.Limits
	Recorder events.EventRecorder
	Problems *status.Problems
	Metrics  *metrics.Metrics
}

// Reconciler writes imported slices.
type Reconciler struct {
	Dependencies
	pacer *pace.Pacer[Request]
	going kit.Since[Request] // own slices whose source is gone
	// narrowed are the slices that are about to lose a port.
	narrowed kit.Since[Request]
	// demoting are the slices that wait for others before they take endpoints out of use.
	demoting kit.Since[Request]
	// demotions limits how often a slice's endpoints go on standby. Others' endpoints flap otherwise with those of a cluster that does.
	demotions *pace.Pacer[Request]
	roles     roles
	split     split
	seen      metrics.Stopwatch[Request] // since a change on the broker was seen
}

// New returns the controller and its reconciler.
func New(d Dependencies, member cache.Cache) (controller.TypedController[Request], *Reconciler, error) {
	r := &Reconciler{Dependencies: d, pacer: pace.New[Request](d.Limits), demotions: pace.New[Request](demotionLimits)}
	d.Cluster.View.Events.Subscribe(func(s kit.Scope) {
		if s.Slice.Name != "" {
			r.seen.Start(Request{Cluster: s.Member, Source: s.Slice})
		}
	})
	c, err := kit.New("importedslice", r,
		kit.WaitFor[Request]("the first list of Nodes and EndpointSlices", d.Hints.Known()),
		kit.Watch(member, &discoveryv1.EndpointSlice{}, r.local),
		kit.Watch(member, &mcsv1beta1.ServiceImport{}, r.serviceImport),
		kit.Watch(member, &mcsv1beta1.ServiceExport{}, r.serviceExport),
		kit.Watch(member, &corev1.Service{}, r.service),
		kit.Watch(member, &corev1.Namespace{}, r.namespace),
		kit.Watch(member, &trafficv1alpha1.TrafficPolicy{}, r.trafficPolicy),
		kit.On(&d.Hints.Changes, r.of),
		kit.On(&d.Hosts.Changes, r.at),
		kit.On(&d.Cluster.Changes, r.changed),
		kit.On(&r.roles.changes, func(_ context.Context, req Request) []Request {
			if req == (Request{}) {
				return nil
			}
			return []Request{req}
		}),
	)
	return c, r, err
}

// Reconcile writes the slice that is imported from one source slice.
func (r *Reconciler) Reconcile(ctx context.Context, req Request) (reconcile.Result, error) {
	have, err := imported.Slice(ctx, r.Cluster.Client, req.name())
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("reading the imported EndpointSlice of %v: %w", req, err)
	}
	in, err := r.gather(ctx, req, have)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("reading the objects that EndpointSlice %v depends on: %w", req, err)
	}
	if in.waits {
		r.going.Over(req)
		r.demoting.Over(req)
		return reconcile.Result{}, nil
	}
	d, set, err := r.plan(ctx, req, in, have)
	if err != nil {
		return reconcile.Result{}, err
	}
	now := time.Now()
	again := r.adapt(req, in, set, have, &d, now)
	if left := in.changes.Sub(now); !in.changes.IsZero() && (again == 0 || left < again) {
		again = max(left, time.Millisecond)
	}
	if have, err = r.current(ctx, req, set, have, d.want); err != nil {
		return reconcile.Result{}, err
	}
	wait, err := r.wait(ctx, req, set, have, d.want, now)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("reading the other EndpointSlices of the service of %v: %w", req, err)
	}
	if wait > 0 {
		return kit.After(wait), nil
	}
	if out := r.write(ctx, req, in, set, have, d, now); !out.Done() {
		return out.Result("importing EndpointSlice %v", req)
	}
	return kit.After(again), nil
}

// plan returns what to write for a request, and the decision about the service's endpoints, or nil if there is nothing to decide.
func (r *Reconciler) plan(ctx context.Context, req Request, in inputsOf, have *discoveryv1.EndpointSlice) (d decision, set *roleSet, err error) {
	if in.kept {
		d = decision{want: kept(r.Network, req, have), warnings: r.Problems.Of(in.service)[req.part()].Warnings}
		if d.want != nil && req.Ports == "" && r.Cluster.View.Known() {
			var written *discoveryv1.EndpointSlice
			written, set, err = r.assign(ctx, req, in, kept(r.Network, req, withoutRoles(have)))
			if written != nil && len(written.Ports) == len(have.Ports) && len(written.Endpoints) == len(d.want.Endpoints) { // nothing that is kept gets lost
				d.want = written
			}
		}
	} else if d = decide(in, req, r.Network, r.Cluster.ID); r.Cluster.View.Known() {
		d.want, set, err = r.assign(ctx, req, in, d.want)
	} else {
		d.want, err = r.keepRoles(ctx, req, in.service, have, d.want)
	}
	if req.Ports != "" {
		d.warnings = nil // those of the source are at its first slice
	}
	return d, set, err
}

// adapt completes the slice to write with what depends on the existing one, and returns when to look again, 0 for never.
func (r *Reconciler) adapt(req Request, in inputsOf, set *roleSet, have *discoveryv1.EndpointSlice, d *decision, now time.Time) (again time.Duration) {
	kit.DesireSlice(r.Metrics.Imported, req.service(in), req.part().Slice, d.want)
	if have == nil || d.want == nil {
		r.narrowed.Over(req)
	}
	if d.want == nil {
		return 0
	}
	if have != nil {
		d.want.Name = have.Name
	}
	if r.Hints.Apply(in.imp, d.want); set != nil {
		clearHints(d.want)
	}
	if have != nil {
		again = r.keepPorts(req, set, have, d.want, in.ports, now)
		keepRevision(have, d.want)
	}
	if d.want.Name != req.name().Name {
		d.warnings = append(d.warnings, nameTaken(req, d.want))
	}
	return again
}

// write writes a decision, and reports the result.
func (r *Reconciler) write(ctx context.Context, req Request, in inputsOf, set *roleSet, have *discoveryv1.EndpointSlice, d decision, now time.Time) kit.Outcome {
	if set != nil {
		set.begin(req, d.want)
	}
	out := kit.OutcomeOf(imported.Write(ctx, r.Cluster, have, d.want))
	if out.Err == nil && req.Cluster != r.Cluster.ID {
		r.Pace.Done(req.Cluster.String(), req.Source.Namespace, req.key(), now)
	}
	if out.Done() {
		if set != nil {
			r.done(set, req, have, d.want)
		}
		r.measure(req.service(in), in.imp, req, have, d.want, now)
	} else if set != nil {
		set.failed(req)
	}
	r.note(in, req, d, out)
	return out
}

// service names the service for metrics.
func (req Request) service(in inputsOf) metrics.Service {
	return metrics.Service{Namespace: req.Source.Namespace, Name: in.service.Name, Cluster: req.Cluster.String()}
}

// keepPorts keeps the ports that a slice is about to lose for portDelay, and returns the rest of the time. Ports that move to
// another slice because of their endpoints' roles are not lost.
func (r *Reconciler) keepPorts(req Request, set *roleSet, have, want *discoveryv1.EndpointSlice, service []corev1.ServicePort, now time.Time) time.Duration {
	lost := slices.DeleteFunc(lostPorts(have, want, service), func(p discoveryv1.EndpointPort) bool { return set.has(req.source(), p) })
	if len(lost) == 0 {
		r.narrowed.Over(req)
		return 0
	}
	left := portDelay - r.narrowed.For(req, now)
	if left > 0 {
		want.Ports = append(want.Ports, lost...)
	}
	return max(0, left)
}

// wait returns how long a write must wait: for others that bring endpoints into use, and for rate limits.
func (r *Reconciler) wait(ctx context.Context, req Request, set *roleSet, have, want *discoveryv1.EndpointSlice, now time.Time) (time.Duration, error) {
	if set == nil || have == nil || !endpoints.Withdraws(have, want) {
		r.demoting.Over(req)
		if set != nil && promotes(have, want) {
			return 0, nil
		}
		return r.limit(req, have, want, now), nil
	}
	awaits, isLast, err := r.awaitsOthers(ctx, set, req, have, want)
	if !awaits || err != nil {
		r.demoting.Over(req)
		return r.limitDemotion(req, set, have, want, now), err
	}
	left := promoteTime - r.demoting.For(req, now)
	if isLast && want != nil && want.Labels[names.LabelStandby] != "" && endpoints.IsStandby(&want.Endpoints[0]) {
		left = promoteTime // a rate limit delays the others, and endpoints that can stand by can also serve
	}
	if left > 0 {
		return left, nil
	}
	return r.limitDemotion(req, set, have, want, now), nil
}

// limitDemotion is limit for a write that takes something out of use. One that was written, and that the cache does not show yet,
// counts once.
func (r *Reconciler) limitDemotion(req Request, set *roleSet, have, want *discoveryv1.EndpointSlice, now time.Time) time.Duration {
	wait := r.limit(req, have, want, now)
	if wait == 0 && promotes(want, set.asWritten(req, have)) {
		wait = r.demotions.Wait(req, false, now)
	}
	return wait
}

// limit returns how long a write waits for rate limits. Withdrawals of other clusters' endpoints do not.
func (r *Reconciler) limit(req Request, have, want *discoveryv1.EndpointSlice, now time.Time) time.Duration {
	own := req.Cluster == r.Cluster.ID
	if own && want == nil && have != nil {
		return max(0, withdrawDelay-r.going.For(req, now))
	}
	r.going.Over(req)
	switch {
	case want == nil, have != nil && endpoints.Same(have, want):
		return 0
	case own && have == nil:
		return 0
	case own:
		return r.pacer.Wait(req, endpoints.Withdraws(have, want), now)
	case endpoints.Withdraws(have, want), endpoints.SameButHints(have, want): // hints may follow from another member's slices
		return 0
	}
	return r.Pace.Wait(req.Cluster.String(), req.Source.Namespace, req.key(), now)
}

// measure counts a slice and its write, and the time since this cluster saw the change and since the other cluster made
// it. The latter needs synchronized clocks, like kube-proxy's latency metric. Changes from before the import do not count: the
// slices of a new import are as old as its Service.
func (r *Reconciler) measure(of metrics.Service, imp *mcsv1beta1.ServiceImport, req Request, have, want *discoveryv1.EndpointSlice, now time.Time) {
	changed, written := kit.CountSlice(r.Metrics.Imported, of, req.part().Slice, have, want)
	took, live := r.seen.Stop(req)
	if !live || !written {
		return
	}
	r.Metrics.Import.Observe(took.Seconds())
	if want == nil || changed == 0 || have == nil { // a new slice may be as old as its Service
		return
	}
	if at, err := time.Parse(time.RFC3339Nano, want.Annotations[names.AnnotationLastChangeTriggerTime]); err == nil && !at.After(now) && at.After(imp.CreationTimestamp.Time) {
		r.Metrics.Total.Observe(time.Since(at).Seconds())
	}
}

// name returns the usual name of the imported slice.
func (req Request) name() types.NamespacedName {
	return types.NamespacedName{Namespace: req.Source.Namespace, Name: names.ImportedPorts(req.Cluster, req.Source.Name, req.Ports)}
}

func (req Request) key() string { return req.Source.String() + "." + req.Cluster.String() + req.Ports }
