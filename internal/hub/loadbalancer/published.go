package loadbalancer

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/broker/belief"
	"github.com/atoll-mcs/atoll/internal/broker/border"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/broker/view"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Published reads the members' published objects, as far as they are believed (docs/explanation/protocol.md). The hub
// caches only stubs of EndpointSlices (package border). It reads the content that load balancers need from the broker
// when the hash changes, within a budget per member. Published outlives broker connections, so backends survive a
// broker that lost its data.
type Published struct {
	// View is what is believed of the members' records.
	View *view.View
	// Changes publishes changes of what is believed, and everything when slices that did not fit may now fit.
	Changes kit.Changes[kit.Scope]

	clusterset string
	border     *border.Border
	budget     *border.Budget

	mu         sync.Mutex
	known      chan struct{} // closed when View is known in this term
	connection broker.Connection
	beliefs    *broker.Beliefs
	contents   map[types.NamespacedName]map[string]content // by service and slice name
}

// content is the content of a slice.
type content struct {
	cluster names.ClusterID
	source  types.NamespacedName
	// stub and hash identify the stub that the content belongs to.
	stub types.UID
	hash string
	// slice is nil when the budget had no room.
	slice *discoveryv1.EndpointSlice
}

// NewPublished returns the published objects of a clusterset, through a border that needs no content. budget limits
// the bytes kept per member; 0 is unlimited.
func NewPublished(clusterset string, b *border.Border, budget int64) *Published {
	p := &Published{clusterset: clusterset, border: b, contents: map[types.NamespacedName]map[string]content{}}
	p.View = view.New(clusterset, names.HubOwner, never, &p.Changes)
	p.budget = border.NewBudget(budget, func(string) { p.Changes.Publish(kit.Scope{}) })
	p.Forget()
	return p
}

// never is which members' endpoints a hub withdraws itself: it checks backends, and does not treat members as unreachable.
func never(names.ClusterID) bool { return false }

// Read sets the source for a term of leadership: a cache with the indexes of layout, and a live reader that bypasses it. It
// returns a channel that is closed when the view is known, after Follow.
func (p *Published) Read(cache, live client.Reader) (known <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.connection, p.known = broker.Connection{Cache: cache, Live: live, Border: p.border}, make(chan struct{})
	return p.known
}

// Follow has the view follow the source while this replica leads, until ctx is done.
func (p *Published) Follow(ctx context.Context, from cache.Cache) error {
	p.mu.Lock()
	known, live := p.known, p.connection.Live
	p.mu.Unlock()
	if err := p.View.Follow(ctx, view.Connection{Cache: from, Live: live, Border: p.border}); err != nil {
		return err
	}
	close(known)
	<-ctx.Done()
	return nil
}

// Forget drops all beliefs: while another hub leads, this one does not see withdrawals.
func (p *Published) Forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for service := range p.contents {
		p.free(service)
	}
	p.View.Forget()
	p.beliefs = broker.NewBeliefs(p.clusterset, belief.NewSuspicions(), never)
}

// now returns the current connection and beliefs.
func (p *Published) now() (broker.Connection, *broker.Beliefs) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.connection, p.beliefs
}

// Observe reads the members' counters if a suspicion waits for them.
func (p *Published) Observe(ctx context.Context) error {
	connection, beliefs := p.now()
	if !beliefs.Suspicions.Waiting() && !p.View.Waits() {
		return nil
	}
	began, list := time.Now(), &coordinationv1.LeaseList{}
	if err := connection.Live.List(ctx, list, client.InNamespace(p.clusterset), client.HasLabels{names.LabelSourceCluster}); err != nil {
		return fmt.Errorf("listing the members' Leases: %w", err)
	}
	counters := layout.Counters(list.Items)
	beliefs.Suspicions.Observe(began, counters)
	p.View.Observe(began, counters)
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

// of returns the published objects of a service from members that may export it. Callers must not change them.
func (p *Published) of(ctx context.Context, service types.NamespacedName) (exported, error) {
	e := exported{records: map[string]*brokerv1alpha1.ExportedService{}, refused: refusals{}}
	c, beliefs := p.now()
	exports, _ := p.View.Service(service)
	for _, export := range exports {
		e.records[export.Record.Spec.ClusterID] = export.Record
	}
	list := &discoveryv1.EndpointSliceList{}
	if err := c.Cache.List(ctx, list, client.InNamespace(p.clusterset), client.MatchingFields{layout.ByService: service.String()}, client.UnsafeDisableDeepCopy); err != nil {
		return e, fmt.Errorf("listing the objects that members publish: %w", err)
	}
	p.mu.Lock()
	all := maps.Clone(p.contents[service])
	p.mu.Unlock()
	if all == nil {
		all = map[string]content{}
	}
	for i := range list.Items {
		stub := &list.Items[i]
		if _, known := all[stub.Name]; !known {
			all[stub.Name] = content{cluster: layout.Cluster(stub), source: types.NamespacedName{Namespace: service.Namespace, Name: layout.Source(stub)}}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		have := all[name]
		if e.records[have.cluster.String()] == nil {
			if have.slice != nil {
				beliefs.Remember(have.slice, have.cluster, have.source)
			}
			p.drop(service, name)
			continue
		}
		slice, refused, err := p.slice(ctx, service, name, have)
		if err != nil {
			return e, err
		}
		if refused != "" {
			e.refused.add(have.cluster.String(), 1, refused)
		}
		if slice != nil {
			e.slices = append(e.slices, slice)
		}
	}
	return e, nil
}

// slice returns the believed content of a slice, or nil, or the reason for a refusal. have is the previous content.
func (p *Published) slice(ctx context.Context, service types.NamespacedName, name string, have content) (_ *discoveryv1.EndpointSlice, refused string, _ error) {
	c, beliefs := p.now()
	cached, err := kit.Get(ctx, c.Cache, client.ObjectKey{Namespace: p.clusterset, Name: name}, &discoveryv1.EndpointSlice{}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, "", err
	}
	verdict, found, err := beliefs.Slice(ctx, c, have.cluster, have.source, have.slice, cached, func() { p.Changes.Publish(kit.Scope{Service: service}) })
	switch {
	case err != nil:
		return nil, "", err
	case verdict == belief.Keep:
		return have.slice, "", nil
	case verdict == belief.Remove, layout.Service(found) != service:
		p.drop(service, name)
		return nil, "", nil
	}
	state, detail := p.border.State(found)
	switch state {
	case border.Refused:
		p.drop(service, name)
		return nil, detail, nil
	case border.Full: // read past the cache
		have.slice = p.keep(service, name, found, found.UID, border.Hash(found), have)
	default:
		if have.slice, err = p.read(ctx, c.Live, service, found, detail, have); err != nil {
			return nil, "", err
		}
	}
	if have.slice == nil && p.budget.Waits(name) {
		refused = "the cluster's EndpointSlices exceed the hub's --member-budget"
	}
	return have.slice, refused, nil
}

// read returns the content of a stub, or nil if the budget has no room. If the broker already has a newer version, it
// keeps the old content until the cache shows the new one.
func (p *Published) read(ctx context.Context, live client.Reader, service types.NamespacedName, stub *discoveryv1.EndpointSlice, hash string, have content) (*discoveryv1.EndpointSlice, error) {
	if have.stub == stub.UID && have.hash == hash || p.budget.Waits(stub.Name) {
		return have.slice, nil
	}
	whole, err := kit.Get(ctx, live, client.ObjectKeyFromObject(stub), &discoveryv1.EndpointSlice{})
	if err != nil || whole == nil {
		return have.slice, err
	}
	p.border.Admit(whole)
	if state, _ := p.border.State(whole); state != border.Full || layout.Service(whole) != service || layout.Revision(whole) < layout.Revision(stub) {
		return have.slice, nil
	}
	return p.keep(service, stub.Name, whole, stub.UID, hash, have), nil
}

// keep stores the content of a slice if the budget has room.
func (p *Published) keep(service types.NamespacedName, name string, slice *discoveryv1.EndpointSlice, stub types.UID, hash string, have content) *discoveryv1.EndpointSlice {
	p.mu.Lock()
	defer p.mu.Unlock()
	if have.stub, have.hash, have.slice = stub, hash, slice; !p.budget.Hold(have.cluster.String(), name, int64(slice.Size())) {
		have.stub, have.hash, have.slice = "", "", nil
	}
	if p.contents[service] == nil {
		p.contents[service] = map[string]content{}
	}
	p.contents[service][name] = have
	return have.slice
}

func (p *Published) drop(service types.NamespacedName, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.budget.Forget(name)
	if delete(p.contents[service], name); len(p.contents[service]) == 0 {
		delete(p.contents, service)
	}
}

func (p *Published) release(service types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free(service)
}

// free forgets the slices of a service. It needs mu to be held.
func (p *Published) free(service types.NamespacedName) {
	for name := range p.contents[service] {
		p.budget.Forget(name)
	}
	delete(p.contents, service)
}
