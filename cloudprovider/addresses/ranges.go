// Package addresses assigns addresses to load balancers. Providers without their own address management use it.
package addresses

import (
	"fmt"
	"net/netip"
	"strings"
)

// Range is a range of addresses of one family, ends included.
type Range struct{ First, Last netip.Addr }

// Contains reports whether the address is in the range.
func (r Range) Contains(a netip.Addr) bool {
	return a.Is4() == r.First.Is4() && a.Compare(r.First) >= 0 && a.Compare(r.Last) <= 0
}

// ParseRange parses an address, a prefix (192.0.2.0/28) or a range (192.0.2.10-192.0.2.20). It leaves out the first
// and last address of an IPv4 prefix with more than two addresses, because hosts cannot have them.
func ParseRange(text string) (Range, error) {
	first, last, isRange := strings.Cut(text, "-")
	if isRange {
		return parseEnds(text, first, last)
	}
	if strings.Contains(text, "/") {
		return parsePrefix(text)
	}
	return parseEnds(text, text, text)
}

func parseEnds(text, first, last string) (Range, error) {
	a, errA := netip.ParseAddr(strings.TrimSpace(first))
	b, errB := netip.ParseAddr(strings.TrimSpace(last))
	if errA != nil || errB != nil || a.Is4() != b.Is4() || b.Less(a) {
		return Range{}, fmt.Errorf("%q is not an IP address, a CIDR, or a range from a lower to a higher IP address", text)
	}
	return usable(text, Range{a, b})
}

func parsePrefix(text string) (Range, error) {
	prefix, err := netip.ParsePrefix(text)
	if err != nil || prefix != prefix.Masked() {
		return Range{}, fmt.Errorf("%q is not a valid CIDR: all bits after the prefix length must be zero", text)
	}
	r := Range{prefix.Addr(), lastOf(prefix)}
	if prefix.Addr().Is4() && prefix.Bits() < 31 {
		r = Range{r.First.Next(), r.Last.Prev()}
	}
	return usable(text, r)
}

func lastOf(prefix netip.Prefix) netip.Addr {
	bytes := prefix.Addr().AsSlice()
	for bit := prefix.Bits(); bit < prefix.Addr().BitLen(); bit++ {
		bytes[bit/8] |= 0x80 >> (bit % 8)
	}
	last, _ := netip.AddrFromSlice(bytes)
	return last
}

// usable rejects addresses that belong to no single machine.
func usable(text string, r Range) (Range, error) {
	for _, a := range []netip.Addr{r.First, r.Last} {
		if a.IsUnspecified() || a.IsMulticast() || a.Zone() != "" || a.Is4In6() {
			return Range{}, fmt.Errorf("a load balancer cannot use %q: unspecified, multicast, zoned and IPv4-mapped addresses are not allowed", text)
		}
	}
	return r, nil
}
