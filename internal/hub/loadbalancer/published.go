package loadbalancer

import (
	"context"
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/border"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/broker/view"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Published is what members publish, as far as it is believed (docs/explanation/protocol.md). It has the content of
// the EndpointSlices that load balancers need, within a budget per member. It outlives broker connections, so backends
// survive a broker that lost its data.
type Published struct {
	// View is what is believed; it wants the services with load balancers. Changes publishes its changes.
	View    *view.View
	Changes kit.Changes[kit.Scope]

	clusterset string
	budget     border.Limits

	mu     sync.Mutex
	known  chan struct{} // closed when View is known in this term
	live   client.Reader
	border *border.Border
}

// NewPublished returns the published objects of a clusterset. budget limits what is held of members' EndpointSlices.
func NewPublished(clusterset string, budget border.Limits) *Published {
	p := &Published{clusterset: clusterset, budget: budget}
	p.View = view.New(clusterset, names.HubOwner, never, &p.Changes)
	return p
}

// Border returns the border of a term, which the caches of the clusterset's objects must use.
func (p *Published) Border() *border.Border {
	return border.New(names.HubOwner, p.View.Wants, border.NewBudget(p.budget, p.View.Room))
}

// never is which members' endpoints a hub withdraws itself: it checks backends, and does not treat members as unreachable.
func never(names.ClusterID) bool { return false }

// Read sets the border of a term, and its reader, which bypasses caches. It returns a channel that is closed when the view is
// known, after Follow.
func (p *Published) Read(accepts *border.Border, live client.Reader) (known <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.border, p.live, p.known = accepts, live, make(chan struct{})
	return p.known
}

// Follow has the view follow a cache while this replica leads, until ctx is done.
func (p *Published) Follow(ctx context.Context, from cache.Cache) error {
	p.mu.Lock()
	known, live, accepts := p.known, p.live, p.border
	p.mu.Unlock()
	if err := p.View.Follow(ctx, view.Connection{Cache: from, Live: live, Border: accepts}); err != nil {
		return err
	}
	close(known)
	<-ctx.Done()
	return nil
}

// Observe reads the members' counters if a suspicion waits for them.
func (p *Published) Observe(ctx context.Context) error {
	if !p.View.Waits() {
		return nil
	}
	p.mu.Lock()
	live := p.live
	p.mu.Unlock()
	began, list := time.Now(), &coordinationv1.LeaseList{}
	if err := live.List(ctx, list, client.InNamespace(p.clusterset), client.HasLabels{names.LabelSourceCluster}); err != nil {
		return fmt.Errorf("listing the members' Leases: %w", err)
	}
	p.View.Observe(began, layout.Counters(list.Items))
	return nil
}

// exported is the published state of a service.
type exported struct {
	slices []*discoveryv1.EndpointSlice
	// records are keyed by cluster.
	records map[string]*brokerv1alpha1.ExportedService
	// refused counts the slices that were refused as a whole.
	refused refusals
}

// of returns the published objects of a service from members that may export it, and whether all are known; if not, a change
// of the service follows. Callers must not change them.
func (p *Published) of(service types.NamespacedName) (e exported, known bool) {
	e = exported{records: map[string]*brokerv1alpha1.ExportedService{}, refused: refusals{}}
	records, _ := p.View.Service(service)
	for _, record := range records {
		e.records[record.Spec.ClusterID] = record
	}
	for _, key := range p.View.SlicesOf(service) {
		if e.records[key.Member.String()] == nil {
			continue
		}
		slice, known := p.View.Slice(key.Member, key.Slice)
		switch {
		case !known:
			return e, false
		case slice == nil:
		case slice.State == border.Refused:
			e.refused.add(key.Member.String(), 1, slice.Detail)
		case slice.State == border.OverLimit:
			e.refused.add(key.Member.String(), 1, "the cluster's EndpointSlices exceed the hub's --member-budget")
		case slice.State == border.Full:
			e.slices = append(e.slices, slice.Value)
		}
	}
	return e, true
}
