package endpoints

import (
	"fmt"
	"net/netip"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
)

// OverlappingRanges says why the cluster IPs of a source cluster can't be imported, in words for
// the people of both clusters; it is empty where they can. They can't where a range of
// the source's Services overlaps one of this cluster's own, or one of the addresses is in
// such: traffic to them would stay here, and reach whatever has the address.
//
// member is what the source says of itself, nil where it says nothing yet. Slices of
// pods never overlap.
func OverlappingRanges(n validation.Network, self, source names.ClusterID, member *brokerv1alpha1.MemberCluster, slice *discoveryv1.EndpointSlice) string {
	if !ByClusterIP(slice) {
		return ""
	}
	overlaps := ""
	if member != nil {
		overlaps = n.Overlaps(parse(member.Spec.ServiceCIDRs))
	}
	if overlaps == "" { // the ranges are not known, or not true
		overlaps = n.Overlaps(addresses(slice))
	}
	if overlaps == "" {
		return ""
	}
	return fmt.Sprintf("Cluster %q advertises its Services by their cluster IPs, which mean something else in cluster %q: %s. "+
		"Its endpoints are not imported. Give one of the two other ranges, or run the agent of %[1]q with --advertise-mode=pods if its pods can be reached.",
		source, self, overlaps)
}

// addresses returns a slice's addresses, in order.
func addresses(slice *discoveryv1.EndpointSlice) []netip.Prefix {
	var all []netip.Prefix
	for i := range slice.Endpoints {
		if addr, err := netip.ParseAddr(address(&slice.Endpoints[i])); err == nil {
			all = append(all, netip.PrefixFrom(addr, addr.BitLen()))
		}
	}
	slices.SortFunc(all, netip.Prefix.Compare)
	return all
}

// parse leaves out what is not a range: what another cluster says is not trusted.
func parse(cidrs []string) []netip.Prefix {
	var all []netip.Prefix
	for _, cidr := range cidrs {
		if prefix, err := netip.ParsePrefix(cidr); err == nil {
			all = append(all, prefix.Masked())
		}
	}
	return all
}
