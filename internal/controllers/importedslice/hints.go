package importedslice

import (
	"context"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/topology"
)

// The hints of one part depend on where the whole service has ready endpoints. Of the
// other parts, the slices in this cluster say it, which is what its kube-proxies see.
// So a part is reconciled again when that changes, and never for the hints of others.

// Locality is what a person says of where this cluster is.
type Locality struct {
	// Region is this cluster's, empty where it is unknown.
	Region string
	// SharedZones says that zones of the same name are one zone in all clusters.
	SharedZones bool
}

// queue takes requests.
type queue = workqueue.TypedRateLimitingInterface[Request]

// hint gives the endpoints of a planned slice their topology hints.
func (c *Controller) hint(req Request, imp *mcsv1beta1.ServiceImport, want *discoveryv1.EndpointSlice) {
	if !topology.Wanted(imp) {
		return
	}
	ready := c.census.Without(req.Service, want.Name)
	ready.Add(want)
	plan := []discoveryv1.EndpointSlice{*want}
	topology.Hint(plan, imp, c.viewpoint(), ready)
	*want = plan[0]
}

func (c *Controller) viewpoint() topology.Viewpoint {
	return topology.Viewpoint{
		Cluster:     c.broker.Self,
		Zones:       c.zones.Sorted(),
		SharedZones: c.options.Locality.SharedZones,
		Near: func(cluster names.ClusterID) bool {
			return c.options.Locality.Region != "" && c.broker.Region(cluster) == c.options.Locality.Region
		},
	}
}

// onImported queues what an imported slice was made of, and all parts of its service when
// with it the service has its first ready endpoint of a zone, or its last one gone. When the
// agent starts, all parts are queued anyway.
func (c *Controller) onImported() handler.TypedEventHandler[client.Object, Request] {
	return handler.TypedFuncs[client.Object, Request]{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) {
			slice := e.Object.(*discoveryv1.EndpointSlice)
			moved := c.count(slice, topology.ReadyIn(slice))
			if e.IsInInitialList {
				q.Add(partOf(slice))
				return
			}
			c.queueSlice(ctx, slice, moved, q)
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			before, after := e.ObjectOld.(*discoveryv1.EndpointSlice), e.ObjectNew.(*discoveryv1.EndpointSlice)
			if partOf(before) != partOf(after) { // somebody has changed its labels
				c.queueSlice(ctx, before, c.count(before, nil), q)
			}
			c.queueSlice(ctx, after, c.count(after, topology.ReadyIn(after)), q)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) {
			slice := e.Object.(*discoveryv1.EndpointSlice)
			c.queueSlice(ctx, slice, c.count(slice, nil), q)
		},
	}
}

// count notes where an imported slice has ready endpoints, and returns whether that changes
// where its service has.
func (c *Controller) count(slice *discoveryv1.EndpointSlice, ready topology.Ready) (changed bool) {
	return c.census.Put(serviceOf(slice), slice.Name, ready)
}

func serviceOf(slice *discoveryv1.EndpointSlice) types.NamespacedName {
	return partOf(slice).Service
}

func (c *Controller) queueSlice(ctx context.Context, slice *discoveryv1.EndpointSlice, moved bool, q queue) {
	req := partOf(slice)
	req.Slice = slice.Annotations[names.AnnotationSourceSlice]
	q.Add(req)
	if !moved {
		return
	}
	imp := &mcsv1beta1.ServiceImport{}
	if c.local.Get(ctx, req.Service, imp, client.UnsafeDisableDeepCopy) != nil || !topology.Wanted(imp) {
		return // no import: its slices go
	}
	for _, part := range c.partsOf(ctx, imp) {
		q.Add(part)
	}
}

// onNode follows the zones of the cluster's nodes. When the agent starts, all parts are
// queued anyway, and reconciled after the nodes are known.
func (c *Controller) onNode() handler.TypedEventHandler[client.Object, Request] {
	moved := func(ctx context.Context, q queue) {
		parts, err := c.hintedParts(ctx)
		if err != nil {
			return // the agent ends; a cache that is synced does not fail before
		}
		for _, part := range parts {
			q.Add(part)
		}
	}
	return handler.TypedFuncs[client.Object, Request]{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) {
			if c.zones.Put(e.Object) && !e.IsInInitialList {
				moved(ctx, q)
			}
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			if c.zones.Put(e.ObjectNew) {
				moved(ctx, q)
			}
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) {
			if c.zones.Remove(e.Object) {
				moved(ctx, q)
			}
		},
	}
}

// hintedParts returns the parts of all services whose endpoints get hints.
func (c *Controller) hintedParts(ctx context.Context) ([]Request, error) {
	return c.eachImport(ctx, func(imp *mcsv1beta1.ServiceImport) []Request {
		if !topology.Wanted(imp) {
			return nil
		}
		return c.partsOf(ctx, imp)
	})
}
