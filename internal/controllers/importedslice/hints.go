package importedslice

import (
	"context"
	"fmt"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/local"
	"github.com/atoll-mcs/atoll/internal/names"
	"github.com/atoll-mcs/atoll/internal/topology"
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

// hint gives the endpoints of a part's planned slices their topology hints.
func (c *Controller) hint(ctx context.Context, req Request, imp *mcsv1beta1.ServiceImport, plan []discoveryv1.EndpointSlice) error {
	if len(plan) == 0 || !topology.Wanted(imp) {
		return nil
	}
	all, err := local.AllImportedSlices(ctx, c.local, req.Service)
	if err != nil {
		return fmt.Errorf("listing imported slices of %s: %w", req.Service, err)
	}
	ready := topology.Ready{}
	for _, s := range all {
		if s.Labels[names.LabelSourceCluster] != req.Cluster.String() {
			ready.Add(s)
		}
	}
	for i := range plan {
		ready.Add(&plan[i])
	}
	topology.Hint(plan, imp, c.viewpoint(), ready)
	return nil
}

func (c *Controller) viewpoint() topology.Viewpoint {
	return topology.Viewpoint{
		Cluster:     c.broker.Self,
		Zones:       c.zones.Sorted(),
		SharedZones: c.locality.SharedZones,
		Near: func(cluster names.ClusterID) bool {
			return c.locality.Region != "" && c.broker.Region(cluster) == c.locality.Region
		},
	}
}

// onReadiness queues all parts of a service when an imported slice has its first ready
// endpoint of a zone, or its last one gone. When the agent starts, all parts are queued
// anyway.
func (c *Controller) onReadiness() handler.TypedEventHandler[client.Object, Request] {
	none := &discoveryv1.EndpointSlice{}
	return handler.TypedFuncs[client.Object, Request]{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) {
			if !e.IsInInitialList {
				c.queueNeighbours(ctx, none, e.Object.(*discoveryv1.EndpointSlice), q)
			}
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			c.queueNeighbours(ctx, e.ObjectOld.(*discoveryv1.EndpointSlice), e.ObjectNew.(*discoveryv1.EndpointSlice), q)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) {
			c.queueNeighbours(ctx, e.Object.(*discoveryv1.EndpointSlice), none, q)
		},
	}
}

func (c *Controller) queueNeighbours(ctx context.Context, before, after *discoveryv1.EndpointSlice, q queue) {
	for _, s := range []*discoveryv1.EndpointSlice{before, after} {
		if s.Labels[discoveryv1.LabelManagedBy] != names.AgentManager {
			continue
		}
		imp := &mcsv1beta1.ServiceImport{}
		service := types.NamespacedName{Namespace: s.Namespace, Name: s.Labels[names.LabelServiceName]}
		if c.local.Get(ctx, service, imp, client.UnsafeDisableDeepCopy) != nil || !topology.Wanted(imp) {
			continue // no import: its slices go
		}
		if topology.ReadyIn(before).Equal(topology.ReadyIn(after)) {
			return
		}
		for _, part := range c.partsOf(ctx, imp) {
			q.Add(part)
		}
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
	imports := &mcsv1beta1.ServiceImportList{}
	if err := c.local.List(ctx, imports, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	var requests []Request
	for i := range imports.Items {
		if topology.Wanted(&imports.Items[i]) {
			requests = append(requests, c.partsOf(ctx, &imports.Items[i])...)
		}
	}
	return requests, nil
}
