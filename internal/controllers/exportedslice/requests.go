package exportedslice

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/controllers"
	"github.com/atoll-mcs/atoll/internal/local"
	"github.com/atoll-mcs/atoll/internal/mcs/endpoints"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Request is one EndpointSlice of an exported Service, so that the work for a change does
// not grow with the Service, or all of them.
type Request struct {
	Service types.NamespacedName
	// Slice is the EndpointSlice's name in this cluster, "" for all.
	Slice string
}

// String writes the request for logs.
func (r Request) String() string {
	if r.Slice == "" {
		return r.Service.String()
	}
	return "slice " + r.Slice + " of " + r.Service.String()
}

// Register adds the controller to a manager.
func (c *Controller) Register(mgr ctrl.Manager) error {
	return builder.TypedControllerManagedBy[Request](mgr).
		Named(c.Name()).
		Watches(&mcsv1beta1.ServiceExport{}, handler.TypedEnqueueRequestsFromMapFunc(requestOf), builder.WithPredicates(controllers.SpecChanged)).
		Watches(&corev1.Service{}, handler.TypedEnqueueRequestsFromMapFunc(c.service), builder.WithPredicates(controllers.ServiceChanged)).
		WatchesRawSource(controllers.Events(c.subscribe)).
		WatchesRawSource(controllers.Events(c.followExports)).
		WatchesRawSource(controllers.Permissions(c.broker, c.all)).
		WatchesRawSource(controllers.Once(c.await, c.all)).
		WithOptions(controllers.Options[Request]()).
		Complete(c)
}

// await returns when it is known what is published, and what the hub says of it.
func (c *Controller) await(ctx context.Context) error {
	if err := c.broker.AwaitExports(ctx); err != nil {
		return err
	}
	return c.broker.AwaitPublished(ctx)
}

// followExports has requests queued when the own record ends, some time after a Service was deleted; and in advertise mode cluster-ip, where what
// is published depends on the merged type, for other clusters' exports of what this one exports.
func (c *Controller) followExports(queue func(Request, bool)) {
	c.broker.OnExport(func(e *brokerv1alpha1.ExportedService, initial bool) {
		ended := e.Spec.ClusterID == c.self.ID.String() && c.broker.OwnRecord(e.Spec.Service()) == nil &&
			c.local.Get(context.Background(), e.Spec.Service(), &mcsv1beta1.ServiceExport{}, client.UnsafeDisableDeepCopy) == nil
		if ended || c.mode == brokerv1alpha1.AdvertiseClusterIP && c.sources.Follows(e.Spec.ServiceNamespace) {
			queue(Request{Service: e.Spec.Service()}, initial)
		}
	})
}

// subscribe has requests queued for what happens to the slices on both sides.
func (c *Controller) subscribe(queue func(Request, bool)) {
	c.queue = queue
	c.progress.OnBegin(func(service types.NamespacedName) { queue(Request{Service: service}, false) })
	c.sources.OnChange(func(s *discoveryv1.EndpointSlice, initial bool) {
		service := types.NamespacedName{Namespace: s.Namespace, Name: s.Labels[discoveryv1.LabelServiceName]}
		if service.Name == "" || initial { // OnSynced follows
			return
		}
		req := Request{service, s.Name}
		there := c.sources.Get(service, s.Name) != nil
		if there {
			c.slices.Queued(service, s.Name)
		}
		c.seen.Start(req)
		queue(req, false)
		// What is published, or said, depends on all slices.
		if c.mode == brokerv1alpha1.AdvertiseClusterIP || !endpoints.Ordinary(s) || c.slices.Remarked(service) ||
			!there && !slices.ContainsFunc(c.sources.Of(service), endpoints.IsSource) {
			queue(Request{Service: service}, false)
		}
	})
	// Slices whose Service is not exported any more are found here too, after a restart.
	c.broker.OnPublished(func(s *discoveryv1.EndpointSlice, initial bool) {
		req := Request{broker.ServiceOf(s), s.Annotations[names.AnnotationSourceSlice]}
		if took, written := c.transit.Stop(req); written {
			c.metrics.Transit.Observe(took.Seconds())
		}
		queue(req, initial)
	})
	c.broker.OnPolicy(func(service types.NamespacedName, initial bool) { queue(Request{Service: service}, initial) })
	c.sources.OnSynced(func(namespace string) {
		exported, err := c.exported(context.Background(), client.InNamespace(namespace))
		if err != nil {
			return // a cache that is synced does not fail before the agent ends
		}
		for _, req := range exported {
			queue(req, true)
		}
	})
}

// requestOf maps a ServiceExport to its Service.
func requestOf(_ context.Context, object client.Object) []Request {
	return []Request{{Service: client.ObjectKeyFromObject(object)}}
}

// service maps a Service to itself. Where nothing is exported from its namespace it does not
// matter, and there are many of these.
func (c *Controller) service(_ context.Context, object client.Object) []Request {
	if !c.sources.Follows(object.GetNamespace()) {
		return nil
	}
	return []Request{{Service: client.ObjectKeyFromObject(object)}}
}

func (c *Controller) all(ctx context.Context) ([]Request, error) { return c.exported(ctx) }

// exported returns the Services whose ServiceExports opts select.
func (c *Controller) exported(ctx context.Context, opts ...client.ListOption) ([]Request, error) {
	exports, err := local.ServiceExports(ctx, c.local, opts...)
	if err != nil {
		return nil, err
	}
	requests := make([]Request, 0, len(exports))
	for _, e := range exports {
		requests = append(requests, Request{Service: e.NamespacedName})
	}
	return requests, nil
}
