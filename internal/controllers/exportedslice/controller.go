// Package exportedslice keeps the EndpointSlices of this cluster's exported Services
// on the broker.
package exportedslice

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
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
	"github.com/atoll-mcs/atoll/internal/names"
	"github.com/atoll-mcs/atoll/internal/sliceplan"
)

// Controller publishes EndpointSlices.
type Controller struct {
	local        client.Client
	broker       *broker.View
	self         local.Cluster
	writer       controllers.Writer // to the broker
	recorder     events.EventRecorder
	mode         brokerv1alpha1.AdvertiseMode
	maxEndpoints int
}

// NewController returns a controller that publishes what mode says of the cluster self, in
// slices of at most maxEndpoints endpoints.
func NewController(local client.Client, view *broker.View, self local.Cluster, recorder events.EventRecorder, mode brokerv1alpha1.AdvertiseMode, maxEndpoints int) *Controller {
	return &Controller{
		local: local, broker: view, self: self, recorder: recorder, mode: mode, maxEndpoints: maxEndpoints,
		writer: controllers.Writer{Client: view.Client, Reader: view.Client},
	}
}

// Name is the controller's name in logs and metrics.
func (c *Controller) Name() string { return "exportedslice" }

// Register adds the controller to a manager.
func (c *Controller) Register(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named(c.Name()).
		For(&mcsv1beta1.ServiceExport{}).
		Watches(&corev1.Service{}, &handler.EnqueueRequestForObject{}).
		Watches(&discoveryv1.EndpointSlice{}, handler.EnqueueRequestsFromMapFunc(sourceService)).
		// Slices whose Service is not exported any more are found here too, after a restart.
		WatchesRawSource(controllers.Events(func(add func(reconcile.Request)) {
			c.broker.OnPublished(func(s *discoveryv1.EndpointSlice) {
				add(reconcile.Request{NamespacedName: client.ObjectKey{
					Namespace: s.Labels[names.LabelServiceNamespace], Name: s.Labels[names.LabelServiceName],
				}})
			})
		})).
		WatchesRawSource(controllers.Once(c.broker.AwaitPublished, c.allExports)).
		WithOptions(controllers.Options[reconcile.Request]()).
		Complete(c)
}

// sourceService maps a slice to the Service that it belongs to. Slices that Atoll
// imported belong to derived Services, which are not exported.
func sourceService(_ context.Context, object client.Object) []reconcile.Request {
	service := object.GetLabels()[discoveryv1.LabelServiceName]
	if service == "" || object.GetLabels()[discoveryv1.LabelManagedBy] == names.AgentManager {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: object.GetNamespace(), Name: service}}}
}

func (c *Controller) allExports(ctx context.Context) ([]reconcile.Request, error) {
	return local.ServiceExports(ctx, c.local)
}

// Reconcile brings the broker's slices of one Service up to date.
func (c *Controller) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	if !c.broker.PublishedSynced() {
		return reconcile.Result{}, nil // every export is queued once it has
	}
	want, err := c.plan(ctx, req)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("planning the slices of %s: %w", req, err)
	}
	changes := sliceplan.Diff(c.broker.Published(req.NamespacedName), want)
	if err := c.writer.Slices(ctx, changes); err != nil {
		return reconcile.Result{}, fmt.Errorf("publishing endpoints of %s: %w", req, err)
	}
	return reconcile.Result{}, nil
}

func (c *Controller) plan(ctx context.Context, req reconcile.Request) ([]discoveryv1.EndpointSlice, error) {
	own, err := local.Gather(ctx, c.local, c.self, req.NamespacedName)
	if err != nil || own.Contribution == nil {
		return nil, err
	}
	sources, err := local.Slices(ctx, c.local, req.NamespacedName)
	if err != nil {
		return nil, err
	}
	for _, s := range sources {
		if sliceplan.Unsupported(s) {
			c.recorder.Eventf(own.Export, s, corev1.EventTypeWarning, "UnsupportedAddressType", "Export",
				"EndpointSlice %s holds addresses of type %s, which can't be exported.", s.Name, s.AddressType)
		}
	}
	publication := sliceplan.Publication{
		Cluster: c.broker.Self, Namespace: req.Namespace, Service: req.Name,
		BrokerNamespace: c.broker.Namespace, Sources: sources, MaxEndpoints: c.maxEndpoints,
		Ports: own.Contribution.Ports, ClusterIPs: own.Service.Spec.ClusterIPs,
	}
	// A headless Service has no cluster IP, so that its pods stand for themselves.
	if c.mode == brokerv1alpha1.AdvertiseClusterIP && own.Contribution.Type == mcsv1beta1.ClusterSetIP {
		return sliceplan.PublishClusterIPs(publication), nil
	}
	return sliceplan.Publish(publication), nil
}
