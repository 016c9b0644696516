package validation

import (
	"net/netip"

	discoveryv1 "k8s.io/api/discovery/v1"
)

// reserved are ranges that no cluster's endpoints use, with a description.
var reserved = []struct {
	prefix netip.Prefix
	what   string
}{
	// Cloud metadata services, which give credentials to any client. 169.254.169.254 is also link-local.
	{netip.MustParsePrefix("100.100.100.200/32"), "the address of a cloud provider's metadata service"},
	{netip.MustParsePrefix("168.63.129.16/32"), "the address of a cloud provider's metadata service"},
	{netip.MustParsePrefix("fd00:ec2::254/128"), "the address of a cloud provider's metadata service"},
	{netip.MustParsePrefix("fd20:ce::254/128"), "the address of a cloud provider's metadata service"},
	// Addresses that embed another address, which gets the traffic and may be a refused one.
	{netip.MustParsePrefix("64:ff9b::/96"), "a NAT64 address"},              // RFC 6052
	{netip.MustParsePrefix("64:ff9b:1::/48"), "a NAT64 address"},            // RFC 8215
	{netip.MustParsePrefix("::/96"), "an IPv4-compatible address"},          // RFC 4291, 2.5.5.1
	{netip.MustParsePrefix("2002::/16"), "a 6to4 address"},                  // RFC 7526
	{netip.MustParsePrefix("2001::/32"), "a Teredo address"},                // RFC 4380
	{netip.MustParsePrefix("0.0.0.0/8"), "in the reserved range 0.0.0.0/8"}, // RFC 1122, 3.2.1.3
	{netip.MustParsePrefix("240.0.0.0/4"), "a reserved address"},            // RFC 1112, 4
}

// Address parses an endpoint's address. why is the reason why no cluster's endpoint can have it, or "".
func Address(family discoveryv1.AddressType, text string) (address netip.Addr, why string) {
	address, err := netip.ParseAddr(text)
	switch {
	case err != nil || address.Zone() != "":
		return address, "the value is not an IP address" // as are leading zeros, which programs interpret differently
	case address.Is4() != (family == discoveryv1.AddressTypeIPv4) || address.Is4In6():
		return address, "the address does not match the EndpointSlice's address type"
	case address.IsLoopback():
		return address, "the address is a loopback address"
	case address.IsLinkLocalUnicast():
		return address, "the address is a link-local address"
	case address.IsMulticast():
		return address, "the address is a multicast address"
	case !address.IsGlobalUnicast():
		return address, "the address is not a unicast address"
	}
	for _, s := range reserved {
		if s.prefix.Contains(address) {
			return address, "the address is " + s.what
		}
	}
	return address, ""
}
