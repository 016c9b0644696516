// Package ranges parses IP ranges and tests whether they contain addresses.
package ranges

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"unicode"
)

// Set is a set of IP ranges. The zero value is empty.
type Set struct {
	prefixes []netip.Prefix // sorted, disjoint
}

// Parse reads ranges such as 10.1.0.0/16 and fd00:1::/48, separated by commas or white space. It leaves out invalid
// ranges, and lists all of them in the error.
func Parse(text string) (Set, error) {
	var prefixes []netip.Prefix
	var mistakes []error
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }) {
		prefix, err := parseRange(word)
		if err != nil {
			mistakes = append(mistakes, err)
			continue
		}
		prefixes = append(prefixes, prefix)
	}
	return newSet(prefixes), errors.Join(mistakes...)
}

// parseRange rejects ambiguous text: one reading may permit more than intended.
func parseRange(text string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		if a, noAddress := netip.ParseAddr(text); noAddress == nil && a.Zone() == "" {
			return prefix, fmt.Errorf("%q is an address, not an address range: write %s for this address alone", text, netip.PrefixFrom(a, a.BitLen()))
		}
		return prefix, fmt.Errorf("%.50q is not an address range such as 10.1.0.0/16 or fd00:1::/48", text)
	}
	switch masked := prefix.Masked(); {
	case prefix.Addr().Is4In6():
		return prefix, fmt.Errorf("%q is an IPv4-mapped IPv6 range: write an IPv4 range such as 10.1.0.0/16", text)
	case prefix != masked:
		return prefix, fmt.Errorf("%q is an address with a prefix length: write %s for the whole range, or %s for the address alone",
			text, masked, netip.PrefixFrom(prefix.Addr(), prefix.Addr().BitLen()))
	}
	return prefix, nil
}

// newSet drops ranges that another range contains.
func newSet(prefixes []netip.Prefix) Set {
	slices.SortFunc(prefixes, func(a, b netip.Prefix) int {
		return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
	})
	var kept []netip.Prefix
	for _, p := range prefixes {
		if n := len(kept); n == 0 || !kept[n-1].Overlaps(p) {
			kept = append(kept, p)
		}
	}
	return Set{kept}
}

// Contains reports whether a range contains an address.
func (s Set) Contains(a netip.Addr) bool {
	i, found := slices.BinarySearchFunc(s.prefixes, a, func(p netip.Prefix, a netip.Addr) int { return p.Addr().Compare(a) })
	return found || i > 0 && s.prefixes[i-1].Contains(a)
}

// Equal reports whether two sets have the same ranges.
func (s Set) Equal(other Set) bool { return slices.Equal(s.prefixes, other.prefixes) }

// Texts returns the ranges, sorted; never nil.
func (s Set) Texts() []string {
	texts := make([]string, len(s.prefixes))
	for i, p := range s.prefixes {
		texts[i] = p.String()
	}
	return texts
}

// String formats the set for Parse.
func (s Set) String() string { return strings.Join(s.Texts(), ", ") }
