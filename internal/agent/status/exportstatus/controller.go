// Package exportstatus writes the conditions Valid, Ready and Conflict of this cluster's ServiceExports.
package exportstatus

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/agent/inputs"
	"github.com/atoll-mcs/atoll/internal/agent/local"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/kit/status"
	"github.com/atoll-mcs/atoll/internal/mcs/merge"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Reconciler writes the statuses of ServiceExports.
type Reconciler struct {
	cluster  *inputs.Cluster
	recorder events.EventRecorder
	problems *status.Problems
	missing  func(context.Context, types.NamespacedName) (bool, error)
	late     kit.Late[reconcile.Request]
	warned   status.Announced[types.NamespacedName, string] // by reason
}

// New returns the controller. missing reports whether a slice of a service is about to be published for the first time.
func New(c *inputs.Cluster, member cache.Cache, recorder events.EventRecorder, problems *status.Problems, missing func(context.Context, types.NamespacedName) (bool, error)) (controller.Controller, error) {
	r := &Reconciler{cluster: c, recorder: recorder, problems: problems, missing: missing}
	return kit.New("exportstatus", r,
		kit.Watch(member, &mcsv1beta1.ServiceExport{}, kit.Same[*mcsv1beta1.ServiceExport]),
		kit.Watch(member, &corev1.Service{}, kit.Same[*corev1.Service]),
		kit.Watch(member, &corev1.Namespace{}, r.namespace),
		kit.Watch(member, &discoveryv1.EndpointSlice{}, source),
		kit.On(problems.Changes(), status.Reported),
		c.OnChanges(r.all),
		kit.On(&c.Changes, r.published),
	)
}

// published maps a slice that was published for the first time to its service: the export may be complete.
func (r *Reconciler) published(_ context.Context, s kit.Scope) []reconcile.Request {
	if s.Slice.Name == "" || s.Service.Name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: s.Service}}
}

func (r *Reconciler) all(ctx context.Context) []reconcile.Request {
	exports, err := local.ServiceExports(ctx, r.cluster.Client)
	if err != nil {
		return nil // the cache has stopped
	}
	return exports
}

// namespace maps a namespace that is opened or closed to imports to its exports.
func (r *Reconciler) namespace(ctx context.Context, e kit.Event[*corev1.Namespace]) []reconcile.Request {
	if e.Initial || e.Old == nil || e.New == nil || e.Old.Labels[names.LabelExports] == e.New.Labels[names.LabelExports] {
		return nil
	}
	exports, err := local.ServiceExports(ctx, r.cluster.Client, client.InNamespace(e.New.Name))
	if err != nil {
		return nil // the cache has stopped
	}
	return exports
}

// source maps a slice of this cluster to the exports whose Notices may change.
func source(_ context.Context, e kit.Event[*discoveryv1.EndpointSlice]) (services []reconcile.Request) {
	// The annotation with the last endpoint change differs each time, so do not compare all annotations.
	if e.Initial || e.Old != nil && e.New != nil && len(e.Old.Endpoints) == len(e.New.Endpoints) && maps.Equal(e.Old.Labels, e.New.Labels) &&
		e.Old.Annotations[corev1.EndpointsOverCapacity] == e.New.Annotations[corev1.EndpointsOverCapacity] {
		return nil
	}
	for _, s := range e.Versions() {
		if service := inputs.SourceService(s); service.Name != "" {
			services = append(services, reconcile.Request{NamespacedName: service})
		}
	}
	return services // the queue removes duplicates
}

// Reconcile writes the conditions of one ServiceExport, if they differ.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	own, err := r.cluster.Own(ctx, req.NamespacedName)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("reading the export of %s: %w", req, err)
	}
	if own.Export == nil {
		r.warned.Update(req.NamespacedName, nil)
		return reconcile.Result{}, nil
	}
	if wait := r.late.Wait(req, len(own.Export.Status.Conditions) == 0, &r.cluster.Stages); wait > 0 {
		return kit.After(wait), nil
	}
	so, pending, err := r.progress(ctx, req.NamespacedName, own)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("reading the progress of the export of %s: %w", req, err)
	}
	if pending {
		return reconcile.Result{}, nil // the next event of the record, or of the slice, queues the export
	}
	if late, err := r.serviceIsLate(ctx, own); err != nil || late {
		return reconcile.Result{}, err // its event queues the export
	}
	wanted, again := Conditions(own, so, time.Now())
	written, transitions, err := status.ApplyExport(ctx, r.cluster.Client, own.Export, names.ManagerExport, wanted...)
	if out := kit.OutcomeOf(err); !out.Done() {
		status.SayRefused(r.recorder, own.Export, out)
		return out.Result("writing the conditions of ServiceExport %s", req)
	}
	added, _ := r.warned.Update(req.NamespacedName, warningsIn(wanted, so))
	if !written { // the conditions have the warnings, from before a restart perhaps
		return kit.After(again), nil
	}
	for _, t := range transitions {
		if WorthAnEvent(own.Export.Status.Conditions, t.Condition) {
			status.Say(r.recorder, own.Export, nil, EventType(t.Condition), EventReason(t.Condition), "Export", t.Condition.Message)
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(added)) {
		status.Say(r.recorder, own.Export, nil, corev1.EventTypeWarning, reason, "Export", added[reason])
	}
	return kit.After(again), nil
}

// serviceIsLate reports whether an export's Service exists but is not in the cache yet: ServiceExports have a separate
// watch. It is called before the condition reports a missing Service for the first time.
func (r *Reconciler) serviceIsLate(ctx context.Context, own local.Own) (bool, error) {
	valid := meta.FindStatusCondition(own.Export.Status.Conditions, string(mcsv1beta1.ServiceExportConditionValid))
	if own.Service != nil || valid != nil && valid.Reason == string(mcsv1beta1.ServiceExportReasonNoService) {
		return false, nil
	}
	live, err := kit.Get(ctx, r.cluster.Live, client.ObjectKeyFromObject(own.Export), &corev1.Service{})
	return live != nil, err
}

// progress reads the progress of an export. pending: its record, or one of its slices, is about to be written.
func (r *Reconciler) progress(ctx context.Context, service types.NamespacedName, own local.Own) (so Progress, pending bool, _ error) {
	rules, err := r.cluster.Refusals(ctx, service.Namespace)
	if err != nil {
		return so, false, err
	}
	so.Endpoints.Warnings = Warnings(own, rules.Closed, r.cluster.Refuses.Closed...)
	b := r.cluster.Broker()
	if b == nil {
		so.Record.Waiting = true
		return so, false, nil
	}
	so.Tried = true
	problems := r.problems.Of(service)
	if so.Record = problems[status.Part{}]; so.Record.Failure == "" {
		if pending, err = r.isPending(ctx, b, service, own.Contribution); pending || err != nil {
			return so, pending, err
		}
	}
	if so.Endpoints, err = r.endpoints(ctx, service, problems, so.Endpoints.Warnings); err != nil || own.Contribution == nil {
		return so, false, err // an invalid export is not merged, and has no conflict
	}
	exports, err := r.cluster.Conflicting(ctx, service, own.Contribution)
	if err == nil && len(exports) > 0 {
		so.Conflicts = merge.Resolve(exports).Conflicts
	}
	return so, false, err
}

// isPending reports whether the record, or a slice for the first time, is about to be written.
func (r *Reconciler) isPending(ctx context.Context, b *inputs.Broker, service types.NamespacedName, want *merge.Export) (bool, error) {
	have, err := b.Record(ctx, r.cluster.Clusterset, r.cluster.ID, service)
	if err != nil {
		return false, err
	}
	if have != nil && layout.Withdrawn(have) {
		have = nil
	}
	if (have == nil) != (want == nil) || have != nil && !equality.Semantic.DeepEqual(have.Spec, *want) {
		return true, nil
	}
	return r.missing(ctx, service)
}

// endpoints summarizes the publishing of a service's slices. warnings come first.
func (r *Reconciler) endpoints(ctx context.Context, service types.NamespacedName, problems map[status.Part]status.Problem, warnings []status.Warning) (status.Problem, error) {
	outcome := status.Problem{Warnings: warnings}
	sources, err := r.cluster.Sources(ctx, service)
	if err != nil {
		return outcome, err
	}
	if r.cluster.PublishesPods {
		outcome.Warnings = append(outcome.Warnings, Notices(sources)...)
	}
	for _, part := range slices.SortedFunc(maps.Keys(problems), status.Part.Compare) {
		if part == (status.Part{}) { // the record
			continue
		}
		if problem := problems[part]; problem.Failure != "" && (outcome.Failure == "" || problem.Since.Before(outcome.Since)) {
			outcome.Failure, outcome.Since = problem.Failure, problem.Since
		}
		for _, warning := range problems[part].Warnings {
			if !slices.ContainsFunc(outcome.Warnings, func(other status.Warning) bool { return other.Reason == warning.Reason }) {
				outcome.Warnings = append(outcome.Warnings, warning)
			}
		}
	}
	return outcome, nil
}
