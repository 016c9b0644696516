package lab

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/atoll-mcs/atoll/lab/network"
)

const bridge = "fabric"

// makeNetwork creates the lab's namespaces and routes: every node reaches the fabric, other clusters' services, and the
// pods of clusters that do not hide them.
func (l *Lab) makeNetwork() error {
	for _, n := range l.Spec.namespaces() {
		if err := n.Create(); err != nil {
			return err
		}
	}
	if err := l.Spec.Fabric.CreateBridge(bridge); err != nil {
		return err
	}
	for _, c := range l.Spec.Clusters {
		for _, n := range c.Nodes {
			addresses := n.Addresses
			if l.Spec.Hub && c.Name == Broker {
				embedded, haproxy := n.balancerAddresses()
				addresses = slices.Concat(addresses, embedded, haproxy)
			}
			if err := network.AttachBridge(l.Spec.Fabric, bridge, n.Name, n.Namespace, onFabric(addresses)); err != nil {
				return err
			}
			if err := n.Namespace.AddRoutes(l.Spec.routes(c.Name, &n)); err != nil {
				return err
			}
			if err := c.egress(n.Namespace); err != nil {
				return err
			}
		}
	}
	return nil
}

// routes are a node's routes in its families. Its own pods have separate routes.
func (s *Spec) routes(cluster string, node *Node) []network.Route {
	var routes []network.Route
	for _, c := range s.Clusters {
		for i, n := range c.Nodes {
			if n.Name == node.Name {
				continue
			}
			if c.Name == cluster || !c.hidesPods() {
				routes = append(routes, via(node, &n, n.PodCIDRs)...)
			}
			if i == 0 && c.Name != cluster { // a cluster's first node routes to its services
				routes = append(routes, via(node, &n, c.ServiceCIDRs)...)
			}
		}
	}
	// A program on the node needs a route to a service address before kube-proxy rewrites the packet's destination.
	for _, a := range node.Addresses {
		everywhere, _ := a.Prefix(0)
		routes = append(routes, network.Route{To: everywhere})
	}
	return routes
}

// via are a node's routes to ranges through another node, in the families that both have.
func via(node, other *Node, ranges []netip.Prefix) []network.Route {
	var routes []network.Route
	for _, to := range ranges {
		same := func(a netip.Addr) bool { return a.Is4() == to.Addr().Is4() }
		if i := slices.IndexFunc(other.Addresses, same); i >= 0 && slices.ContainsFunc(node.Addresses, same) {
			routes = append(routes, network.Route{To: to, Via: other.Addresses[i]})
		}
	}
	return routes
}

// checkNamesFree returns an error if a namespace of the lab already exists: another program created it.
func (s *Spec) checkNamesFree() error {
	for _, n := range s.namespaces() {
		if n.Exists() {
			return fmt.Errorf("the network namespace %s already exists, but belongs to no lab of this user; if the namespace is a leftover, remove it with: ip netns delete %s", n, n)
		}
	}
	return nil
}
