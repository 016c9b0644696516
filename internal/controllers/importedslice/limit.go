package importedslice

import (
	"context"
	"fmt"
	"sync"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/local"
	"github.com/atoll-mcs/atoll/internal/mcs/endpoints"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/quota"
)

// share is how much of this cluster each other one takes up with its endpoints: a group is a
// service, an item is what comes from one slice of the source cluster's.
type share struct {
	*quota.Quota[types.NamespacedName]
	mu     sync.Mutex
	seeded bool // with what was imported before this controller began, which stays
}

func newShare(limit int) *share { return &share{Quota: quota.New[types.NamespacedName](limit)} }

// limit leaves out of a slice what goes beyond the share of its cluster. What is imported already stays; what is left out comes in when there is
// room.
func (c *Controller) limit(ctx context.Context, req Request, source *discoveryv1.EndpointSlice) (*discoveryv1.EndpointSlice, error) {
	if c.share.Limit() == 0 {
		return source, nil
	}
	if err := c.seed(ctx); err != nil {
		return nil, err
	}
	return endpoints.Limit(source, c.take(req, endpoints.Units(source))), nil
}

// release gives up the share of a slice that is not imported any more.
func (c *Controller) release(ctx context.Context, req Request) error {
	if c.share.Limit() == 0 || req.Cluster == c.broker.Self {
		return nil
	}
	if err := c.seed(ctx); err != nil {
		return err
	}
	c.take(req, 0)
	return nil
}

// take asks for units for a slice, and has a service be looked at for which there is room now.
func (c *Controller) take(req Request, units int) (granted int) {
	granted = c.share.Take(req.Cluster.String(), req.Service, []quota.Item{{Name: req.Slice, Units: units}}, false)[0]
	if next, found := c.share.Next(req.Cluster.String()); found {
		c.queue(Request{Part: local.Part{Service: next, Cluster: req.Cluster}}, false)
	}
	return granted
}

// seed has what is imported already count before anything new does.
func (c *Controller) seed(ctx context.Context) error {
	c.share.mu.Lock()
	defer c.share.mu.Unlock()
	if c.share.seeded {
		return nil
	}
	list := &discoveryv1.EndpointSliceList{}
	if err := c.local.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing imported slices: %w", err)
	}
	for i := range list.Items {
		s := &list.Items[i]
		if part := partOf(s).Part; part.Cluster != c.broker.Self {
			c.share.Take(part.Cluster.String(), part.Service, []quota.Item{{Name: s.Annotations[names.AnnotationSourceSlice], Units: endpoints.Units(s)}}, false)
		}
	}
	c.share.seeded = true
	return nil
}
