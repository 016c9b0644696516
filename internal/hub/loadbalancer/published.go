package loadbalancer

import (
	"context"
	"fmt"
	"sync"

	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/border"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/broker/permissions"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Published is what members have published. The hub's cache has stubs of their EndpointSlices (package border): the content of those that load balancers
// need is read from the broker when its hash changes, and kept within a budget for each member.
type Published struct {
	cache, live client.Reader
	clusterset  string
	border      *border.Border
	budget      *border.Budget
	permissions func() permissions.Members

	// room is called when there is room for slices that had none.
	room func()

	mu sync.Mutex
	// contents are those that have been read, by name.
	contents map[string]content
}

type content struct {
	service types.NamespacedName
	stub    types.UID
	hash    string
	slice   *discoveryv1.EndpointSlice
}

// NewPublished returns what the members of a clusterset have published. cache has the indexes of layout and the transform of a border that needs no content;
// live reads past it. No more than budget bytes of each member are kept, 0 for any number.
func NewPublished(cache, live client.Reader, clusterset string, b *border.Border, budget int64, permitted func() permissions.Members) *Published {
	p := &Published{cache: cache, live: live, clusterset: clusterset, border: b, permissions: permitted, contents: map[string]content{}, room: func() {}}
	p.budget = border.NewBudget(budget, func(string) { p.room() })
	return p
}

// exported is what members have published of a service.
type exported struct {
	slices []*discoveryv1.EndpointSlice
	// records are by cluster, nil for a cluster that has no valid one.
	records map[string]*brokerv1alpha1.ExportedService
	// refused counts the slices that are refused as a whole.
	refused refusals
}

// of returns what members have published of a service, of those that may export it. It must not be changed.
func (p *Published) of(ctx context.Context, service types.NamespacedName) (exported, error) {
	e := exported{records: map[string]*brokerv1alpha1.ExportedService{}, refused: refusals{}}
	list, permitted := &discoveryv1.EndpointSliceList{}, p.permissions()
	if err := p.cache.List(ctx, list, client.InNamespace(p.clusterset), client.MatchingFields{layout.ByService: service.String()}, client.UnsafeDisableDeepCopy); err != nil {
		return e, fmt.Errorf("listing what members publish: %w", err)
	}
	for i := range list.Items {
		slice := &list.Items[i]
		cluster := clusterOf(slice)
		if !permitted.MayExport(names.ClusterID(cluster), service.Namespace) {
			continue
		}
		if _, known := e.records[cluster]; !known {
			record, err := p.record(ctx, names.ClusterID(cluster), service)
			if err != nil {
				return e, err
			}
			e.records[cluster] = record
		}
		if record := e.records[cluster]; record != nil && p.state(record) == border.Withdrawn {
			continue
		}
		switch state, detail := p.border.State(slice); state {
		case border.Refused:
			e.refused.add(cluster, 1, detail)
		case border.Stub:
			whole, err := p.read(ctx, slice, detail, service)
			if err != nil {
				return e, err
			}
			if whole != nil {
				e.slices = append(e.slices, whole)
			} else if p.budget.Waits(slice.Name) {
				e.refused.add(cluster, 1, "the hub keeps no more of its EndpointSlices: see --member-budget")
			}
		}
	}
	return e, nil
}

// record returns a cluster's record, nil if there is no valid one.
func (p *Published) record(ctx context.Context, cluster names.ClusterID, service types.NamespacedName) (*brokerv1alpha1.ExportedService, error) {
	record := &brokerv1alpha1.ExportedService{}
	key := client.ObjectKey{Namespace: p.clusterset, Name: names.Export(cluster, service.Namespace, service.Name)}
	if err := p.cache.Get(ctx, key, record, client.UnsafeDisableDeepCopy); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if p.state(record) == border.Refused {
		return nil, nil
	}
	return record, nil
}

// state is an object's, without its detail.
func (p *Published) state(object client.Object) border.State {
	state, _ := p.border.State(object)
	return state
}

// read returns the content of a stub. It returns nil if there is none, or no room for it.
func (p *Published) read(ctx context.Context, stub *discoveryv1.EndpointSlice, hash string, service types.NamespacedName) (*discoveryv1.EndpointSlice, error) {
	p.mu.Lock()
	have := p.contents[stub.Name]
	p.mu.Unlock()
	if have.stub == stub.UID && have.hash == hash {
		return have.slice, nil
	}
	if p.budget.Waits(stub.Name) {
		return nil, nil
	}
	whole := &discoveryv1.EndpointSlice{}
	if err := p.live.Get(ctx, client.ObjectKeyFromObject(stub), whole); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil // as the cache is about to show
		}
		return nil, fmt.Errorf("reading an EndpointSlice: %w", err)
	}
	p.border.Admit(whole)
	if p.state(whole) != border.Full || layout.Service(whole) != service {
		return nil, nil // it has changed, as the cache is about to show
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if delete(p.contents, stub.Name); !p.budget.Hold(clusterOf(whole), stub.Name, int64(whole.Size())) {
		return nil, nil
	}
	// Of one that has changed since, the cache is about to show another hash.
	p.contents[stub.Name] = content{service: service, stub: stub.UID, hash: hash, slice: whole}
	return whole, nil
}

// changed notes a change of a slice, and returns the services that it is about.
func (p *Published) changed(e kit.Event[*discoveryv1.EndpointSlice]) (services []types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e.Deleted() || p.state(e.New) != border.Stub {
		p.forget(e.Latest().Name)
	}
	for _, version := range e.Versions() {
		services = append(services, layout.Service(version))
	}
	return services
}

// release forgets what has been read of a service.
func (p *Published) release(service types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, have := range p.contents {
		if have.service == service {
			p.forget(name)
		}
	}
}

// forget is called with mu held.
func (p *Published) forget(name string) {
	delete(p.contents, name)
	p.budget.Forget(name)
}
