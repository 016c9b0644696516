package local

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/kit"
)

// Hosts are the addresses of the cluster's nodes and API server, and the nodes' pod ranges. Other clusters' endpoints
// must not use them.
type Hosts struct {
	mu      sync.Mutex
	nodes   map[string]host
	servers []netip.Addr
	holders map[netip.Prefix]int // how many hosts have an address (a range of one) or a pod range
	bits    map[int]int          // how many pod ranges have a given length
	// Changes publishes new host addresses and pod ranges; nil if some have only gone.
	Changes kit.Changes[[]netip.Prefix]
}

type host struct {
	addresses []netip.Addr
	pods      []netip.Prefix
}

// ranges returns a host's addresses and pod ranges.
func (h host) ranges() []netip.Prefix {
	all := slices.Clone(h.pods)
	for _, a := range h.addresses {
		if p := single(a); !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return all
}

func single(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, a.BitLen()) }

func newHosts() *Hosts {
	return &Hosts{nodes: map[string]host{}, holders: map[netip.Prefix]int{}, bits: map[int]int{}}
}

// ReadHosts returns hosts with the API server's addresses, and no nodes yet.
func ReadHosts(ctx context.Context, r client.Reader) (*Hosts, error) {
	h := newHosts()
	servers := &discoveryv1.EndpointSliceList{}
	if err := r.List(ctx, servers, client.InNamespace(metav1.NamespaceDefault), client.MatchingLabels{discoveryv1.LabelServiceName: "kubernetes"}); err != nil {
		return nil, fmt.Errorf("listing the API server's addresses: %w", err)
	}
	for _, s := range servers.Items {
		for _, e := range s.Endpoints {
			h.servers = append(h.servers, parsed(e.Addresses)...)
		}
	}
	return h, nil
}

// Has reports whether an address belongs to a host.
func (h *Hosts) Has(address netip.Addr) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.holders[single(address)] > 0 || slices.Contains(h.servers, address)
}

// Pods are the nodes' pod ranges, kept current.
type Pods struct{ hosts *Hosts }

// Pods returns the nodes' pod ranges.
func (h *Hosts) Pods() Pods { return Pods{h} }

// Contains reports whether a range contains an address. It tries each length: there are few lengths, but many nodes.
func (p Pods) Contains(address netip.Addr) bool {
	p.hosts.mu.Lock()
	defer p.hosts.mu.Unlock()
	for bits := range p.hosts.bits {
		if bits > address.BitLen() {
			continue
		}
		if r, err := address.Prefix(bits); err == nil && p.hosts.holders[r] > 0 {
			return true
		}
	}
	return false
}

// All returns the ranges, in no order.
func (p Pods) All() []netip.Prefix {
	p.hosts.mu.Lock()
	defer p.hosts.mu.Unlock()
	var all []netip.Prefix
	for _, n := range p.hosts.nodes {
		all = append(all, n.pods...)
	}
	return all
}

// Node records a node that was added, changed or deleted.
func (h *Hosts) Node(_ context.Context, e kit.Event[*corev1.Node]) {
	if e.Deleted() {
		h.replace(e.Old.Name, nil)
		return
	}
	var addresses []string
	for _, a := range e.New.Status.Addresses {
		addresses = append(addresses, a.Address)
	}
	var pods []netip.Prefix
	for _, cidr := range slices.Concat([]string{e.New.Spec.PodCIDR}, e.New.Spec.PodCIDRs) {
		if p, err := netip.ParsePrefix(cidr); err == nil && !slices.Contains(pods, p.Masked()) {
			pods = append(pods, p.Masked())
		}
	}
	h.replace(e.New.Name, &host{parsed(addresses), pods})
}

// replace replaces a node; nil removes it.
func (h *Hosts) replace(name string, now *host) {
	h.mu.Lock()
	before := h.nodes[name].ranges()
	h.count(h.nodes[name].pods, -1)
	delete(h.nodes, name)
	var after, added []netip.Prefix
	if now != nil {
		h.nodes[name], after = *now, now.ranges()
		h.count(now.pods, 1)
	}
	for _, a := range after {
		if h.holders[a]++; h.holders[a] == 1 && !slices.Contains(before, a) {
			added = append(added, a)
		}
	}
	gone := false
	for _, a := range before {
		if h.holders[a]--; h.holders[a] == 0 {
			delete(h.holders, a)
			gone = true
		}
	}
	h.mu.Unlock()
	if len(added) > 0 || gone {
		h.Changes.Publish(added)
	}
}

// count counts the pod ranges of each length. The caller holds mu.
func (h *Hosts) count(pods []netip.Prefix, by int) {
	for _, p := range pods {
		if h.bits[p.Bits()] += by; h.bits[p.Bits()] == 0 {
			delete(h.bits, p.Bits())
		}
	}
}

// parsed returns the IP addresses among addresses, without duplicates: a node's addresses include names.
func parsed(texts []string) []netip.Addr {
	var addresses []netip.Addr
	for _, text := range texts {
		if a, err := netip.ParseAddr(text); err == nil && !slices.Contains(addresses, a) {
			addresses = append(addresses, a)
		}
	}
	return addresses
}
