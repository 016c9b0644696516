package clusterset

import (
	"cmp"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/miekg/dns"
)

// arpa4 and arpa6 are the parents of reverse zones; whole4 and whole6 are the labels of a full address name.
const (
	arpa4, whole4 = "in-addr.arpa.", 6
	arpa6, whole6 = "ip6.arpa.", 34
)

// isReverse reports whether a zone, in lower case and fully qualified, holds PTR records.
func isReverse(zone string) bool {
	for _, domain := range []string{arpa4, arpa6} {
		if zone == domain || strings.HasSuffix(zone, "."+domain) {
			return true
		}
	}
	return false
}

// reverse maps addresses to names, for any number of readers and one writer.
type reverse struct {
	names *table[[]*node] // by the address's name in its reverse zone, the best first
}

func newReverse() *reverse { return &reverse{newTable[[]*node]()} }

// find returns the PTR target of qname, which is in lower case. A qname too short for a full address always exists,
// because addresses may be below it now or later.
func (r *reverse) find(qname string) (*node, bool) {
	if names := r.names.get(qname); names != nil {
		return (*names)[0], true // only one, by section 2.3.3 of the specification
	}
	whole := whole4
	if strings.HasSuffix(qname, arpa6) {
		whole = whole6
	}
	return nil, dns.CountLabel(qname) < whole
}

// replace removes the names of gone and adds those of come.
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

// of returns a copy of an address's names.
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

// reverseNames yields the addresses of a node as names in reverse zones.
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

// betterName orders the names of one address. Fewer labels come first: a service before its hosts, and these before
// hosts in clusters with two labels. The rest is alphabetical.
func betterName(a, b *node) int {
	return cmp.Or(cmp.Compare(strings.Count(a.name, "."), strings.Count(b.name, ".")), cmp.Compare(a.name, b.name))
}
