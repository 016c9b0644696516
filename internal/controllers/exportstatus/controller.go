// Package exportstatus keeps the conditions of this cluster's ServiceExports: Valid, Ready, and
// Conflict, for every constituent export of a service carries every conflict (KEP-1645,
// "Constraints and Conflict Resolution"). All are one write. How it goes with the record and the
// endpoints their controllers tell it.
package exportstatus

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	decide "github.com/atoll-mcs/atoll/internal/agent/status/exportstatus"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/controllers"
	"github.com/atoll-mcs/atoll/internal/local"
	"github.com/atoll-mcs/atoll/internal/mcs/merge"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/status"
)

// Controller owns the status of the ServiceExports of one member cluster.
type Controller struct {
	local              client.Client
	live               client.Reader // past the copy
	broker             *broker.View
	self               local.Cluster
	recorder           events.EventRecorder
	records, endpoints *status.Outcomes[types.NamespacedName]
}

// NewController returns a controller for the cluster self that learns from records and
// endpoints how writing those of each export to the broker went. live reads past any copy.
func NewController(local client.Client, live client.Reader, view *broker.View, self local.Cluster, recorder events.EventRecorder,
	records, endpoints *status.Outcomes[types.NamespacedName],
) *Controller {
	return &Controller{local: local, live: live, broker: view, self: self, recorder: recorder, records: records, endpoints: endpoints}
}

// Name is the controller's name in logs and metrics.
func (c *Controller) Name() string { return "exportstatus" }

// Register adds the controller to a manager.
func (c *Controller) Register(mgr ctrl.Manager) error {
	build := ctrl.NewControllerManagedBy(mgr).
		Named(c.Name()).
		For(&mcsv1beta1.ServiceExport{}).
		Watches(&corev1.Service{}, &handler.EnqueueRequestForObject{}).
		Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(c.exportsIn), builder.WithPredicates(controllers.OpennessChanged)).
		WatchesRawSource(controllers.Exported(c.broker)).
		WatchesRawSource(controllers.Policies(c.broker)).
		WatchesRawSource(controllers.Permissions(c.broker, func(ctx context.Context) ([]reconcile.Request, error) { return local.ServiceExports(ctx, c.local) })).
		WithOptions(controllers.Options[reconcile.Request]())
	for _, outcomes := range []*status.Outcomes[types.NamespacedName]{c.records, c.endpoints} {
		build = build.WatchesRawSource(controllers.Events(func(add func(reconcile.Request, bool)) {
			outcomes.OnChange(func(service types.NamespacedName) { add(reconcile.Request{NamespacedName: service}, false) })
		}))
	}
	return build.Complete(c)
}

// exportsIn maps a namespace to its exports.
func (c *Controller) exportsIn(ctx context.Context, namespace client.Object) []reconcile.Request {
	requests, err := local.ServiceExports(ctx, c.local, client.InNamespace(namespace.GetName()))
	if err != nil {
		return nil // the cache is not synced yet; every export is queued once it is
	}
	return requests
}

// Reconcile brings the conditions of one ServiceExport up to date.
func (c *Controller) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	own, err := local.Gather(ctx, c.local, c.self, req.NamespacedName)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("gathering export %s: %w", req, err)
	}
	if own.Export == nil {
		return reconcile.Result{}, nil
	}
	record, known := c.records.Get(req.NamespacedName)
	if !known {
		return reconcile.Result{}, nil // it is looked at in a moment
	}
	if own.Service == nil {
		if behind, err := local.Behind(ctx, c.live, own); behind || err != nil {
			return reconcile.Result{}, err
		}
	}
	if held, err := c.held(ctx, req, own.Export); held || err != nil {
		return reconcile.Result{}, err
	}
	so := decide.Progress{Record: record}
	so.Endpoints, so.Tried = c.endpoints.Get(req.NamespacedName)
	rules, err := local.Refusals(ctx, c.local, c.self, req.Namespace)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("reading namespace %s: %w", req.Namespace, err)
	}
	so.Endpoints.Remarks = slices.Concat(decide.Remarks(own, rules.Closed), so.Endpoints.Remarks)
	if own.Contribution != nil && c.broker.ExportsSynced() { // what is not valid is no constituent, and has no conflict
		weigh, err := local.Weighing(ctx, c.local, c.self, req.NamespacedName, c.broker.Constituents(req.NamespacedName, own.Contribution))
		if err != nil {
			return reconcile.Result{}, fmt.Errorf("gathering the exports of %s: %w", req, err)
		}
		so.Conflicts = merge.Resolve(weigh).Conflicts
	}
	wanted := decide.Conditions(own, so)
	if !slices.ContainsFunc(wanted, isReady) && c.broker.PublishedSynced() {
		return reconcile.Result{}, nil // the endpoints are tried in a moment, and then one write says all
	}
	return reconcile.Result{}, c.apply(ctx, own.Export, so.Endpoints.Remarks, wanted)
}

// held tells whether the conditions stay as they are, because an export that this one conflicts
// with may be missing on the broker without that its cluster has withdrawn it.
func (c *Controller) held(ctx context.Context, req reconcile.Request, export *mcsv1beta1.ServiceExport) (bool, error) {
	if !meta.IsStatusConditionTrue(export.Status.Conditions, string(mcsv1beta1.ServiceExportConditionConflict)) {
		return false, nil
	}
	imp := &mcsv1beta1.ServiceImport{}
	if err := c.local.Get(ctx, req.NamespacedName, imp); client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("reading ServiceImport %s: %w", req, err)
	}
	return c.broker.HoldAny(req.NamespacedName, imp.Status.Clusters), nil
}

func isReady(c metav1.Condition) bool {
	return c.Type == string(mcsv1beta1.ServiceExportConditionReady)
}

func (c *Controller) apply(ctx context.Context, export *mcsv1beta1.ServiceExport, remarks []status.Remark, wanted []metav1.Condition) error {
	stands, transitions, err := status.ApplyExport(ctx, c.local, export, names.ManagerExport, wanted...)
	if !stands {
		return err
	}
	for _, t := range transitions {
		if decide.WorthAnEvent(export.Status.Conditions, t.Condition) {
			status.Say(c.recorder, export, nil, decide.EventType(t.Condition), decide.EventReason(t.Condition), "Export", t.Condition.Message)
		}
	}
	for _, r := range decide.Unsaid(export, wanted, remarks) {
		status.Say(c.recorder, export, nil, corev1.EventTypeWarning, r.Reason, "Export", r.Message)
	}
	return nil
}
