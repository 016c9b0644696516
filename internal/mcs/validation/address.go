package validation

import (
	"net/netip"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
)

// metadataServices are addresses of cloud providers' metadata services that give credentials to any client. 169.254.169.254
// is link-local besides.
var metadataServices = []netip.Addr{
	netip.MustParseAddr("100.100.100.200"),
	netip.MustParseAddr("168.63.129.16"),
	netip.MustParseAddr("fd00:ec2::254"),
	netip.MustParseAddr("fd20:ce::254"),
}

// Address parses an endpoint's address. why is the reason why no cluster's endpoint can have it, or "": the API server refuses
// it, or it has a different meaning on each node. An address that embeds another one, which gets the traffic, is refused for
// the same reasons.
func Address(family discoveryv1.AddressType, text string) (address netip.Addr, why string) {
	address, err := netip.ParseAddr(text)
	switch {
	case err != nil || address.Zone() != "":
		return address, "the value is not an IP address" // as are leading zeros, which programs interpret differently
	case address.Is4() != (family == discoveryv1.AddressTypeIPv4) || address.Is4In6():
		return address, "the address does not match the EndpointSlice's address type"
	}
	for _, a := range meanings(address) {
		if why := scopeProblem(a); why != "" {
			return address, why
		}
	}
	return address, ""
}

// scopeProblem says why an address is not a host's address in all of a cluster, "" if it is.
func scopeProblem(address netip.Addr) string {
	switch {
	case address.IsLoopback():
		return "the address is a loopback address"
	case address.IsLinkLocalUnicast():
		return "the address is a link-local address"
	case address.IsMulticast():
		return "the address is a multicast address"
	case !address.IsGlobalUnicast():
		return "the address is not a unicast address"
	}
	return ""
}

// isMetadata reports whether an address belongs to a metadata service.
func isMetadata(address netip.Addr) bool { return slices.Contains(metadataServices, address) }

// meanings returns an address and the IPv4 addresses that translators and tunnels find in it.
func meanings(address netip.Addr) []netip.Addr {
	all := []netip.Addr{address}
	if !address.Is6() {
		return all
	}
	b := address.As16()
	for _, e := range embeddings {
		if e.in.Contains(address) {
			all = append(all, netip.AddrFrom4([4]byte{b[e.at] ^ e.mask, b[e.at+1] ^ e.mask, b[e.at+2] ^ e.mask, b[e.at+3] ^ e.mask}))
		}
	}
	return all
}

// embeddings are the ranges of IPv6 addresses with an IPv4 address, its first byte, and the mask that hides it.
var embeddings = []struct {
	in   netip.Prefix
	at   int
	mask byte
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12, 0},   // RFC 6052
	{netip.MustParsePrefix("64:ff9b:1::/48"), 12, 0}, // RFC 8215, with the prefix length that networks use
	{netip.MustParsePrefix("::/96"), 12, 0},          // RFC 4291, 2.5.5.1
	{netip.MustParsePrefix("2002::/16"), 2, 0},       // RFC 7526
	{netip.MustParsePrefix("2001::/32"), 12, 0xff},   // RFC 4380
}
