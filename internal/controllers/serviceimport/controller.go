// Package serviceimport keeps this cluster's ServiceImports: one for each service
// that any member exports and whose namespace exists here (KEP-1645, "Importing
// Services").
//
// It owns a ServiceImport's exported labels and annotations, and its spec but for the clusterset
// IPs, which the derived Service gives it.
package serviceimport

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/controllers"
	"github.com/atoll-mcs/atoll/internal/local"
	"github.com/atoll-mcs/atoll/internal/mcs/merge"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/status"
	"github.com/atoll-mcs/atoll/internal/urgency"
)

// Controller is the import controller of one member cluster.
type Controller struct {
	local    client.Client
	writer   controllers.Writer // to the own cluster
	broker   *broker.View
	self     local.Cluster
	recorder events.EventRecorder
	foreign  reports // ServiceImports of others
	leftOut  reports // what others export that is refused here
	spoilt   reports // annotations of namespaces that can't be read
	refused  reports // by the API server
	beyond   reports // members that export too many services, by namespace
}

// NewController returns a controller for the cluster self.
func NewController(writer controllers.Writer, view *broker.View, self local.Cluster, recorder events.EventRecorder) *Controller {
	return &Controller{local: writer.Client, writer: writer, broker: view, self: self, recorder: recorder}
}

// Name is the controller's name in logs and metrics.
func (c *Controller) Name() string { return "serviceimport" }

// Register adds the controller to a manager.
func (c *Controller) Register(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named(c.Name()).
		For(&mcsv1beta1.ServiceImport{}).
		Watches(&mcsv1beta1.ServiceExport{}, &handler.EnqueueRequestForObject{}).
		Watches(&corev1.Service{}, &handler.EnqueueRequestForObject{}).
		Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(c.servicesOf)).
		WatchesRawSource(controllers.Exported(c.broker)).
		WatchesRawSource(controllers.Policies(c.broker)).
		WatchesRawSource(controllers.Permissions(c.broker, c.all)).
		WatchesRawSource(controllers.Once(c.broker.AwaitExports, c.all)).
		WithOptions(controllers.Options[reconcile.Request]()).
		Complete(c)
}

// servicesOf maps a namespace to the services that are exported from it anywhere.
func (c *Controller) servicesOf(_ context.Context, namespace client.Object) []reconcile.Request {
	c.reportMalformed(namespace)
	var requests []reconcile.Request
	for _, service := range c.broker.ExportedServices(namespace.GetName()) {
		requests = append(requests, reconcile.Request{NamespacedName: service})
	}
	return requests
}

// all are the services with an import or an own export. Those that others export come
// as events of the view's.
func (c *Controller) all(ctx context.Context) ([]reconcile.Request, error) {
	imports, err := local.ServiceImports(ctx, c.local)
	if err != nil {
		return nil, err
	}
	exports, err := local.ServiceExports(ctx, c.local)
	return append(imports, exports...), err
}

// Reconcile brings one ServiceImport up to date.
func (c *Controller) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	if !c.broker.ExportsSynced() {
		return reconcile.Result{}, nil // what is missing means nothing yet; all are queued once it does
	}
	have := &mcsv1beta1.ServiceImport{}
	if err := c.local.Get(ctx, req.NamespacedName, have); client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, fmt.Errorf("reading ServiceImport %s: %w", req, err)
	}
	if have.Labels[names.LabelManagedBy] == names.AggregateManager {
		return reconcile.Result{}, nil // this cluster is a broker too
	}
	exported, err := local.Exports(ctx, c.local, c.self, req.NamespacedName, c.broker.Candidates)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("gathering the exports of %s: %w", req, err)
	}
	exports := c.broker.Admit(req.NamespacedName, exported.Imported) // whatever comes of it: other services may wait for this one's answer
	if local.Managed(have) && c.broker.HoldAny(req.NamespacedName, exported.Accepted(c.self.ID, have.Status.Clusters)) {
		return reconcile.Result{}, nil // what one of them exports is not known, so that nobody can tell what the import is to be
	}
	c.reportLeftOut(req.NamespacedName, exported)
	c.reportLimit(req.NamespacedName)
	inTheWay := ""
	if have.UID != "" && !local.Managed(have) && len(exports) > 0 {
		inTheWay = string(have.UID)
	}
	if c.foreign.news(req.NamespacedName, inTheWay) {
		status.Say(c.recorder, have, nil, corev1.EventTypeWarning, "ForeignServiceImport", "Import", fmt.Sprintf(
			"This ServiceImport was not made by Atoll, which leaves it alone and does not import the service. Delete it to have the service imported, "+
				"or have Atoll take it over: kubectl label serviceimport -n %s %s %s=%s",
			have.Namespace, have.Name, names.LabelManagedBy, names.AgentManager))
	}
	if have.UID != "" && !local.Managed(have) {
		return reconcile.Result{}, nil
	}
	if len(exports) == 0 {
		c.refused.news(req.NamespacedName, "")
		return reconcile.Result{}, c.remove(ctx, have)
	}
	if exported.Own.Export != nil {
		ctx = urgency.At(ctx, urgency.Next) // the service works here without it, and the others wait for theirs
	}
	err = c.apply(ctx, have, want(have, req.NamespacedName, merge.Resolve(exports), c.self.Network))
	c.reportRefusal(req.NamespacedName, have, exported.Own.Export, err)
	return reconcile.Result{}, err
}

func (c *Controller) remove(ctx context.Context, have *mcsv1beta1.ServiceImport) error {
	if have.UID == "" || have.DeletionTimestamp != nil {
		return nil
	}
	if err := c.writer.Delete(ctx, have); err != nil {
		return fmt.Errorf("deleting ServiceImport %s/%s: %w", have.Namespace, have.Name, err)
	}
	return nil
}

// apply writes what differs. A write that comes too late is none: a newer version is on its way.
func (c *Controller) apply(ctx context.Context, have, want *mcsv1beta1.ServiceImport) error {
	if have.DeletionTimestamp != nil {
		return nil // its being gone is the next event
	}
	if have.UID == "" {
		if err := c.writer.Create(ctx, want); err != nil {
			return fmt.Errorf("creating ServiceImport %s/%s: %w", want.Namespace, want.Name, err)
		}
		return nil
	}
	if equality.Semantic.DeepEqual(have.Spec, want.Spec) &&
		equality.Semantic.DeepEqual(have.Labels, want.Labels) &&
		equality.Semantic.DeepEqual(have.Annotations, want.Annotations) {
		return nil
	}
	updated := have.DeepCopy()
	updated.Labels, updated.Annotations, updated.Spec = want.Labels, want.Annotations, want.Spec
	// Not if the import has changed meanwhile: from an old copy the same would be written twice.
	patch := client.MergeFromWithOptions(have, client.MergeFromWithOptimisticLock{})
	err := c.local.Patch(ctx, updated, patch, client.FieldOwner(names.ManagerImport))
	if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		return fmt.Errorf("updating ServiceImport %s/%s: %w", have.Namespace, have.Name, err)
	}
	return nil
}
