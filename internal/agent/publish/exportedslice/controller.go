// Package exportedslice writes this cluster's EndpointSlices to the broker. There is one for each slice of an exported
// Service or, in advertise mode cluster-ip, one for each cluster IP.
package exportedslice

import (
	"context"
	"fmt"
	"strings"
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
	"github.com/atoll-mcs/atoll/internal/agent/inputs"
	"github.com/atoll-mcs/atoll/internal/agent/pace"
	"github.com/atoll-mcs/atoll/internal/agent/publish/compare"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/kit/metrics"
	"github.com/atoll-mcs/atoll/internal/kit/status"
	"github.com/atoll-mcs/atoll/internal/mcs/endpoints"
	"github.com/atoll-mcs/atoll/internal/mcs/merge"
)

// Reconciler writes slices. A request names a source slice in this cluster, or is a result of names.ClusterIPSlice.
type Reconciler struct {
	cluster  *inputs.Cluster
	broker   *inputs.Broker
	mode     brokerv1alpha1.AdvertiseMode
	pacer    *pace.Pacer[types.NamespacedName]
	problems *status.Problems
	metrics  *metrics.Metrics
	writes   *compare.Writes

	going   kit.Since[types.NamespacedName]         // since there is nothing to publish
	seen    metrics.Stopwatch[types.NamespacedName] // since a change of a slice was seen
	transit metrics.Stopwatch[types.NamespacedName] // since a slice was written
}

// New returns the controller and its reconciler. limits applies to the writes of each slice.
func New(c *inputs.Cluster, b *inputs.Broker, member, broker cache.Cache, mode brokerv1alpha1.AdvertiseMode, limits pace.Limits, problems *status.Problems, measured *metrics.Metrics, writes *compare.Writes) (controller.Controller, *Reconciler, error) {
	r := &Reconciler{cluster: c, broker: b, mode: mode, pacer: pace.New[types.NamespacedName](limits), problems: problems, metrics: measured, writes: writes}
	run, err := kit.New("exportedslice", r,
		kit.Watch(member, &discoveryv1.EndpointSlice{}, r.source),
		kit.Watch(broker, &discoveryv1.EndpointSlice{}, r.published),
		kit.Watch(member, &corev1.Service{}, r.service),
		kit.On(&c.Changes, r.changed),
	)
	return run, r, err
}

type todo struct {
	decision
	of         inputsOf
	have, want *discoveryv1.EndpointSlice
	refused    string // the parts left out of want
}

func (r *Reconciler) find(ctx context.Context, source types.NamespacedName, now time.Time) (t todo, err error) {
	if t.have, err = r.broker.Slice(ctx, r.cluster.Clusterset, r.cluster.ID, source); err != nil {
		return t, fmt.Errorf("reading the published EndpointSlice of %s: %w", source, err)
	}
	if t.of, err = r.gather(ctx, source, t.have); err != nil {
		return t, fmt.Errorf("reading the objects that EndpointSlice %s depends on: %w", source, err)
	}
	t.want, t.refused = t.of.want(source.Name)
	gone := time.Duration(0) // how long there has been nothing to publish
	if t.want == nil && t.have != nil {
		gone = r.going.For(source, now)
	} else {
		r.going.Over(source)
	}
	t.decision = decide(t.have, t.want, t.of, gone)
	return t, nil
}

// Pending reports whether the publication of a source slice is out of date.
func (r *Reconciler) Pending(ctx context.Context, source types.NamespacedName) (bool, error) {
	t, err := r.find(ctx, source, time.Now())
	return t.write != nil || t.remove, err
}

// Missing reports whether a slice of a service is about to be published for the first time.
func (r *Reconciler) Missing(ctx context.Context, service types.NamespacedName) (bool, error) {
	problems := r.problems.Of(service)
	for _, source := range r.Of(ctx, service) {
		if problems[status.Part{Slice: source.Name}].Failure != "" {
			continue
		}
		if have, err := r.broker.Slice(ctx, r.cluster.Clusterset, r.cluster.ID, source); err != nil {
			return false, err
		} else if have != nil { // saves comparing all endpoints
			continue
		}
		if t, err := r.find(ctx, source, time.Now()); err != nil || t.write != nil {
			return true, err
		}
	}
	return false, nil
}

// Reconcile publishes one source slice.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	now := time.Now()
	t, err := r.find(ctx, req.NamespacedName, now)
	if err != nil {
		return reconcile.Result{}, err
	}
	if t.have != nil {
		r.writes.Observe(t.have, t.write == nil && !t.remove)
	}
	if t.write != nil && t.have != nil && t.wait == 0 {
		t.wait = r.pacer.Wait(req.NamespacedName, endpoints.Withdraws(t.have, t.write), now)
	}
	of := metrics.Service{Namespace: req.Namespace, Name: t.of.service.Name, Cluster: r.cluster.ID.String()}
	kit.DesireSlice(r.metrics.Exported, of, req.Name, t.want)
	if t.wait > 0 {
		if t.have != nil && layout.Withdrawn(t.have) { // the write succeeded, only its answer was lost
			r.note(layout.Service(t.have), req.Name, nil, "", kit.Outcome{})
		}
		return kit.After(t.wait), nil
	}
	if t.write != nil {
		r.transit.Start(req.NamespacedName)
	}
	write := func() error { return compare.Apply(ctx, r.writes, r.broker, t.have, t.write, t.remove) }
	if t.write != nil && t.have == nil {
		err = r.cluster.Stages.Do(kit.Imported, write)
	} else {
		err = write()
	}
	out := kit.OutcomeOf(err)
	if out.Done() {
		r.measure(of, req.NamespacedName, t.have, t.decision)
	} else {
		r.transit.Stop(req.NamespacedName)
	}
	t.of.service.Namespace = req.Namespace
	r.note(t.of.service, req.Name, t.want, t.refused, out)
	return out.Result("publishing EndpointSlice %s", req)
}

func (r *Reconciler) gather(ctx context.Context, key types.NamespacedName, have *discoveryv1.EndpointSlice) (of inputsOf, err error) {
	of.clusterIP = strings.Contains(key.Name, ":") // EndpointSlice names contain no colon
	if of.clusterIP {
		name, _, _ := strings.Cut(key.Name, ":")
		of.service = types.NamespacedName{Namespace: key.Namespace, Name: name}
	} else {
		source := &discoveryv1.EndpointSlice{}
		if err := r.cluster.Client.Get(ctx, key, source, client.UnsafeDisableDeepCopy); client.IgnoreNotFound(err) != nil {
			return of, err
		} else if err == nil {
			of.sources, of.service = []*discoveryv1.EndpointSlice{source}, inputs.SourceService(source)
		}
	}
	if of.service.Name == "" && have != nil {
		of.service, of.sources = layout.Service(have), nil
	}
	if of.service.Name == "" {
		return of, nil
	}
	record, err := r.broker.Record(ctx, r.cluster.Clusterset, r.cluster.ID, of.service)
	if err != nil || record == nil || layout.Withdrawn(record) {
		return of, err
	}
	service := &corev1.Service{}
	if err := r.cluster.Client.Get(ctx, of.service, service, client.UnsafeDisableDeepCopy); err != nil {
		of.exported = true // deleted a moment ago: its endpoints go, its record remains for a while
		return of, client.IgnoreNotFound(err)
	}
	of.exported, of.clusterIPs, of.revision = true, service.Spec.ClusterIPs, layout.Revision(record)
	of.export = &endpoints.Export{
		Cluster: r.cluster.ID, Service: of.service, BrokerNamespace: r.cluster.Clusterset,
		Ports: record.Spec.Ports, Restricted: len(record.Spec.Ports) < len(service.Spec.Ports),
	}
	if of.byClusterIP, err = r.byClusterIP(ctx, of.service, record); err != nil || !of.clusterIP {
		return of, err
	}
	of.sources, err = r.cluster.Sources(ctx, of.service)
	return of, err
}

// byClusterIP reports whether a Service's cluster IP is published instead of its pods. A headless service publishes its
// pods, even if an older export of another cluster makes it headless.
func (r *Reconciler) byClusterIP(ctx context.Context, service types.NamespacedName, record *brokerv1alpha1.ExportedService) (bool, error) {
	if r.mode != brokerv1alpha1.AdvertiseClusterIP || record.Spec.Type != mcsv1beta1.ClusterSetIP {
		return false, nil
	}
	exports, err := r.cluster.Conflicting(ctx, service, &record.Spec)
	return len(exports) > 0 && merge.Type(exports) == mcsv1beta1.ClusterSetIP, err
}

// measure counts a slice and its write, and the time since the change was seen.
func (r *Reconciler) measure(of metrics.Service, source types.NamespacedName, have *discoveryv1.EndpointSlice, d decision) {
	now := have
	if d.write != nil || d.remove {
		now = d.write
	}
	_, written := kit.CountSlice(r.metrics.Exported, of, source.Name, have, now)
	if took, live := r.seen.Stop(source); live && written {
		r.metrics.Publish.Observe(took.Seconds())
	}
}

// note reports the result to the controller of the export's conditions.
func (r *Reconciler) note(service types.NamespacedName, name string, want *discoveryv1.EndpointSlice, refused string, out kit.Outcome) {
	problem := status.ProblemOf(out)
	if want != nil && refused != "" {
		problem.Warnings = []status.Warning{{
			Reason:  "EndpointsInvalid",
			Message: fmt.Sprintf("Some parts of the Service's EndpointSlices are not exported: %s. All other parts are exported. Correct the EndpointSlices.", refused),
		}}
	}
	r.problems.SetSlice(service, status.Part{Slice: name}, problem)
}
