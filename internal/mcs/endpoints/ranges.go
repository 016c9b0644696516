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

// OverlappingRanges says why the cluster IPs of a source cluster cannot be imported, "" if they can. A range of the
// source's Services, or one of the addresses, may overlap this cluster's ranges. Its traffic would then stay here, and
// reach a wrong backend.
//
// member is the source's MemberCluster, or nil. Slices of pods never overlap.
func OverlappingRanges(n validation.Network, self, source names.ClusterID, member *brokerv1alpha1.MemberCluster, slice *discoveryv1.EndpointSlice) string {
	if !ByClusterIP(slice) {
		return ""
	}
	overlaps := ""
	if member != nil {
		overlaps = n.Overlaps(parse(member.Spec.ServiceCIDRs))
	}
	if overlaps == "" { // the ranges are unknown or wrong
		overlaps = n.Overlaps(addresses(slice))
	}
	if overlaps == "" {
		return ""
	}
	return fmt.Sprintf("The endpoints of cluster %q are not imported, because the cluster advertises cluster IPs that are also in use in cluster %q: %s. "+
		"Change the address ranges of one of the two clusters. If other clusters can reach the pods of %[1]q, run its agent with --advertise-mode=pods instead.",
		source, self, overlaps)
}

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

// parse drops invalid ranges, because other clusters are not trusted.
func parse(cidrs []string) []netip.Prefix {
	var all []netip.Prefix
	for _, cidr := range cidrs {
		if prefix, err := netip.ParsePrefix(cidr); err == nil {
			all = append(all, prefix.Masked())
		}
	}
	return all
}
