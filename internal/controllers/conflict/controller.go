// Package conflict keeps the condition Conflict of this cluster's ServiceExports: every
// constituent export of a service carries every conflict (KEP-1645, "Constraints and
// Conflict Resolution").
package conflict

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/controllers"
	"github.com/atoll-mcs/atoll/internal/local"
	"github.com/atoll-mcs/atoll/internal/merge"
	"github.com/atoll-mcs/atoll/internal/names"
	"github.com/atoll-mcs/atoll/internal/status"
)

// Controller is the conflict controller of one member cluster.
type Controller struct {
	local    client.Client
	broker   *broker.View
	self     local.Cluster
	recorder events.EventRecorder
}

// NewController returns a controller that writes conditions by local, in the cluster self.
func NewController(local client.Client, view *broker.View, self local.Cluster, recorder events.EventRecorder) *Controller {
	return &Controller{local: local, broker: view, self: self, recorder: recorder}
}

// Name is the controller's name in logs and metrics.
func (c *Controller) Name() string { return "conflict" }

// Register adds the controller to a manager.
func (c *Controller) Register(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named(c.Name()).
		For(&mcsv1beta1.ServiceExport{}).
		Watches(&corev1.Service{}, &handler.EnqueueRequestForObject{}).
		WatchesRawSource(controllers.Events(func(add func(reconcile.Request, bool)) {
			c.broker.OnExport(func(e *brokerv1alpha1.ExportedService, initial bool) {
				add(reconcile.Request{NamespacedName: client.ObjectKey{Namespace: e.Spec.ServiceNamespace, Name: e.Spec.ServiceName}}, initial)
			})
		})).
		WatchesRawSource(controllers.Once(c.broker.AwaitExports, func(ctx context.Context) ([]reconcile.Request, error) {
			return local.ServiceExports(ctx, c.local)
		})).
		WithOptions(controllers.Options[reconcile.Request]()).
		Complete(c)
}

// Reconcile brings the condition of one ServiceExport up to date. An export that is not
// valid is no constituent, and has no conflict; one that is new is judged first, by its
// Service as it is.
func (c *Controller) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	if !c.broker.ExportsSynced() {
		return reconcile.Result{}, nil // all are queued once it is
	}
	own, err := local.Gather(ctx, c.local, c.self, req.NamespacedName)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("gathering export %s: %w", req, err)
	}
	if !own.Judged() {
		return reconcile.Result{}, nil // there is none, or the verdict is the next event
	}
	var conflicts []merge.Conflict
	if own.Contribution != nil {
		conflicts = merge.Resolve(c.broker.Constituents(req.NamespacedName, own.Contribution)).Conflicts
	}
	_, transitions, err := status.ApplyExport(ctx, c.local, own.Export, names.ManagerConflict, condition(conflicts))
	if err != nil {
		return reconcile.Result{}, err
	}
	for _, t := range transitions {
		eventType := corev1.EventTypeNormal
		if t.Condition.Status == metav1.ConditionTrue {
			eventType = corev1.EventTypeWarning
		}
		status.Say(c.recorder, own.Export, nil, eventType, eventReason(conflicts), "Export", t.Condition.Message)
	}
	return reconcile.Result{}, nil
}
