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

// Hosts are the addresses of the cluster's nodes and of its API server, and the ranges of addresses that the nodes have for pods. No
// other cluster's endpoint may have one of these.
type Hosts struct {
	mu      sync.Mutex
	nodes   map[string]host
	servers []netip.Addr
	holders map[netip.Prefix]int // how many hosts have an address, which is a range of one, or a range for pods
	bits    map[int]int          // how many of these ranges are for pods, by their length
	changed []func(added []netip.Prefix)
}

// host is a node.
type host struct {
	addresses []netip.Addr
	pods      []netip.Prefix
}

// ranges are all of a host's addresses.
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

// ReadHosts returns the addresses of the API server, which r reads, and of no nodes yet.
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

// Has tells whether an address is one of a host's.
func (h *Hosts) Has(address netip.Addr) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.holders[single(address)] > 0 || slices.Contains(h.servers, address)
}

// Pods are the ranges that the nodes have for pods, as they change.
type Pods struct{ hosts *Hosts }

// Pods returns the ranges that the nodes have for pods.
func (h *Hosts) Pods() Pods { return Pods{h} }

// Contains tells whether an address is in one of the ranges. There are few lengths of ranges, and any number of nodes.
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

// OnChange has f called whenever an address is a host's, or in a range for pods, that was not before, or is not any more;
// with the ranges that are new.
func (h *Hosts) OnChange(f func(added []netip.Prefix)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.changed = append(h.changed, f)
}

// Node notes a node that has appeared, changed or gone.
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

// replace has a node be another one, nil for none.
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
	changed := h.changed
	h.mu.Unlock()
	if len(added) == 0 && !gone {
		return
	}
	for _, f := range changed {
		f(added)
	}
}

// count keeps how many ranges for pods there are of each length. It is called with mu held.
func (h *Hosts) count(pods []netip.Prefix, by int) {
	for _, p := range pods {
		if h.bits[p.Bits()] += by; h.bits[p.Bits()] == 0 {
			delete(h.bits, p.Bits())
		}
	}
}

// parsed returns what of addresses are IP addresses, each once: a node has names too.
func parsed(texts []string) []netip.Addr {
	var addresses []netip.Addr
	for _, text := range texts {
		if a, err := netip.ParseAddr(text); err == nil && !slices.Contains(addresses, a) {
			addresses = append(addresses, a)
		}
	}
	return addresses
}
