package lab

import (
	"fmt"
	"net/netip"
)

// IPFamily says which addresses nodes, pods and services of a lab have.
type IPFamily string

// The families of a lab. In a dual-stack lab IPv4 is the primary one.
const (
	IPv4 IPFamily = "ipv4"
	IPv6 IPFamily = "ipv6"
	Dual IPFamily = "dual"
)

// Most clusters, and nodes in one, that the addresses have room for.
const (
	maxClusters = 99
	maxNodes    = 99
)

// brokerIndex is the broker's place among the clusters, which count from 1.
const brokerIndex = 0

// The address plan. Cluster and node numbers are written into the addresses as
// people write them, also in IPv6, so that an address tells where it belongs.
//
//	what       IPv4               IPv6
//	nodes      172.30.C.N/16      fd00:172:30::C:N/64
//	pods       10.C.N.0/24        fd00:10:C:N::/64
//	services   10.(100+C).0.0/16  fd00:20:C::/112

// addrs returns the address of each of the lab's families.
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

// nodePodCIDRs are the ranges of the pods of a node. The first address of each
// is the node's own, the pods' gateway.
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

// onFabric gives addresses of nodes the length of the fabric's prefix.
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

// firstAddrs are the first addresses of the ranges that are not the range's own:
// the API server's service address of a service range.
func firstAddrs(prefixes []netip.Prefix) []netip.Addr {
	addrs := make([]netip.Addr, len(prefixes))
	for i, p := range prefixes {
		addrs[i] = p.Addr().Next()
	}
	return addrs
}
