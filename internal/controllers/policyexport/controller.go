// Package policyexport makes ServiceExports in this cluster where the hub's policies, which are
// projections of MultiClusterServices, ask for them, and removes those that it has made when
// they do so no longer.
package policyexport

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/controllers"
	"github.com/atoll-mcs/atoll/internal/local"
	"github.com/atoll-mcs/atoll/internal/mcs/contribution"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/status"
)

// Controller is the one that makes ServiceExports for policies, in one member cluster.
type Controller struct {
	local    client.Client
	live     client.Reader // past the copy
	broker   *broker.View
	recorder events.EventRecorder

	mu       sync.Mutex
	doubtful map[types.NamespacedName]bool // what would be removed if it were known that there is no policy
}

// NewController returns a controller that writes by local, and reads past its copy by live.
func NewController(local client.Client, live client.Reader, view *broker.View, recorder events.EventRecorder) *Controller {
	return &Controller{local: local, live: live, broker: view, recorder: recorder, doubtful: map[types.NamespacedName]bool{}}
}

// Name is the controller's name in logs and metrics.
func (c *Controller) Name() string { return "policyexport" }

// Register adds the controller to a manager.
func (c *Controller) Register(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named(c.Name()).
		Watches(&mcsv1beta1.ServiceExport{}, handler.EnqueueRequestsFromMapFunc(c.concerned)).
		Watches(&corev1.Service{}, handler.EnqueueRequestsFromMapFunc(c.concerned)).
		WatchesRawSource(controllers.Policies(c.broker)).
		WatchesRawSource(controllers.Events(func(add func(reconcile.Request, bool)) {
			c.broker.OnPoliciesComplete(func() {
				for _, service := range c.noLongerDoubtful() {
					add(reconcile.Request{NamespacedName: service}, false)
				}
			})
		})).
		WatchesRawSource(controllers.Once(c.broker.AwaitExports, c.all)).
		WithOptions(controllers.Options[reconcile.Request]()).
		Complete(c)
}

// concerned maps an object to its service, if the hub has anything to do with that.
func (c *Controller) concerned(_ context.Context, object client.Object) []reconcile.Request {
	service := client.ObjectKeyFromObject(object)
	export, ok := object.(*mcsv1beta1.ServiceExport)
	if ok && contribution.ByPolicy(export) || c.broker.Policy(service) != nil {
		return []reconcile.Request{{NamespacedName: service}}
	}
	return nil
}

// all are the services with a policy or with a ServiceExport that was made for one.
func (c *Controller) all(ctx context.Context) ([]reconcile.Request, error) {
	requests, err := local.ServiceExports(ctx, c.local, client.MatchingLabels{names.LabelManagedBy: names.AgentManager})
	for _, service := range c.broker.PolicyServices() {
		requests = append(requests, reconcile.Request{NamespacedName: service})
	}
	return requests, err
}

// Reconcile makes or removes one ServiceExport.
func (c *Controller) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	if !c.broker.ExportsSynced() {
		return reconcile.Result{}, nil // all are queued once they are
	}
	s, service, err := c.gather(ctx, req.NamespacedName)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("gathering what there is of %s: %w", req, err)
	}
	switch s.decide() {
	case doubt:
		c.mu.Lock()
		c.doubtful[req.NamespacedName] = true
		c.mu.Unlock()
		if c.broker.PoliciesComplete() { // since just now
			return reconcile.Result{RequeueAfter: time.Millisecond}, nil
		}
	case create:
		err = c.create(ctx, service)
	case remove:
		err = c.remove(ctx, s.export)
	}
	return reconcile.Result{}, err
}

// noLongerDoubtful returns what was in doubt, and has nothing be so.
func (c *Controller) noLongerDoubtful() []types.NamespacedName {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := slices.Collect(maps.Keys(c.doubtful))
	clear(c.doubtful)
	return all
}

// gather reads what there is of a service.
func (c *Controller) gather(ctx context.Context, key types.NamespacedName) (state, *corev1.Service, error) {
	s := state{self: c.broker.Self.String(), policy: c.broker.Policy(key), complete: c.broker.PoliciesComplete()}
	export, service := &mcsv1beta1.ServiceExport{}, &corev1.Service{}
	switch err := c.local.Get(ctx, key, export); {
	case err == nil:
		s.export = export
	case !apierrors.IsNotFound(err):
		return s, nil, err
	}
	if err := c.local.Get(ctx, key, service); err != nil {
		return s, nil, client.IgnoreNotFound(err)
	}
	s.exportable = service.DeletionTimestamp == nil && contribution.Validate(service).Valid
	return s, service, nil
}

// create makes a ServiceExport, unless somebody has made one at the same time.
func (c *Controller) create(ctx context.Context, service *corev1.Service) error {
	err := c.local.Create(ctx, &mcsv1beta1.ServiceExport{ObjectMeta: metav1.ObjectMeta{
		Namespace: service.Namespace, Name: service.Name,
		Labels: map[string]string{names.LabelManagedBy: names.AgentManager},
	}}, client.FieldOwner(names.ManagerPolicy))
	switch {
	case err == nil, apierrors.IsAlreadyExists(err), apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return nil
	case controllers.Refused(err):
		status.Say(c.recorder, service, nil, corev1.EventTypeWarning, "ExportRefused", "Export", fmt.Sprintf(
			"A MultiClusterService has this Service be exported from this cluster, which refuses it. It is being tried again: %s", controllers.Summary(err)))
	}
	return fmt.Errorf("creating ServiceExport %s/%s: %w", service.Namespace, service.Name, err)
}

// remove deletes the ServiceExport, if it still is as it was decided on. One that somebody has
// applied as his own too is left to him.
func (c *Controller) remove(ctx context.Context, have *mcsv1beta1.ServiceExport) error {
	export := &mcsv1beta1.ServiceExport{}
	if err := c.live.Get(ctx, client.ObjectKeyFromObject(have), export); err != nil {
		return client.IgnoreNotFound(err)
	}
	if export.UID != have.UID || !contribution.ByPolicy(export) {
		return nil // that is the next event
	}
	var err error
	if contribution.AlsoApplied(export) {
		released := export.DeepCopy()
		delete(released.Labels, names.LabelManagedBy)
		err = c.local.Patch(ctx, released, client.MergeFromWithOptions(export, client.MergeFromWithOptimisticLock{}), client.FieldOwner(names.ManagerPolicy))
	} else {
		err = c.local.Delete(ctx, export, client.Preconditions{UID: &export.UID, ResourceVersion: &export.ResourceVersion})
	}
	if err := client.IgnoreNotFound(err); err != nil {
		return fmt.Errorf("removing ServiceExport %s/%s: %w", export.Namespace, export.Name, err) // a conflict too: it is decided on again
	}
	return nil
}
