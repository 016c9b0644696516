package ranges

import (
	"net/netip"
	"slices"
)

// mostCovers is how many ranges of one family Cover returns.
const mostCovers = 8

// Cover returns few ranges that together hold all the given ones. A range holds more than these only where they are more than half of
// it: what nodes have of a cluster's range of pods is covered within that range, however many nodes there are. Only where that would be too many
// ranges, which nodes with scattered ranges need, one holds more.
func Cover(given []netip.Prefix) []netip.Prefix {
	var four, six []netip.Prefix
	for _, p := range newSet(slices.Clone(given)).prefixes {
		if p.Addr().Is4() {
			four = append(four, p)
		} else {
			six = append(six, p)
		}
	}
	return append(coverFew(four), coverFew(six)...)
}

// coverFew is Cover for the ranges of one family, sorted.
func coverFew(sorted []netip.Prefix) []netip.Prefix {
	for least := 0.5; ; least /= 2 {
		if covers := cover(sorted, least); len(covers) <= mostCovers {
			return covers
		}
	}
}

// cover joins ranges to those of which they are more than a share.
func cover(sorted []netip.Prefix, least float64) []netip.Prefix {
	if len(sorted) <= 1 {
		return sorted
	}
	all := common(sorted[0], sorted[len(sorted)-1])
	if size(sorted, all.Bits()) > least {
		return []netip.Prefix{all}
	}
	half := slices.IndexFunc(sorted, func(p netip.Prefix) bool { return common(sorted[0], p).Bits() == all.Bits() })
	return append(slices.Clone(cover(sorted[:half], least)), cover(sorted[half:], least)...)
}

// common is the smallest range that holds two that do not overlap.
func common(a, b netip.Prefix) netip.Prefix {
	bits := min(a.Bits(), b.Bits())
	for {
		if p := netip.PrefixFrom(a.Addr(), bits).Masked(); p.Contains(b.Addr()) {
			return p
		}
		bits--
	}
}

// size is how much space ranges of one family take up that do not overlap, as a multiple of a range of so many bits.
func size(list []netip.Prefix, bits int) float64 {
	sum := 0.0
	for _, p := range list {
		share := 1.0
		for b := bits; b < p.Bits(); b++ {
			share /= 2
		}
		for b := p.Bits(); b < bits; b++ {
			share *= 2
		}
		sum += share
	}
	return sum
}

// Settled returns which ranges to publish for those that nodes have: the published ones as long as they cover these and are not
// much more, so that they do not change with every node, and otherwise what Cover returns.
func Settled(published []string, nodes []netip.Prefix) []string {
	covers := newSet(Cover(nodes))
	var have []netip.Prefix
	for _, text := range published {
		p, err := parseRange(text)
		if err != nil || !slices.ContainsFunc(nodes, func(n netip.Prefix) bool { return n.Overlaps(p) }) {
			return covers.Texts()
		}
		have = append(have, p)
	}
	set := newSet(slices.Clone(have))
	for _, n := range nodes {
		if i := slices.IndexFunc(set.prefixes, func(p netip.Prefix) bool { return p.Bits() <= n.Bits() && p.Contains(n.Addr()) }); i < 0 {
			return covers.Texts()
		}
	}
	for _, bits := range []int{32, 128} { // of both families by itself
		of := func(list []netip.Prefix) (same []netip.Prefix) {
			for _, p := range list {
				if p.Addr().BitLen() == bits {
					same = append(same, p)
				}
			}
			return same
		}
		const tooMuch = 4 // a cluster that has become smaller by this factor gives up the rest
		if size(of(set.prefixes), bits) > tooMuch*size(of(covers.prefixes), bits) {
			return covers.Texts()
		}
	}
	return published
}
