package clusterset

import (
	"encoding/binary"
	"math/bits"
	"net/netip"
	"slices"
)

// prefix is the first bits of an address, all of them or fewer. Those that are not
// counted are zero.
type prefix struct {
	high, low uint64
	bits      int
}

// wholeOf returns all bits of an address, 32 or 128.
func wholeOf(ip netip.Addr) prefix {
	if ip.Is4() {
		b := ip.As4()
		return prefix{high: uint64(binary.BigEndian.Uint32(b[:])) << 32, bits: 32}
	}
	b := ip.As16()
	return prefix{binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:]), 128}
}

// with returns the prefix with more bits behind it: the lowest n of value.
func (p prefix) with(value uint64, n int) prefix {
	if p.bits < 64 {
		p.high |= value << (64 - n) >> p.bits
	} else {
		p.low |= value << (64 - n) >> (p.bits - 64)
	}
	p.bits += n
	return p
}

// common returns how many bits p and q begin with alike.
func (p prefix) common(q prefix) int {
	n := bits.LeadingZeros64(p.high ^ q.high)
	if n == 64 {
		n += bits.LeadingZeros64(p.low ^ q.low)
	}
	return min(n, p.bits, q.bits)
}

// bit returns bit number i, from 0.
func (p prefix) bit(i int) int {
	if i < 64 {
		return int(p.high >> (63 - i) & 1)
	}
	return int(p.low >> (127 - i) & 1)
}

// cut returns the first n bits.
func (p prefix) cut(n int) prefix {
	switch {
	case n <= 64:
		p.high, p.low = p.high&^(1<<(64-n)-1), 0
	default:
		p.low &^= 1<<(128-n) - 1
	}
	p.bits = n
	return p
}

// radix is a tree of addresses of one family and the names they have. It never
// changes: what is added to or taken from it makes another tree, which shares all
// but one path with the old one. nil is the empty tree.
type radix struct {
	// prefix is a whole address in a leaf, elsewhere all that the addresses below
	// have in common.
	prefix prefix
	// below are both nil in a leaf, and neither elsewhere.
	below [2]*radix
	// names are a leaf's, the best first.
	names []*node
}

// under returns the part of the tree whose addresses begin with p, or nil.
func (t *radix) under(p prefix) *radix {
	for t != nil && t.prefix.bits < p.bits {
		if t.prefix.common(p) < t.prefix.bits {
			return nil
		}
		t = t.below[p.bit(t.prefix.bits)]
	}
	if t == nil || t.prefix.common(p) < p.bits {
		return nil
	}
	return t
}

// add returns the tree in which the address p also has the name n.
func (t *radix) add(p prefix, n *node) *radix {
	if t == nil {
		return &radix{prefix: p, names: []*node{n}}
	}
	common := t.prefix.common(p)
	switch {
	case common < t.prefix.bits: // they part here
		branch := &radix{prefix: p.cut(common)}
		branch.below[t.prefix.bit(common)] = t
		branch.below[p.bit(common)] = &radix{prefix: p, names: []*node{n}}
		return branch
	case t.prefix.bits == p.bits:
		at, _ := slices.BinarySearchFunc(t.names, n, betterName)
		return &radix{prefix: p, names: slices.Insert(slices.Clone(t.names), at, n)}
	default:
		copied := *t
		next := &copied.below[p.bit(t.prefix.bits)]
		*next = (*next).add(p, n)
		return &copied
	}
}

// remove returns the tree in which the address p does not have the name n.
func (t *radix) remove(p prefix, n *node) *radix {
	if t == nil || t.prefix.common(p) < t.prefix.bits {
		return t
	}
	if t.prefix.bits == p.bits {
		at := slices.Index(t.names, n)
		switch {
		case at < 0:
			return t
		case len(t.names) == 1:
			return nil
		default:
			return &radix{prefix: p, names: slices.Delete(slices.Clone(t.names), at, at+1)}
		}
	}
	side := p.bit(t.prefix.bits)
	left := t.below[side].remove(p, n)
	switch left {
	case t.below[side]:
		return t
	case nil:
		return t.below[1-side]
	}
	copied := *t
	copied.below[side] = left
	return &copied
}
