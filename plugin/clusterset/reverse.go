package clusterset

import (
	"cmp"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/miekg/dns"
)

// arpa are the domains that reverse zones are in, and how many labels the name of a whole
// address has.
const (
	arpa4, whole4 = "in-addr.arpa.", 6
	arpa6, whole6 = "ip6.arpa.", 34
)

// isReverse reports whether a zone, lower case and fully qualified, holds PTR records.
func isReverse(zone string) bool {
	for _, domain := range []string{arpa4, arpa6} {
		if zone == domain || strings.HasSuffix(zone, "."+domain) {
			return true
		}
	}
	return false
}

// reverse says which names addresses have. It is for any number of readers and one
// writer.
type reverse struct {
	names *table[[]*node] // by the address as a name in its reverse zone, the best first
}

func newReverse() *reverse { return &reverse{newTable[[]*node]()} }

// find returns the name of the address that qname, which is in lower case, stands for. A qname too short for an
// address exists, without a name: there may be addresses below it, now or in a moment.
func (r *reverse) find(qname string) (*node, bool) {
	if names := r.names.get(qname); names != nil {
		return (*names)[0], true // one alone, as the specification asks for, section 2.3.3
	}
	whole := whole4
	if strings.HasSuffix(qname, arpa6) {
		whole = whole6
	}
	return nil, dns.CountLabel(qname) < whole
}

// replace takes names away from the addresses that they have and gives others to theirs.
func (r *reverse) replace(gone, come []host) {
	for _, h := range gone {
		for name := range h.node.reverseNames {
			r.set(name, slices.DeleteFunc(r.of(name), func(n *node) bool { return n == h.node }))
		}
	}
	for _, h := range come {
		for name := range h.node.reverseNames {
			names := r.of(name)
			at, _ := slices.BinarySearchFunc(names, h.node, betterName)
			r.set(name, slices.Insert(names, at, h.node))
		}
	}
}

// of returns a copy of the names of an address.
func (r *reverse) of(name string) []*node {
	if names := r.names.get(name); names != nil {
		return slices.Clone(*names)
	}
	return nil
}

func (r *reverse) set(name string, names []*node) {
	if len(names) == 0 {
		r.names.set(name, nil)
		return
	}
	r.names.set(name, &names)
}

// reverseNames yields the addresses of a name, as names in their reverse zones.
func (n *node) reverseNames(yield func(string) bool) {
	for _, of := range []struct {
		packed []byte
		size   int
	}{{n.v4, net.IPv4len}, {n.v6, net.IPv6len}} {
		for packed := range slices.Chunk(of.packed, of.size) {
			ip, _ := netip.AddrFromSlice(packed)
			name, err := dns.ReverseAddr(ip.String())
			if err == nil && !yield(name) {
				return
			}
		}
	}
}

// betterName orders the names of one address: with fewer labels first, so that a service is
// before its hosts and these before hosts in clusters with two labels, then by the alphabet.
func betterName(a, b *node) int {
	return cmp.Or(cmp.Compare(strings.Count(a.name, "."), strings.Count(b.name, ".")), cmp.Compare(a.name, b.name))
}
