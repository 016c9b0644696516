package lab

import (
	"fmt"
	"net/netip"

	"github.com/atoll-mcs/atoll/lab/network"
)

// bridge is the name of the fabric's bridge.
const bridge = "fabric"

// makeNetwork makes the lab's namespaces and joins them: every node to the
// fabric, and each to the pods of all others and to the services of other
// clusters.
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
			if err := network.AttachBridge(l.Spec.Fabric, bridge, n.Name, n.Namespace, onFabric(n.Addresses)); err != nil {
				return err
			}
			if err := n.Namespace.AddRoutes(l.Spec.routes(c.Name, n.Name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// routes are the ways out of a node. Its own pods have routes of their own.
func (s *Spec) routes(cluster, node string) []network.Route {
	var routes []network.Route
	for _, c := range s.Clusters {
		for i, n := range c.Nodes {
			if n.Name == node {
				continue
			}
			routes = append(routes, via(n.Addresses, n.PodCIDRs)...)
			if i == 0 && c.Name != cluster { // a cluster's first node is the way to its services
				routes = append(routes, via(n.Addresses, c.ServiceCIDRs)...)
			}
		}
	}
	// A program on the node that calls a service address needs a route before
	// kube-proxy gives the packet its real destination.
	for _, a := range s.IPFamily.addrs("0.0.0.0", "::") {
		routes = append(routes, network.Route{To: netip.PrefixFrom(a, 0)})
	}
	return routes
}

// via are routes to ranges by the node's address of the same family.
func via(node []netip.Addr, ranges []netip.Prefix) []network.Route {
	var routes []network.Route
	for _, to := range ranges {
		for _, a := range node {
			if a.Is4() == to.Addr().Is4() {
				routes = append(routes, network.Route{To: to, Via: a})
			}
		}
	}
	return routes
}

// checkNamesFree makes sure that no namespace has the name of one that the lab is
// about to make: it would be somebody else's.
func (s *Spec) checkNamesFree() error {
	for _, n := range s.namespaces() {
		if n.Exists() {
			return fmt.Errorf("the network namespace %s is there already, but no lab of this user has recorded it; if it is a leftover, remove it with: ip netns delete %s", n, n)
		}
	}
	return nil
}
