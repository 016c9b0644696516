package loadbalancer

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// hostsInterval is how often Hosts are read. Addresses of nodes and API servers rarely change.
	hostsInterval = time.Minute
	// lookUpTimeout limits the DNS lookup of the API server.
	lookUpTimeout = 5 * time.Second
	// apiServer is the name of the API server's Service and EndpointSlice in the namespace default.
	apiServer = "kubernetes"
)

// Hosts are the addresses of the hub's machine and API server. No backend may have one: its load balancer would expose
// services that only the machine or cluster may reach.
type Hosts struct {
	reader  client.Reader
	config  *rest.Config // of the API server
	node    []netip.Addr // the pod cannot see its node's addresses itself
	cluster *OwnCluster
	log     *slog.Logger

	mu      sync.Mutex
	known   map[netip.Addr]bool
	changed func()
}

// ReadHosts returns the current addresses. reader bypasses caches, config is of the API server, node are addresses of
// the hub's node, cluster is the hub's cluster.
func ReadHosts(ctx context.Context, reader client.Reader, config *rest.Config, node []netip.Addr, cluster *OwnCluster, log *slog.Logger) (*Hosts, error) {
	h := &Hosts{reader: reader, config: config, node: node, cluster: cluster, log: log, changed: func() {}}
	return h, h.read(ctx)
}

// Start keeps the addresses current until ctx is done. On an error it keeps the previous ones.
func (h *Hosts) Start(ctx context.Context) error {
	tick := time.NewTicker(hostsInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := h.read(ctx); err != nil && ctx.Err() == nil {
			h.log.Warn("Failed to read the addresses of the hub's machine and API server. The hub retries, and checks backends against the addresses that it read before", "error", err)
		}
	}
}

// Has reports whether Hosts contains an address.
func (h *Hosts) Has(address netip.Addr) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.known[address]
}

// OnChange sets the only function that is called when the addresses change, or those of the hub's cluster.
func (h *Hosts) OnChange(f func()) {
	h.cluster.mu.Lock()
	h.cluster.changed = f
	h.cluster.mu.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.changed = f
}

func (h *Hosts) read(ctx context.Context) error {
	own, err := net.InterfaceAddrs()
	if err != nil {
		return fmt.Errorf("reading this machine's addresses: %w", err)
	}
	service, slice := &corev1.Service{}, &discoveryv1.EndpointSlice{}
	for _, object := range []client.Object{service, slice} {
		key := client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: apiServer}
		if err := client.IgnoreNotFound(h.reader.Get(ctx, key, object)); err != nil {
			return fmt.Errorf("reading the API server's addresses (%T %s): %w", object, key, err)
		}
	}
	ofCluster, err := h.cluster.readServices(ctx)
	if err != nil {
		return err
	}
	found := hostAddresses(own, service, slice, h.node)
	server, err := h.lookUp(ctx)
	for _, a := range server {
		found[a.Unmap()] = true
	}
	h.mu.Lock()
	if err != nil { // a proxy may resolve the name instead; keep the previous addresses
		maps.Copy(found, h.known)
	}
	same, changed := maps.Equal(found, h.known), h.changed
	h.known = found
	h.mu.Unlock()
	if !same || ofCluster {
		changed()
	}
	return nil
}

// hostAddresses collects the addresses of a machine's interfaces, an API server's Service and EndpointSlice, and
// others.
func hostAddresses(interfaces []net.Addr, service *corev1.Service, slice *discoveryv1.EndpointSlice, others []netip.Addr) map[netip.Addr]bool {
	found := map[netip.Addr]bool{}
	for _, a := range interfaces {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil {
			found[prefix.Addr().Unmap()] = true
		}
	}
	texts := service.Spec.ClusterIPs
	for _, e := range slice.Endpoints {
		texts = append(texts, e.Addresses...)
	}
	for _, text := range texts {
		if a, err := netip.ParseAddr(text); err == nil {
			found[a.Unmap()] = true
		}
	}
	for _, a := range others {
		found[a.Unmap()] = true
	}
	return found
}

// lookUp resolves the host of the API server.
func (h *Hosts) lookUp(ctx context.Context) ([]netip.Addr, error) {
	server, _, err := rest.DefaultServerUrlFor(h.config)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, lookUpTimeout)
	defer cancel()
	return net.DefaultResolver.LookupNetIP(ctx, "ip", server.Hostname())
}
