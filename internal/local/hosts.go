package local

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// nodesAtOnce is how many nodes are read by one request.
const nodesAtOnce = 500

// ReadHosts returns the addresses of the cluster's nodes and of its API server, sorted. r reads
// past any cache: whole nodes are large.
func ReadHosts(ctx context.Context, r client.Reader) ([]netip.Addr, error) {
	var hosts []netip.Addr
	add := func(text string) {
		if address, err := netip.ParseAddr(text); err == nil { // a node has names too
			hosts = append(hosts, address)
		}
	}
	nodes := &corev1.NodeList{}
	for {
		if err := r.List(ctx, nodes, client.Limit(nodesAtOnce), client.Continue(nodes.Continue)); err != nil {
			return nil, fmt.Errorf("listing nodes: %w", err)
		}
		for _, n := range nodes.Items {
			for _, a := range n.Status.Addresses {
				add(a.Address)
			}
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
			for _, a := range e.Addresses {
				add(a)
			}
		}
	}
	slices.SortFunc(hosts, netip.Addr.Compare)
	return slices.Compact(hosts), nil
}
