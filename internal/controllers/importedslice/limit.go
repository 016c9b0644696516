package importedslice

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/local"
	"github.com/atoll-mcs/atoll/internal/names"
	"github.com/atoll-mcs/atoll/internal/quota"
	"github.com/atoll-mcs/atoll/internal/sliceplan"
)

// share is how much of this cluster each other one takes up with its endpoints: a group is a
// service, an item is what comes from one slice of the source cluster's.
type share struct {
	*quota.Quota[types.NamespacedName]
	mu     sync.Mutex
	seeded bool // with what was imported before this controller began, which stays
}

func newShare(limit int) *share { return &share{Quota: quota.New[types.NamespacedName](limit)} }

// limit leaves out of an importation what goes beyond the share of its source cluster, and says
// so on the import. What is imported already stays; what is left out comes in when there is room.
func (c *Controller) limit(ctx context.Context, req Request, importation *sliceplan.Importation) error {
	if c.share.Limit() == 0 {
		return nil
	}
	if err := c.seed(ctx); err != nil {
		return err
	}
	bySource := map[string][]*discoveryv1.EndpointSlice{}
	items := []quota.Item{}
	doubted := c.broker.Doubts(req.Cluster, req.Service.Namespace) // what is missing may be there all the same
	if req.Slice != "" && !doubted {
		items = append(items, quota.Item{Name: req.Slice}) // gone, unless it is found
	}
	for _, s := range importation.Sources {
		source := s.Annotations[names.AnnotationSourceSlice]
		i := slices.IndexFunc(items, func(item quota.Item) bool { return item.Name == source })
		if i < 0 {
			i, items = len(items), append(items, quota.Item{Name: source})
		}
		items[i].Units += sliceplan.Units(s)
		bySource[source] = append(bySource[source], s)
	}
	slices.SortFunc(items, func(a, b quota.Item) int { return strings.Compare(a.Name, b.Name) })
	granted := c.share.Take(req.Cluster.String(), req.Service, items, req.Slice == "" && !doubted)
	for i, item := range items {
		if granted[i] == item.Units {
			continue
		}
		within := sliceplan.Limit(bySource[item.Name], granted[i])
		importation.Sources = slices.DeleteFunc(slices.Clone(importation.Sources), func(s *discoveryv1.EndpointSlice) bool {
			return s.Annotations[names.AnnotationSourceSlice] == item.Name
		})
		importation.Sources = append(importation.Sources, within...)
	}
	c.reportLimit(req.Part, importation)
	c.wakeNext(req.Cluster)
	return nil
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
	type source struct {
		local.Part
		slice string
	}
	units := map[source]int{}
	for i := range list.Items {
		s := &list.Items[i]
		if part := partOf(s).Part; part.Cluster != c.broker.Self {
			units[source{part, s.Annotations[names.AnnotationSourceSlice]}] += sliceplan.Units(s)
		}
	}
	for of, n := range units {
		c.share.Take(of.Cluster.String(), of.Service, []quota.Item{{Name: of.slice, Units: n}}, false)
	}
	c.share.seeded = true
	return nil
}

// release gives up the share of a part that has gone.
func (c *Controller) release(part local.Part) {
	c.share.Take(part.Cluster.String(), part.Service, nil, true)
	c.wakeNext(part.Cluster)
}

// wakeNext has a service of a cluster's be looked at for which there is room now.
func (c *Controller) wakeNext(cluster names.ClusterID) {
	if next, found := c.share.Next(cluster.String()); found {
		c.queue(Request{Part: local.Part{Service: next, Cluster: cluster}}, false)
	}
}

func (c *Controller) reportLimit(part local.Part, importation *sliceplan.Importation) {
	if !c.share.Lacks(part.Cluster.String(), part.Service) {
		c.remarks.clear(part, reasonEndpointsLimited)
		return
	}
	c.report(part, importation.Import, reasonEndpointsLimited, fmt.Sprintf(
		"Cluster %q exports more than %d endpoints times ports to this cluster. Some of this service's endpoints are left out and get no traffic from here. "+
			"Export fewer endpoints or ports there, or raise --max-endpoints-per-member of the agent here.", part.Cluster, c.share.Limit()), false)
}
