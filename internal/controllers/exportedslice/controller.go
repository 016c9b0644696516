// Package exportedslice keeps the EndpointSlices of this cluster's exported Services
// on the broker. How that goes the ServiceExport's condition Ready says, which the export
// controller owns.
package exportedslice

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
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
	"github.com/atoll-mcs/atoll/internal/status"
)

// Controller publishes EndpointSlices.
type Controller struct {
	local        client.Client
	broker       *broker.View
	self         local.Cluster
	writer       controllers.Writer // to the broker
	outcomes     *status.Outcomes[types.NamespacedName]
	mode         brokerv1alpha1.AdvertiseMode
	maxEndpoints int
}

// NewController returns a controller that publishes what mode says of the cluster self, in
// slices of at most maxEndpoints endpoints, and notes for each ServiceExport how that went.
func NewController(local client.Client, view *broker.View, self local.Cluster, outcomes *status.Outcomes[types.NamespacedName], mode brokerv1alpha1.AdvertiseMode, maxEndpoints int) *Controller {
	return &Controller{
		local: local, broker: view, self: self, outcomes: outcomes, mode: mode, maxEndpoints: maxEndpoints,
		writer: controllers.Writer{Client: view.Client, Reader: view.Client, Broker: true},
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
		WatchesRawSource(controllers.Events(func(add func(reconcile.Request, bool)) {
			c.broker.OnPublished(func(s *discoveryv1.EndpointSlice, initial bool) {
				add(reconcile.Request{NamespacedName: client.ObjectKey{
					Namespace: s.Labels[names.LabelServiceNamespace], Name: s.Labels[names.LabelServiceName],
				}}, initial)
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
	own, err := local.Gather(ctx, c.local, c.self, req.NamespacedName)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("gathering export %s: %w", req, err)
	}
	published := c.broker.Published(req.NamespacedName)
	want, remarks, err := c.plan(ctx, own, published)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("planning the slices of %s: %w", req, err)
	}
	outcome := status.Outcome{Remarks: remarks}
	err = c.writer.Slices(ctx, sliceplan.Diff(published, want))
	switch {
	case err != nil:
		outcome.Failure = controllers.Summary(err)
		c.outcomes.Set(req.NamespacedName, outcome)
		return reconcile.Result{}, fmt.Errorf("publishing endpoints of %s: %w", req, err)
	case own.Export == nil:
		c.outcomes.Forget(req.NamespacedName)
	default:
		c.outcomes.Set(req.NamespacedName, outcome)
	}
	return reconcile.Result{}, nil
}

// plan returns the slices that the broker shall have, and what there is to say of them.
func (c *Controller) plan(ctx context.Context, own local.Own, published []*discoveryv1.EndpointSlice) ([]discoveryv1.EndpointSlice, []status.Remark, error) {
	if own.Contribution == nil {
		return nil, nil, nil
	}
	sources, err := local.Slices(ctx, c.local, client.ObjectKeyFromObject(own.Export))
	if err != nil {
		return nil, nil, err
	}
	publication := sliceplan.Publication{
		Cluster: c.broker.Self, Namespace: own.Export.Namespace, Service: own.Export.Name,
		BrokerNamespace: c.broker.Namespace, Sources: sources, Published: published, MaxEndpoints: c.maxEndpoints,
		Ports: own.Contribution.Ports, ClusterIPs: own.Service.Spec.ClusterIPs,
	}
	// A headless Service has no cluster IP, so that its pods stand for themselves.
	if c.mode == brokerv1alpha1.AdvertiseClusterIP && own.Contribution.Type == mcsv1beta1.ClusterSetIP {
		return sliceplan.PublishClusterIPs(publication), nil, nil
	}
	return sliceplan.Publish(publication), remarks(sources), nil
}
