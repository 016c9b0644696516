package exportedslice

import (
	"context"
	"time"

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
	"github.com/atoll-mcs/atoll/internal/names"
	"github.com/atoll-mcs/atoll/internal/sliceplan"
)

// Request is one EndpointSlice of an exported Service, so that the work for a change does
// not grow with the Service, or all of them. Only an address that goes is looked for in the
// others' (sliceplan.Moved), which takes microseconds for each thousand of them.
type Request struct {
	Service types.NamespacedName
	// Slice is the EndpointSlice's name in this cluster, "" for all.
	Slice string
}

// whole is the request for all slices of the same Service.
func (r Request) whole() Request { return Request{Service: r.Service} }

// String writes the request for logs.
func (r Request) String() string {
	if r.Slice == "" {
		return r.Service.String()
	}
	return "slice " + r.Slice + " of " + r.Service.String()
}

// Register adds the controller to a manager.
func (c *Controller) Register(mgr ctrl.Manager) error {
	b := builder.TypedControllerManagedBy[Request](mgr).
		Named(c.Name()).
		Watches(&mcsv1beta1.ServiceExport{}, handler.TypedEnqueueRequestsFromMapFunc(c.export), builder.WithPredicates(controllers.SpecChanged)).
		Watches(&corev1.Service{}, handler.TypedEnqueueRequestsFromMapFunc(c.service), builder.WithPredicates(controllers.ServiceChanged)).
		WatchesRawSource(controllers.Events(c.subscribe)).
		WatchesRawSource(controllers.Permissions(c.broker, c.all)).
		WatchesRawSource(controllers.Once(c.await, c.all)).
		WithOptions(controllers.Options[Request]())
	if c.mode == brokerv1alpha1.AdvertiseClusterIP { // what is published depends on the merged type
		b = b.WatchesRawSource(controllers.Events(c.followExports))
	}
	return b.Complete(c)
}

// await returns when it is known what is published, and what the hub says of it.
func (c *Controller) await(ctx context.Context) error {
	if err := c.broker.AwaitExports(ctx); err != nil {
		return err
	}
	return c.broker.AwaitPublished(ctx)
}

// followExports has requests queued for other clusters' exports of what this one exports.
func (c *Controller) followExports(queue func(Request, bool)) {
	c.broker.OnExport(func(e *brokerv1alpha1.ExportedService, initial bool) {
		if e.Spec.ClusterID != c.self.ID.String() && c.sources.Follows(e.Spec.ServiceNamespace) {
			queue(Request{Service: e.Spec.Service()}, initial)
		}
	})
}

// subscribe has requests queued for what happens to the slices on both sides.
func (c *Controller) subscribe(queue func(Request, bool)) {
	c.queue = queue
	c.progress.OnBegin(func(service types.NamespacedName) { queue(Request{Service: service}, false) })
	c.sources.OnChange(func(s *discoveryv1.EndpointSlice, initial bool) {
		if service := s.Labels[discoveryv1.LabelServiceName]; service != "" {
			req := Request{types.NamespacedName{Namespace: s.Namespace, Name: service}, s.Name}
			if !initial {
				c.seen.Start(req)
			}
			queue(req, initial)
		}
	})
	// Slices whose Service is not exported any more are found here too, after a restart.
	c.broker.OnPublished(func(s *discoveryv1.EndpointSlice, initial bool) {
		req := Request{Service: broker.ServiceOf(s)}
		arrival := c.turns.Seen(req.Service, s, time.Now())
		if arrival.Took > 0 {
			c.metrics.Transit.Observe(arrival.Took.Seconds())
		}
		if arrival.Again {
			queue(req, false)
		}
		if !sliceplan.ByClusterIP(s) {
			req.Slice = s.Annotations[names.AnnotationSourceSlice]
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

// export maps a ServiceExport to its Service.
func (c *Controller) export(_ context.Context, object client.Object) []Request {
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
