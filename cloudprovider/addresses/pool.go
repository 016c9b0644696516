package addresses

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/cloudprovider"
)

// Port is one port of an address.
type Port struct {
	Protocol corev1.Protocol
	Number   int32
}

// Request is the need of one load balancer.
type Request struct {
	// Families get one address each, if the pool has any of that family. Otherwise the load balancer gets an address
	// of another family.
	Families []corev1.IPFamily
	// Ports must be free on the addresses.
	Ports []Port
	// Requested are mandatory addresses: no other address of their family is assigned.
	Requested []netip.Addr
	// Former are the addresses before a restart of the program.
	Former []netip.Addr
}

// Former returns the addresses in the status of a MultiClusterService.
func Former(mcs *networkingv1alpha1.MultiClusterService) (former []netip.Addr) {
	for _, ingress := range mcs.Status.LoadBalancer.Ingress {
		if a, err := netip.ParseAddr(ingress.IP); err == nil {
			former = append(former, a)
		}
	}
	return former
}

// Pool assigns addresses to load balancers. Several may share an address on different ports, and each keeps its
// address. Its methods are safe for concurrent use.
type Pool struct {
	ranges []Range

	mu   sync.Mutex
	held map[types.NamespacedName]holding
	// former are the owners' addresses when the pool was created. They stay reserved until the owner asks again.
	former map[types.NamespacedName][]netip.Addr
	// on maps each assigned address to the owners of its ports.
	on map[netip.Addr]map[Port]types.NamespacedName
}

type holding struct {
	addresses []netip.Addr
	ports     []Port
}

// NewPool returns a pool of the provider's ranges (ParseRange). It reserves the addresses of existing load balancers.
func NewPool(c cloudprovider.Config) (*Pool, error) {
	p := &Pool{
		held: map[types.NamespacedName]holding{}, former: map[types.NamespacedName][]netip.Addr{},
		on: map[netip.Addr]map[Port]types.NamespacedName{},
	}
	for _, mcs := range c.Existing {
		p.former[cloudprovider.KeyOf(mcs)] = Former(mcs)
	}
	for _, text := range c.Addresses {
		r, err := ParseRange(text)
		if err != nil {
			return nil, fmt.Errorf("reading the addresses of load balancers: %w", err)
		}
		p.ranges = append(p.ranges, r)
	}
	return p, nil
}

// Assign gives a load balancer one address per family. It keeps assigned addresses that fit the request. On error, a
// *cloudprovider.Error, the owner keeps what it had.
func (p *Pool) Assign(owner types.NamespacedName, r Request) ([]netip.Addr, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before, had := p.held[owner]
	p.release(owner)
	var chosen []netip.Addr
	for _, family := range p.families(r) {
		a, err := p.choose(owner, family, r, before)
		if err != nil {
			if had {
				p.hold(owner, before)
			}
			return nil, err
		}
		chosen = append(chosen, a)
	}
	if len(chosen) == 0 {
		if had {
			p.hold(owner, before)
		}
		return nil, &cloudprovider.Error{Reason: cloudprovider.ReasonExhausted, Err: fmt.Errorf("the hub has no addresses for load balancers: add addresses with --lb-addresses")}
	}
	p.hold(owner, holding{chosen, slices.Clone(r.Ports)})
	return chosen, nil
}

// Release frees the addresses of a load balancer, except those it had when the pool was created.
func (p *Pool) Release(owner types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.release(owner)
}

// Forget frees all addresses of a deleted load balancer.
func (p *Pool) Forget(owner types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.release(owner)
	delete(p.former, owner)
}

// Had returns the addresses that a load balancer had when the pool was created, and whether it had any.
func (p *Pool) Had(owner types.NamespacedName) (former []netip.Addr, had bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	former, had = p.former[owner]
	return former, had
}

func (p *Pool) hold(owner types.NamespacedName, h holding) {
	p.held[owner] = h
	for _, a := range h.addresses {
		if p.on[a] == nil {
			p.on[a] = map[Port]types.NamespacedName{}
		}
		for _, port := range h.ports {
			p.on[a][port] = owner
		}
	}
}

func (p *Pool) release(owner types.NamespacedName) {
	for _, a := range p.held[owner].addresses {
		maps.DeleteFunc(p.on[a], func(_ Port, o types.NamespacedName) bool { return o == owner })
		if len(p.on[a]) == 0 {
			delete(p.on, a)
		}
	}
	delete(p.held, owner)
}

// families returns the families that need an address.
func (p *Pool) families(r Request) (families []corev1.IPFamily) {
	var available []corev1.IPFamily
	for _, each := range p.ranges {
		if f := FamilyOf(each.First); !slices.Contains(available, f) {
			available = append(available, f)
		}
	}
	for _, f := range r.Families {
		if slices.Contains(available, f) && !slices.Contains(families, f) {
			families = append(families, f)
		}
	}
	for _, a := range r.Requested {
		if f := FamilyOf(a); !slices.Contains(families, f) {
			families = append(families, f)
		}
	}
	if len(families) == 0 && len(available) > 0 {
		families = available[:1]
	}
	return families
}

func (p *Pool) choose(owner types.NamespacedName, family corev1.IPFamily, r Request, before holding) (netip.Addr, error) {
	is := func(a netip.Addr) bool { return FamilyOf(a) == family }
	if i := slices.IndexFunc(r.Requested, is); i >= 0 {
		return r.Requested[i], errors.Join(p.refuses(r.Requested[i], r.Ports), p.reserved(owner, before, r.Requested[i]))
	}
	if i := slices.IndexFunc(before.addresses, is); i >= 0 {
		// Clients know this address, so never move by ourselves.
		return before.addresses[i], p.refuses(before.addresses[i], r.Ports)
	}
	for _, a := range slices.Concat(r.Former, p.former[owner]) {
		if is(a) && p.refuses(a, r.Ports) == nil {
			return a, nil
		}
	}
	if a, found := p.freest(owner, family, r.Ports); found {
		return a, nil
	}
	return netip.Addr{}, &cloudprovider.Error{Reason: cloudprovider.ReasonExhausted, Err: fmt.Errorf(
		"no %s address for load balancers has all requested ports free: delete a MultiClusterService that uses one of the ports, or add addresses with --lb-addresses", family)}
}

// reserved says why an address is not available: its former owner has not asked for it again yet. It returns nil
// otherwise.
func (p *Pool) reserved(owner types.NamespacedName, before holding, a netip.Addr) error {
	if slices.Contains(before.addresses, a) || slices.Contains(p.former[owner], a) {
		return nil
	}
	for other, addresses := range p.former {
		if _, has := p.held[other]; !has && slices.Contains(addresses, a) {
			return &cloudprovider.Error{Reason: cloudprovider.ReasonPortConflict, Err: fmt.Errorf(
				"MultiClusterService %s already has the address %s: request another address with the annotation %s", other, a, cloudprovider.AnnotationAddress)}
		}
	}
	return nil
}

// refuses says why the ports are not available on an address.
func (p *Pool) refuses(a netip.Addr, ports []Port) error {
	if !slices.ContainsFunc(p.ranges, func(r Range) bool { return r.Contains(a) }) {
		return &cloudprovider.Error{Reason: cloudprovider.ReasonAddressRefused, Err: fmt.Errorf("address %s is not in the hub's --lb-addresses: add this address, or request a different address", a)}
	}
	for _, port := range ports {
		if owner, taken := p.on[a][port]; taken {
			return &cloudprovider.Error{Reason: cloudprovider.ReasonPortConflict, Err: fmt.Errorf(
				"MultiClusterService %s already uses port %d/%s of address %s: remove the port, or request another address with the annotation %s", owner, port.Number, port.Protocol, a, cloudprovider.AnnotationAddress)}
		}
	}
	return nil
}

// freest finds the first unused address, or else, among those with these ports free, the one with the fewest ports
// taken. It visits at most one address more than are taken or reserved, so ranges may be large.
func (p *Pool) freest(owner types.NamespacedName, family corev1.IPFamily, ports []Port) (best netip.Addr, found bool) {
	for _, r := range p.ranges {
		if FamilyOf(r.First) != family {
			continue
		}
		for a := r.First; r.Contains(a); a = a.Next() {
			if p.reserved(owner, holding{}, a) != nil {
				continue
			}
			taken := len(p.on[a])
			if taken == 0 {
				return a, true
			}
			if (!found || taken < len(p.on[best])) && p.refuses(a, ports) == nil {
				best, found = a, true
			}
		}
	}
	return best, found
}

// FamilyOf returns the IP family of an address.
func FamilyOf(a netip.Addr) corev1.IPFamily {
	if a.Is4() {
		return corev1.IPv4Protocol
	}
	return corev1.IPv6Protocol
}
