// Package importstatus keeps the status of this cluster's ServiceImports: the exporting clusters and the
// condition Ready.
package importstatus

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	late     kit.Late[reconcile.Request]
}

// New returns the controller.
func New(c *inputs.Cluster, member cache.Cache, recorder events.EventRecorder, problems *status.Problems) (controller.Controller, error) {
	r := &Reconciler{cluster: c, recorder: recorder, problems: problems}
	return kit.New("importstatus", r,
		kit.Watch(member, &mcsv1beta1.ServiceImport{}, kit.Same[*mcsv1beta1.ServiceImport]),
		kit.Watch(member, &mcsv1beta1.ServiceExport{}, kit.Same[*mcsv1beta1.ServiceExport]),
		kit.Watch(member, &corev1.Namespace{}, r.namespace),
		kit.On(problems.Changes(), status.Reported),
		c.OnChanges(func(ctx context.Context) []reconcile.Request { return r.imports(ctx) }),
	)
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
	if have == nil || r.cluster.Broker() == nil { // without a broker the status stays
		return reconcile.Result{}, nil
	}
	if wait := r.late.Wait(req, len(have.Status.Clusters)+len(have.Status.Conditions) == 0, &r.cluster.Stages); wait > 0 {
		return kit.After(wait), nil
	}
	exported, err := r.cluster.Exports(ctx, req.NamespacedName)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("reading the exports of %s: %w", req, err)
	}
	if len(exported.Imported)+len(exported.Awaited) == 0 {
		return reconcile.Result{}, nil // the import is about to be deleted
	}
	problems := r.problems.Of(req.NamespacedName)
	want, transition := want(have, exported, r.cluster.Network.Families, problems)
	if equality.Semantic.DeepEqual(have.Status, want) {
		return reconcile.Result{}, nil
	}
	updated := have.DeepCopy()
	updated.Status = want
	patch := client.MergeFromWithOptions(have, client.MergeFromWithOptimisticLock{})
	out := kit.OutcomeOf(client.IgnoreNotFound(r.cluster.Client.Status().Patch(ctx, updated, patch, client.FieldOwner(names.ManagerImport))))
	if out.Done() {
		r.say(have, want, transition, warnings(problems))
	}
	return out.Result("writing the status of ServiceImport %s", req)
}

// say records Events for new content of an import's condition Ready.
func (r *Reconciler) say(have *mcsv1beta1.ServiceImport, now mcsv1beta1.ServiceImportStatus, transition bool, warnings []warning) {
	ready := meta.FindStatusCondition(now.Conditions, string(mcsv1beta1.ServiceImportConditionReady))
	if ready == nil {
		return
	}
	before := ""
	if c := meta.FindStatusCondition(have.Status.Conditions, ready.Type); c != nil {
		before = c.Message
	}
	if transition {
		eventType := corev1.EventTypeNormal
		if ready.Status == metav1.ConditionFalse {
			eventType = corev1.EventTypeWarning
		}
		status.Say(r.recorder, have, nil, eventType, ready.Reason, "Import", ready.Message)
	}
	for _, warning := range warnings {
		if strings.Contains(before, warning.Message) {
			continue
		}
		action := "Import"
		if warning.Reason == importedslice.ReasonClusterLost || warning.Reason == importedslice.ReasonEndpointsLost {
			action = "Withdraw"
		}
		status.SayOf(r.recorder, warning.cluster, have, r.cluster.Reference(warning.cluster), corev1.EventTypeWarning, warning.Reason, action, warning.Message)
	}
	for _, c := range now.Clusters {
		id := names.ClusterID(c.Cluster)
		lost := importedslice.LostMessage(id)
		if strings.Contains(before, lost) && !strings.Contains(ready.Message, lost) {
			status.SayOf(r.recorder, id, have, r.cluster.Reference(id), corev1.EventTypeNormal, "ClusterBack", "Import",
				fmt.Sprintf("Cluster %q is back. Its endpoints are used again.", c.Cluster))
		}
	}
}
