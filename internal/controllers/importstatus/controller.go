// Package importstatus keeps the status of this cluster's ServiceImports: the clusters that they
// come from, and the condition Ready. How it goes with the derived Service and the endpoints
// their controllers tell it.
package importstatus

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

	decide "github.com/atoll-mcs/atoll/internal/agent/status/importstatus"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/controllers"
	"github.com/atoll-mcs/atoll/internal/local"
	"github.com/atoll-mcs/atoll/internal/mcs/merge"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/status"
)

// Controller owns the status of the ServiceImports of one member cluster.
type Controller struct {
	local    client.Client
	broker   *broker.View
	self     local.Cluster
	recorder events.EventRecorder
	so       progress
}

// NewController returns a controller for the cluster self that learns from services and
// endpoints how it goes with the derived Service of each import and with the endpoints of its parts.
func NewController(local client.Client, view *broker.View, self local.Cluster, recorder events.EventRecorder,
	services *status.Outcomes[types.NamespacedName], endpoints *status.Outcomes[local.Part],
) *Controller {
	return &Controller{local: local, broker: view, self: self, recorder: recorder, so: progress{service: services, endpoints: endpoints}}
}

// Name is the controller's name in logs and metrics.
func (c *Controller) Name() string { return "importstatus" }

// Register adds the controller to a manager.
func (c *Controller) Register(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named(c.Name()).
		For(&mcsv1beta1.ServiceImport{}).
		// What the cluster itself exports of it.
		Watches(&mcsv1beta1.ServiceExport{}, &handler.EnqueueRequestForObject{}).
		Watches(&corev1.Service{}, &handler.EnqueueRequestForObject{}).
		Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(c.importsIn), builder.WithPredicates(controllers.OpennessChanged)).
		WatchesRawSource(controllers.Exported(c.broker)).
		WatchesRawSource(controllers.Events(func(add func(reconcile.Request, bool)) {
			c.so.service.OnChange(func(service types.NamespacedName) { add(reconcile.Request{NamespacedName: service}, false) })
			c.so.endpoints.OnChange(func(part local.Part) { add(reconcile.Request{NamespacedName: part.Service}, false) })
		})).
		WatchesRawSource(controllers.Once(c.broker.AwaitExports, func(ctx context.Context) ([]reconcile.Request, error) {
			return local.ServiceImports(ctx, c.local)
		})).
		WithOptions(controllers.Options[reconcile.Request]()).
		Complete(c)
}

// importsIn maps a namespace to its imports.
func (c *Controller) importsIn(ctx context.Context, namespace client.Object) []reconcile.Request {
	requests, err := local.ServiceImports(ctx, c.local, client.InNamespace(namespace.GetName()))
	if err != nil {
		return nil // the cache is not synced yet; every import is queued once it is
	}
	return requests
}

// Reconcile brings the status of one ServiceImport up to date.
func (c *Controller) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	if !c.broker.ExportsSynced() {
		return reconcile.Result{}, nil // all are queued once they are
	}
	have := &mcsv1beta1.ServiceImport{}
	if err := c.local.Get(ctx, req.NamespacedName, have); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if have.DeletionTimestamp != nil || !local.Managed(have) {
		return reconcile.Result{}, nil
	}
	exported, err := local.Exports(ctx, c.local, c.self, req.NamespacedName, c.broker.Constituents)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("gathering the exports of %s: %w", req, err)
	}
	exporters := merge.Clusters(exported.Imported)
	for _, of := range exported.Accepted(c.self.ID, have.Status.Clusters) {
		if !slices.Contains(exporters, of.Cluster) && c.broker.Hold(req.NamespacedName, names.ClusterID(of.Cluster)) {
			exporters = append(exporters, of.Cluster)
		}
	}
	if len(exporters) == 0 {
		return reconcile.Result{}, nil // it goes
	}
	slices.Sort(exporters)
	return reconcile.Result{}, c.apply(ctx, have, want(have, exporters, c.self.Network.Families, c.so, decide.LeftOut(exported.LeftOut, req.Namespace)))
}

func (c *Controller) apply(ctx context.Context, have *mcsv1beta1.ServiceImport, wanted *wanted) error {
	if wanted == nil || equality.Semantic.DeepEqual(have.Status, wanted.status) {
		return nil
	}
	updated := have.DeepCopy()
	updated.Status = wanted.status
	// Not if the import has changed meanwhile: what is new is told by comparing with the latest.
	patch := client.MergeFromWithOptions(have, client.MergeFromWithOptimisticLock{})
	err := c.local.Status().Patch(ctx, updated, patch, client.FieldOwner(names.ManagerImport))
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil // its newer version is on its way
	}
	if err != nil {
		return fmt.Errorf("updating the status of ServiceImport %s/%s: %w", have.Namespace, have.Name, err)
	}
	if wanted.transition {
		ready := meta.FindStatusCondition(wanted.status.Conditions, string(mcsv1beta1.ServiceImportConditionReady))
		eventType := corev1.EventTypeNormal
		if ready.Status == metav1.ConditionFalse {
			eventType = corev1.EventTypeWarning
		}
		status.Say(c.recorder, have, nil, eventType, ready.Reason, "Import", ready.Message)
	}
	return nil
}
