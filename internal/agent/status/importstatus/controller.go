// Package importstatus writes the status of this cluster's ServiceImports: the exporting clusters and the condition
// Ready.
package importstatus

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/agent/imports/imported"
	"github.com/atoll-mcs/atoll/internal/agent/imports/importedslice"
	"github.com/atoll-mcs/atoll/internal/agent/inputs"
	"github.com/atoll-mcs/atoll/internal/agent/local"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/kit/status"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Reconciler writes the statuses of ServiceImports.
type Reconciler struct {
	cluster  *inputs.Cluster
	recorder events.EventRecorder
	problems *status.Problems
	missing  func(context.Context, types.NamespacedName) (bool, error)
	late     kit.Late[reconcile.Request]
	// incomplete are new imports that do not have all their objects yet.
	incomplete kit.Since[reconcile.Request]
	warned     status.Announced[types.NamespacedName, about]
}

// firstStatus is how long a new import that only lacks objects has no status.
const firstStatus = time.Second

// about is what a warning is about: the imports from a cluster, or the derived Service if cluster is "".
type about struct {
	cluster names.ClusterID
	reason  string
}

// New returns the controller. missing reports whether a slice of a service is about to be imported for the first time.
func New(c *inputs.Cluster, member cache.Cache, recorder events.EventRecorder, problems *status.Problems, missing func(context.Context, types.NamespacedName) (bool, error)) (controller.Controller, error) {
	r := &Reconciler{cluster: c, recorder: recorder, problems: problems, missing: missing}
	return kit.New("importstatus", r,
		kit.Watch(member, &mcsv1beta1.ServiceImport{}, kit.Same[*mcsv1beta1.ServiceImport]),
		kit.Watch(member, &mcsv1beta1.ServiceExport{}, kit.Same[*mcsv1beta1.ServiceExport]),
		kit.Watch(member, &corev1.Namespace{}, r.namespace),
		kit.Watch(member, &discoveryv1.EndpointSlice{}, func(ctx context.Context, e kit.Event[*discoveryv1.EndpointSlice]) []reconcile.Request {
			if e.Initial || !inputs.IsImported(e.Latest()) {
				return nil
			}
			return r.unready(ctx, inputs.ImportService(e.Latest()))
		}),
		kit.On(problems.Changes(), status.Reported),
		c.OnChanges(func(ctx context.Context) []reconcile.Request { return r.imports(ctx) }),
		kit.On(&c.Changes, func(ctx context.Context, s kit.Scope) []reconcile.Request {
			if s.Slice.Name == "" {
				return nil
			}
			return r.unready(ctx, s.Service)
		}),
	)
}

// unready returns a service unless its import is ready: a slice may be the last one that the import lacks. A change of
// a slice does not concern the others.
func (r *Reconciler) unready(ctx context.Context, service types.NamespacedName) []reconcile.Request {
	if service.Name == "" {
		return nil
	}
	imp, err := imported.Import(ctx, r.cluster.Client, service)
	if err != nil || imp == nil || meta.IsStatusConditionTrue(imp.Status.Conditions, string(mcsv1beta1.ServiceImportConditionReady)) {
		return nil // without an import, its creation queues it
	}
	return []reconcile.Request{{NamespacedName: service}}
}

// namespace maps a namespace to its imports.
func (r *Reconciler) namespace(ctx context.Context, e kit.Event[*corev1.Namespace]) []reconcile.Request {
	if e.Initial || e.Old == nil || e.New == nil {
		return nil
	}
	return r.imports(ctx, client.InNamespace(e.New.Name))
}

func (r *Reconciler) imports(ctx context.Context, options ...client.ListOption) []reconcile.Request {
	all, err := local.ServiceImports(ctx, r.cluster.Client, options...)
	if err != nil {
		return nil // the cache has stopped, or not synced yet: its first list queues every import
	}
	return all
}

// Reconcile writes the status of one ServiceImport, if it differs.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	have, err := imported.Import(ctx, r.cluster.Client, req.NamespacedName)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("reading ServiceImport %s: %w", req, err)
	}
	if have == nil {
		r.warned.Update(req.NamespacedName, nil)
		return reconcile.Result{}, nil
	}
	if r.cluster.Broker() == nil { // the status stays
		return reconcile.Result{}, nil
	}
	if wait := r.late.Wait(req, len(have.Status.Clusters)+len(have.Status.Conditions) == 0, &r.cluster.Stages); wait > 0 {
		return kit.After(wait), nil
	}
	in := inputsOf{have: have, families: r.cluster.Network.Families, problems: r.problems.Of(req.NamespacedName)}
	if in.exported, err = r.cluster.Exports(ctx, req.NamespacedName); err != nil {
		return reconcile.Result{}, fmt.Errorf("reading the exports of %s: %w", req, err)
	}
	if len(in.exported.Imported)+len(in.exported.Awaited) == 0 {
		return reconcile.Result{}, nil // the import is about to be deleted
	}
	if !meta.IsStatusConditionTrue(have.Status.Conditions, string(mcsv1beta1.ServiceImportConditionReady)) {
		if in.missing, err = r.missing(ctx, req.NamespacedName); err != nil {
			return reconcile.Result{}, fmt.Errorf("reading the EndpointSlices of %s: %w", req, err)
		}
	}
	now := time.Now()
	d := decide(in, now)
	if !d.incomplete || len(have.Status.Conditions) > 0 {
		r.incomplete.Over(req)
	} else if wait := firstStatus - r.incomplete.For(req, now); wait > 0 {
		return kit.After(wait), nil // most imports are complete before that, which saves a write
	}
	texts := map[about]string{}
	for _, w := range d.warnings {
		texts[about{w.cluster, w.Reason}] = w.Message
	}
	if equality.Semantic.DeepEqual(have.Status, d.status) { // the condition has the warnings, from before a restart perhaps
		r.warned.Update(req.NamespacedName, texts)
		return kit.After(d.again), nil
	}
	updated := have.DeepCopy()
	updated.Status = d.status
	patch := client.MergeFromWithOptions(have, client.MergeFromWithOptimisticLock{})
	out := kit.OutcomeOf(client.IgnoreNotFound(r.cluster.Client.Status().Patch(ctx, updated, patch, client.FieldOwner(names.ManagerImport))))
	if !out.Done() {
		status.SayRefused(r.recorder, have, out)
		return out.Result("writing the status of ServiceImport %s", req)
	}
	added, gone := r.warned.Update(req.NamespacedName, texts)
	r.say(have, d, added, gone)
	return kit.After(d.again), nil
}

// say records Events for an import's condition Ready, and for the warnings that were added to it or are gone.
func (r *Reconciler) say(imp *mcsv1beta1.ServiceImport, d decision, added, gone map[about]string) {
	if ready := d.event; ready != nil {
		eventType := corev1.EventTypeNormal
		if ready.Status == metav1.ConditionFalse {
			eventType = corev1.EventTypeWarning
		}
		status.Say(r.recorder, imp, nil, eventType, ready.Reason, "Import", ready.Message)
	}
	for _, warning := range d.warnings {
		of := about{warning.cluster, warning.Reason}
		if _, isNew := added[of]; !isNew {
			continue
		}
		action := "Import"
		if warning.Reason == importedslice.ReasonClusterLost || warning.Reason == importedslice.ReasonEndpointsLost {
			action = "Withdraw"
		}
		status.SayOf(r.recorder, warning.cluster, imp, r.cluster.Reference(warning.cluster), corev1.EventTypeWarning, warning.Reason, action, warning.Message)
	}
	for _, c := range d.status.Clusters {
		id := names.ClusterID(c.Cluster)
		if _, isBack := gone[about{id, importedslice.ReasonClusterLost}]; isBack {
			status.SayOf(r.recorder, id, imp, r.cluster.Reference(id), corev1.EventTypeNormal, "ClusterBack", "Import",
				fmt.Sprintf("Cluster %q is back. Its endpoints are used again.", c.Cluster))
		}
	}
}
