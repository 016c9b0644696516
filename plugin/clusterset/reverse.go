package clusterset

import (
	"cmp"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
)

// reverse says which names addresses have. It is for any number of readers and one
// writer.
type reverse struct{ v4, v6 atomic.Pointer[radix] }

// arpa are the domains that reverse zones are in.
const (
	arpa4 = "in-addr.arpa."
	arpa6 = "ip6.arpa."
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

// reverseZone is what a reverse zone has in place of services.
type reverseZone struct {
	tree *atomic.Pointer[radix]
	// whole is how many bits an address has, label how many of them a label stands for.
	whole, label int
	// prefix are the bits that the zone's own name stands for.
	prefix prefix
}

// newReverseZone returns what the reverse zone of that name holds; false if no address
// can be in it.
func newReverseZone(name string, of *reverse) (*reverseZone, bool) {
	z := &reverseZone{tree: &of.v4, whole: 32, label: 8}
	rest, ok := strings.CutSuffix(name, arpa4)
	if !ok {
		z.tree, z.whole, z.label = &of.v6, 128, 4
		rest = strings.TrimSuffix(name, arpa6)
	}
	z.prefix, ok = z.parse(prefix{}, strings.TrimSuffix(rest, "."))
	return z, ok
}

// parse adds to a prefix the bits that the labels of a name, without a dot at its end,
// stand for, the last label first. It returns false if they stand for none.
func (z *reverseZone) parse(p prefix, name string) (prefix, bool) {
	for name != "" {
		dot := strings.LastIndexByte(name, '.')
		value, ok := z.number(name[dot+1:])
		if !ok || p.bits == z.whole || dot == 0 {
			return prefix{}, false
		}
		p = p.with(value, z.label)
		name = name[:max(dot, 0)]
	}
	return p, true
}

// number reads a label: an octet as people write it, or a hexadecimal digit.
func (z *reverseZone) number(label string) (uint64, bool) {
	if len(label) == 0 || len(label) > 3 || z.label == 4 && len(label) > 1 || len(label) > 1 && label[0] == '0' {
		return 0, false
	}
	n := uint64(0)
	for _, c := range []byte(label) {
		switch {
		case c >= '0' && c <= '9':
			n = n*10 + uint64(c-'0')
		case c >= 'a' && c <= 'f' && z.label == 4:
			n = uint64(c-'a') + 10
		default:
			return 0, false
		}
	}
	return n, n < 1<<z.label
}

// find returns the name of the address that relative, a name within the zone, stands
// for. It exists also, without a name, if it stands for the beginning of addresses.
func (z *reverseZone) find(relative string) (*node, bool) {
	p, ok := z.parse(z.prefix, relative)
	if !ok {
		return nil, false
	}
	switch found := z.tree.Load().under(p); {
	case found == nil:
		return nil, false
	case p.bits < z.whole:
		return nil, true
	default:
		// One alone, as the specification asks for, section 2.3.3.
		return found.names[0], true
	}
}

// replace takes names away from the addresses that they have and gives others to theirs.
func (r *reverse) replace(gone, come []host) {
	v4, v6 := r.v4.Load(), r.v6.Load()
	for _, h := range gone {
		for p := range h.node.prefixes {
			if p.bits == 32 {
				v4 = v4.remove(p, h.node)
			} else {
				v6 = v6.remove(p, h.node)
			}
		}
	}
	for _, h := range come {
		for p := range h.node.prefixes {
			if p.bits == 32 {
				v4 = v4.add(p, h.node)
			} else {
				v6 = v6.add(p, h.node)
			}
		}
	}
	r.v4.Store(v4)
	r.v6.Store(v6)
}

// prefixes yields the addresses of a name.
func (n *node) prefixes(yield func(prefix) bool) {
	for at := 0; at < len(n.v4); at += net.IPv4len {
		if !yield(wholeOf(netip.AddrFrom4([4]byte(n.v4[at:])))) {
			return
		}
	}
	for at := 0; at < len(n.v6); at += net.IPv6len {
		if !yield(wholeOf(netip.AddrFrom16([16]byte(n.v6[at:])))) {
			return
		}
	}
}

// betterName orders the names of one address: with fewer labels first, so that a service is
// before its hosts and these before hosts in clusters with two labels, then by the alphabet.
func betterName(a, b *node) int {
	return cmp.Or(cmp.Compare(strings.Count(a.name, "."), strings.Count(b.name, ".")), cmp.Compare(a.name, b.name))
}
