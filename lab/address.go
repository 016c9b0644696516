package lab

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// IPFamily selects the families of nodes, pods and services: for all clusters of a lab or, as a list such as
// "ipv4,ipv6,dual", for c1, c2 and c3.
type IPFamily string

// The families of a cluster. A dual-stack cluster's primary family is IPv4.
const (
	IPv4 IPFamily = "ipv4"
	IPv6 IPFamily = "ipv6"
	Dual IPFamily = "dual"
)

// Check returns an error if the family or list is invalid for that many clusters.
func (f IPFamily) Check(clusters int) error {
	all := f.list()
	for _, one := range all {
		if one != IPv4 && one != IPv6 && one != Dual {
			return fmt.Errorf("%q is not ipv4, ipv6, dual, or a comma-separated list of these values", f)
		}
	}
	if len(all) != 1 && len(all) != clusters {
		return fmt.Errorf("%q must contain either one IP family or one IP family for each of the %d clusters", f, clusters)
	}
	return nil
}

// list returns the families one by one, at least one.
func (f IPFamily) list() []IPFamily {
	var all []IPFamily
	for part := range strings.SplitSeq(string(f), ",") {
		all = append(all, IPFamily(part))
	}
	return all
}

// Of returns the family of a cluster; clusters count from 1.
func (f IPFamily) Of(cluster int) IPFamily {
	all := f.list()
	if len(all) == 1 {
		return f
	}
	return all[cluster-1]
}

// union returns the family that includes all clusters' families.
func (f IPFamily) union() IPFamily {
	all := f.list()
	if slices.ContainsFunc(all, func(one IPFamily) bool { return one != all[0] }) {
		return Dual
	}
	return all[0]
}

// short writes a list of equal families as one, so that equal labs have equal shapes.
func (f IPFamily) short() IPFamily {
	if all := f.list(); len(slices.Compact(all)) == 1 {
		return all[0]
	}
	return f
}

// Limits of clusters, and of nodes per cluster, in the address plan.
const (
	maxClusters = 99
	maxNodes    = 99
)

// brokerIndex is the broker's number; clusters count from 1.
const brokerIndex = 0

// The address plan. Addresses contain the cluster and node numbers, in decimal even for IPv6, so that people can read
// them.
//
//	what       IPv4               IPv6
//	nodes      172.30.C.N/16      fd00:172:30::C:N/64
//	pods       10.C.N.0/24        fd00:10:C:N::/64
//	services   10.(100+C).0.0/16  fd00:20:C::/112

// addrs returns one address for each of the lab's families.
func (f IPFamily) addrs(v4, v6 string) []netip.Addr {
	switch f {
	case IPv4:
		return []netip.Addr{netip.MustParseAddr(v4)}
	case IPv6:
		return []netip.Addr{netip.MustParseAddr(v6)}
	}
	return []netip.Addr{netip.MustParseAddr(v4), netip.MustParseAddr(v6)}
}

func (f IPFamily) prefixes(v4, v6 string) []netip.Prefix {
	switch f {
	case IPv4:
		return []netip.Prefix{netip.MustParsePrefix(v4)}
	case IPv6:
		return []netip.Prefix{netip.MustParsePrefix(v6)}
	}
	return []netip.Prefix{netip.MustParsePrefix(v4), netip.MustParsePrefix(v6)}
}

// nodeAddrs are the addresses of a node on the fabric.
func (f IPFamily) nodeAddrs(cluster, node int) []netip.Addr {
	return f.addrs(fmt.Sprintf("172.30.%d.%d", cluster, node), fmt.Sprintf("fd00:172:30::%d:%d", cluster, node))
}

// podCIDRs are the ranges of all pods of a cluster.
func (f IPFamily) podCIDRs(cluster int) []netip.Prefix {
	return f.prefixes(fmt.Sprintf("10.%d.0.0/16", cluster), fmt.Sprintf("fd00:10:%d::/48", cluster))
}

// nodePodCIDRs are the ranges of a node's pods. Their first addresses are the node's own: the pods' gateway.
func (f IPFamily) nodePodCIDRs(cluster, node int) []netip.Prefix {
	return f.prefixes(fmt.Sprintf("10.%d.%d.0/24", cluster, node), fmt.Sprintf("fd00:10:%d:%d::/64", cluster, node))
}

// serviceCIDRs are the ranges of the services of a cluster.
func (f IPFamily) serviceCIDRs(cluster int) []netip.Prefix {
	return f.prefixes(fmt.Sprintf("10.%d.0.0/16", 100+cluster), fmt.Sprintf("fd00:20:%d::/112", cluster))
}

// dnsAddrs are the addresses of a cluster's DNS service.
func (f IPFamily) dnsAddrs(cluster int) []netip.Addr {
	return f.addrs(fmt.Sprintf("10.%d.0.10", 100+cluster), fmt.Sprintf("fd00:20:%d::a", cluster))
}

// onFabric adds the fabric's prefix length to node addresses.
func onFabric(addrs []netip.Addr) []netip.Prefix {
	prefixes := make([]netip.Prefix, len(addrs))
	for i, a := range addrs {
		prefixes[i] = netip.PrefixFrom(a, 16)
		if a.Is6() {
			prefixes[i] = netip.PrefixFrom(a, 64)
		}
	}
	return prefixes
}

// firstAddrs are the first host addresses of ranges: in a service range, the API server's service address.
func firstAddrs(prefixes []netip.Prefix) []netip.Addr {
	addrs := make([]netip.Addr, len(prefixes))
	for i, p := range prefixes {
		addrs[i] = p.Addr().Next()
	}
	return addrs
}
