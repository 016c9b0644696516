package local

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// nodesAtOnce is how many nodes are read by one request.
	nodesAtOnce = 500
	// hostLasts is for how long a node that has addresses is believed to keep them. It changes every
	// few minutes, as its kubelet says that it lives, and has others hardly ever.
	hostLasts = 30 * time.Minute
)

// Hosts are the addresses of the cluster's nodes and of its API server. No other cluster's
// endpoint may have one.
type Hosts struct {
	mu      sync.Mutex
	nodes   map[string]host
	servers []netip.Addr
	holders map[netip.Addr]int // how many hosts have an address
	changed []func(added []netip.Addr)
}

// host is a node as it was read.
type host struct {
	uid       types.UID
	addresses []netip.Addr
	read      time.Time
}

// ReadHosts returns the addresses that there are. r reads past any cache: whole nodes are large.
func ReadHosts(ctx context.Context, r client.Reader) (*Hosts, error) {
	h := &Hosts{nodes: map[string]host{}, holders: map[netip.Addr]int{}}
	nodes := &corev1.NodeList{}
	for {
		if err := r.List(ctx, nodes, client.Limit(nodesAtOnce), client.Continue(nodes.Continue)); err != nil {
			return nil, fmt.Errorf("listing nodes: %w", err)
		}
		for i := range nodes.Items {
			h.Put(&nodes.Items[i], time.Now())
		}
		if nodes.Continue == "" {
			break
		}
	}
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
	return h.holders[address] > 0 || slices.Contains(h.servers, address)
}

// OnChange has f called whenever an address is a host's that was none before, or is none any more;
// with those that are new.
func (h *Hosts) OnChange(f func(added []netip.Addr)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.changed = append(h.changed, f)
}

// Unread tells whether a node that has changed in any way has to be read: it is new, had no
// address yet, or was read long ago.
func (h *Hosts) Unread(node metav1.Object, now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	known := h.nodes[node.GetName()]
	return known.uid != node.GetUID() || len(known.addresses) == 0 || now.Sub(known.read) > hostLasts
}

// Put notes a node as it was read.
func (h *Hosts) Put(node *corev1.Node, now time.Time) {
	var addresses []string
	for _, a := range node.Status.Addresses {
		addresses = append(addresses, a.Address)
	}
	h.replace(node.Name, &host{node.UID, parsed(addresses), now})
}

// Remove notes a node that has gone.
func (h *Hosts) Remove(name string) { h.replace(name, nil) }

// replace has a node be another one, nil for none.
func (h *Hosts) replace(name string, now *host) {
	h.mu.Lock()
	before := h.nodes[name].addresses
	delete(h.nodes, name)
	var after, added []netip.Addr
	if now != nil {
		h.nodes[name], after = *now, now.addresses
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
