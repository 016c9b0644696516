package sliceplan

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/names"
	"github.com/atoll-mcs/atoll/internal/ranges"
)

// Network is what addresses mean in the importing cluster.
type Network struct {
	// Services and Pods are the cluster's own ranges, as far as they are known.
	Services, Pods []netip.Prefix
	// IsHost tells whether an address is one of its nodes', or of its API server; nil for none.
	IsHost func(netip.Addr) bool
	// Allowed returns which addresses the broker's owner allows a cluster's endpoints to have, and false for any; nil
	// for any of all clusters.
	Allowed func(names.ClusterID) (ranges.Set, bool)
}

// ParseNetwork reads the ranges of a cluster's Services and pods.
func ParseNetwork(services, pods []string) (Network, error) {
	var n Network
	for _, list := range []struct {
		from []string
		to   *[]netip.Prefix
	}{{services, &n.Services}, {pods, &n.Pods}} {
		for _, cidr := range list.from {
			prefix, err := netip.ParsePrefix(cidr)
			if err != nil {
				return Network{}, fmt.Errorf("%q is no range of addresses such as 10.1.0.0/16: %w", cidr, err)
			}
			*list.to = append(*list.to, prefix.Masked())
		}
	}
	return n, nil
}

// Admits tells whether an address can be an endpoint of another cluster's.
func (n Network) Admits(source names.ClusterID, a netip.Addr) bool {
	family := discoveryv1.AddressTypeIPv6
	if a.Is4() {
		family = discoveryv1.AddressTypeIPv4
	}
	return n.refuses(source, family, a.String()) == ""
}

// Refusal says why the cluster IPs of a source cluster can't be imported, in words for
// the people of both clusters; it is empty where they can. They can't where a range of
// the source's Services overlaps one of this cluster's own, or one of the addresses is in
// such: traffic to them would stay here, and reach whatever has the address.
//
// member is what the source says of itself, nil where it says nothing yet. Slices of
// pods are not judged.
func (n Network) Refusal(self, source names.ClusterID, member *brokerv1alpha1.MemberCluster, sources []*discoveryv1.EndpointSlice) string {
	if !slices.ContainsFunc(sources, ByClusterIP) {
		return ""
	}
	overlaps := ""
	if member != nil {
		overlaps = n.overlaps(parse(member.Spec.ServiceCIDRs))
	}
	if overlaps == "" { // the ranges are not known, or not true
		overlaps = n.overlaps(clusterIPs(sources))
	}
	if overlaps == "" {
		return ""
	}
	return fmt.Sprintf("Cluster %q advertises its Services by their cluster IPs, which mean something else in cluster %q: %s. "+
		"Its endpoints are not imported. Give one of the two other ranges, or run the agent of %[1]q with --advertise-mode=pods if its pods can be reached.",
		source, self, overlaps)
}

// overlaps lists which of the ranges of another cluster's Services overlap own ones.
func (n Network) overlaps(theirs []netip.Prefix) string {
	var found []string
	for _, t := range theirs {
		for _, own := range []struct {
			kind   string
			ranges []netip.Prefix
		}{{"Services", n.Services}, {"pods", n.Pods}} {
			for _, o := range own.ranges {
				if t.Overlaps(o) {
					found = append(found, fmt.Sprintf("its %s overlaps the %s %s here", text(t), own.kind, o))
				}
			}
		}
	}
	const most = 4 // an Event's note has room for 1024 characters
	if more := len(found) - most; more > 0 {
		found = append(found[:most], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(found, ", ")
}

// clusterIPs returns the addresses in those slices that hold cluster IPs, in order.
func clusterIPs(sources []*discoveryv1.EndpointSlice) []netip.Prefix {
	var all []netip.Prefix
	for _, s := range sources {
		if !ByClusterIP(s) {
			continue
		}
		for _, e := range s.Endpoints {
			for _, a := range e.Addresses {
				if addr, err := netip.ParseAddr(a); err == nil {
					all = append(all, netip.PrefixFrom(addr, addr.BitLen()))
				}
			}
		}
	}
	slices.SortFunc(all, netip.Prefix.Compare)
	return all
}

// parse leaves out what is no range: what another cluster says is not trusted.
func parse(cidrs []string) []netip.Prefix {
	var all []netip.Prefix
	for _, cidr := range cidrs {
		if prefix, err := netip.ParsePrefix(cidr); err == nil {
			all = append(all, prefix.Masked())
		}
	}
	return all
}

// text writes a range of one address as the address.
func text(p netip.Prefix) string {
	if p.IsSingleIP() {
		return p.Addr().String()
	}
	return p.String()
}
