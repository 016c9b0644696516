package ranges

import (
	"net/netip"
	"slices"
)

// mostCovers is the maximum number of ranges per family that Cover returns.
const mostCovers = 8

// Cover returns few ranges that contain all the given ones. Each range is more than half used, so nodes' ranges are
// covered within the cluster's pod range, however many nodes there are. If scattered ranges need too many covers, they
// may be less used.
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

// coverFew is Cover for the sorted ranges of one family.
func coverFew(sorted []netip.Prefix) []netip.Prefix {
	for least := 0.5; ; least /= 2 {
		if covers := cover(sorted, least); len(covers) <= mostCovers {
			return covers
		}
	}
}

// cover joins ranges if they use more than the share least of the joined range.
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

// common returns the smallest range that contains two disjoint ranges.
func common(a, b netip.Prefix) netip.Prefix {
	bits := min(a.Bits(), b.Bits())
	for {
		if p := netip.PrefixFrom(a.Addr(), bits).Masked(); p.Contains(b.Addr()) {
			return p
		}
		bits--
	}
}

// size returns the size of disjoint ranges of one family, in units of a range with bits bits.
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

// Settled returns the ranges to publish for the nodes' ranges: the published ones if they still cover these and are not
// much larger, so that they do not change with every node. Otherwise it returns Cover's.
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
	for _, bits := range []int{32, 128} { // each family separately
		of := func(list []netip.Prefix) (same []netip.Prefix) {
			for _, p := range list {
				if p.Addr().BitLen() == bits {
					same = append(same, p)
				}
			}
			return same
		}
		const tooMuch = 4 // a cluster whose ranges shrink by this factor gives up the rest
		if size(of(set.prefixes), bits) > tooMuch*size(of(covers.prefixes), bits) {
			return covers.Texts()
		}
	}
	return published
}
