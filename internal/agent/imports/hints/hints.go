// Package hints sets the topology hints of imported EndpointSlices. Hints depend on where the whole service has ready
// endpoints (by this cluster's imported slices) and on the zones of this cluster's nodes. A slice is rewritten when one
// of these changes, never because of another slice's hints.
package hints

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/agent/inputs"
	"github.com/atoll-mcs/atoll/internal/agent/local"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/ownership"
	"github.com/atoll-mcs/atoll/internal/mcs/topology"
)

// Hints holds the inputs of topology hints.
type Hints struct {
	self        names.ClusterID
	region      string
	sharedZones bool
	client      client.Reader
	zones       local.Zones
	census      topology.Census
	known       chan struct{}

	// Changes publishes the services whose slices need new hints.
	Changes kit.Changes[types.NamespacedName]

	mu      sync.Mutex
	regions map[names.ClusterID]string
	// recent are the services that were published in the last refresh; true for those to publish again then.
	recent map[types.NamespacedName]bool
}

// refresh is the minimum time between two refreshes of a service's hints because of other clusters' endpoints and regions, which may
// change all the time.
const refresh = 5 * time.Second

// New returns hints for a cluster in a region ("" if unknown). sharedZones: a zone name means one zone everywhere.
func New(self names.ClusterID, region string, sharedZones bool, reader client.Reader) *Hints {
	return &Hints{
		self: self, region: region, sharedZones: sharedZones, client: reader, known: make(chan struct{}), regions: map[names.ClusterID]string{},
		recent: map[types.NamespacedName]bool{},
	}
}

// Follow tracks this cluster's nodes and imported slices until ctx is done.
func (h *Hints) Follow(ctx context.Context, member cache.Cache) error {
	if err := kit.Follow(ctx, member, &corev1.Node{}, h.node); err != nil {
		return err
	}
	if err := kit.Follow(ctx, member, &discoveryv1.EndpointSlice{}, h.slice); err != nil {
		return err
	}
	close(h.known)
	<-ctx.Done()
	return nil
}

// Known is closed when the first nodes and slices are known. Slices that are written earlier may get wrong hints.
func (h *Hints) Known() <-chan struct{} { return h.known }

// Apply sets the hints of a slice that is about to be written.
func (h *Hints) Apply(imp *mcsv1beta1.ServiceImport, want *discoveryv1.EndpointSlice) {
	if !topology.Wanted(imp) {
		return
	}
	ready := h.census.Plan(client.ObjectKeyFromObject(imp), want)
	plan := []discoveryv1.EndpointSlice{*want}
	topology.Hint(plan, imp, topology.Viewpoint{Cluster: h.self, Zones: h.zones.Sorted(), SharedZones: h.sharedZones, Near: h.isNear}, ready)
	*want = plan[0]
}

func (h *Hints) isNear(cluster names.ClusterID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.region != "" && h.regions[cluster] == h.region
}

func (h *Hints) slice(ctx context.Context, e kit.Event[*discoveryv1.EndpointSlice]) {
	if e.Old != nil && inputs.IsImported(e.Old) && (e.New == nil || inputs.ImportService(e.Old) != inputs.ImportService(e.New)) {
		h.count(ctx, e.Old, nil)
	}
	if e.New != nil && inputs.IsImported(e.New) {
		h.count(ctx, e.New, topology.ReadyIn(e.New))
	}
}

// count records a slice's ready endpoints, and notifies if the places of the service's ready endpoints change.
func (h *Hints) count(ctx context.Context, slice *discoveryv1.EndpointSlice, ready topology.Ready) {
	if !h.census.Put(inputs.ImportService(slice), slice.Name, ready) {
		return
	}
	imp := &mcsv1beta1.ServiceImport{}
	if h.client.Get(ctx, inputs.ImportService(slice), imp, client.UnsafeDisableDeepCopy) != nil {
		return // the service's slices are deleted too
	}
	if layout.Cluster(slice) == h.self {
		h.tell(imp, always)
	} else {
		h.tell(imp, h.due)
	}
}

// due reports whether a service's hints may be refreshed now. If not, it is published when they may.
func (h *Hints) due(service types.NamespacedName) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, recent := h.recent[service]; recent {
		h.recent[service] = true
		return false
	}
	h.recent[service] = false
	time.AfterFunc(refresh, func() { h.again(service) })
	return true
}

// again publishes a service if that became necessary during the last refresh.
func (h *Hints) again(service types.NamespacedName) {
	h.mu.Lock()
	changed := h.recent[service]
	delete(h.recent, service)
	h.mu.Unlock()
	if changed && h.due(service) {
		h.Changes.Publish(service)
	}
}

func (h *Hints) node(ctx context.Context, e kit.Event[*corev1.Node]) {
	if e.Deleted() && h.zones.Remove(e.Old) || !e.Deleted() && h.zones.Put(e.New) {
		h.all(ctx, always)
	}
}

// Region sets the region of another cluster.
func (h *Hints) Region(ctx context.Context, cluster names.ClusterID, region string) {
	h.mu.Lock()
	changed := h.regions[cluster] != region
	if h.regions[cluster] = region; region == "" {
		delete(h.regions, cluster)
	}
	h.mu.Unlock()
	if changed {
		h.all(ctx, h.due)
	}
}

func always(types.NamespacedName) bool { return true }

// all notifies about all imports that are due.
func (h *Hints) all(ctx context.Context, due func(types.NamespacedName) bool) {
	imports := &mcsv1beta1.ServiceImportList{}
	if err := h.client.List(ctx, imports, client.UnsafeDisableDeepCopy); err != nil {
		return // the cache has not synced yet: its first list queues every slice
	}
	for i := range imports.Items {
		h.tell(&imports.Items[i], due)
	}
}

// tell notifies about an import that uses hints, if it is due. Before Known is closed, controllers set no hints.
func (h *Hints) tell(imp *mcsv1beta1.ServiceImport, due func(types.NamespacedName) bool) {
	select {
	case <-h.known:
	default:
		return
	}
	if ownership.IsManaged(imp) && topology.Wanted(imp) && due(client.ObjectKeyFromObject(imp)) {
		h.Changes.Publish(client.ObjectKeyFromObject(imp))
	}
}
