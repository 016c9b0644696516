package ranges

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func prefixes(text string) []netip.Prefix {
	var all []netip.Prefix
	for _, f := range strings.Fields(text) {
		all = append(all, netip.MustParsePrefix(f))
	}
	return all
}

func TestCover(t *testing.T) {
	for _, tt := range []struct{ of, want string }{
		{"", ""},
		{"10.1.0.0/24", "10.1.0.0/24"},
		{"10.1.0.0/24 10.1.1.0/24", "10.1.0.0/23"},
		{"10.1.0.0/24 10.1.1.0/24 10.1.2.0/24", "10.1.0.0/22"},
		{"10.1.0.0/24 10.1.3.0/24", "10.1.0.0/24 10.1.3.0/24"}, // another cluster may own half of the common range
		{"10.1.1.0/24 10.1.2.0/24", "10.1.1.0/24 10.1.2.0/24"},
		{"10.1.0.0/24 10.1.0.0/25 10.1.0.0/24", "10.1.0.0/24"},
		{"10.1.0.0/24 10.2.0.0/24 fd00:1::/64 fd00:1:0:1::/64", "10.1.0.0/24 10.2.0.0/24 fd00:1::/63"},
	} {
		if got := Cover(prefixes(tt.of)); !slices.Equal(got, prefixes(tt.want)) {
			t.Errorf("%s: %v, want %s", tt.of, got, tt.want)
		}
	}
}

// A cluster that assigns its nodes' ranges from one range publishes few ranges, never more than
// that range, and rarely changes them.
func TestRangesOfAGrowingCluster(t *testing.T) {
	all := netip.MustParsePrefix("10.64.0.0/16")
	var nodes []netip.Prefix
	var published []string
	changes := 0
	for i := range 256 {
		nodes = append(nodes, netip.MustParsePrefix(fmt.Sprintf("10.64.%d.0/24", i)))
		now := Settled(published, nodes)
		if !slices.Equal(now, published) {
			published = now
			changes++
		}
		set, err := Parse(strings.Join(now, ","))
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range nodes {
			if !set.Contains(n.Addr()) {
				t.Fatalf("of %d nodes %s is not in %v", i+1, n, now)
			}
		}
		for _, p := range prefixes(strings.Join(now, " ")) {
			if p.Bits() < all.Bits() || !all.Contains(p.Addr()) {
				t.Fatalf("of %d nodes %s is published", i+1, p)
			}
		}
	}
	if changes > 20 || !slices.Equal(published, []string{all.String()}) {
		t.Errorf("the ranges changed %d times and are %v", changes, published)
	}
	// The cluster shrinks to a few nodes and changes its ranges once.
	if got := Settled(published, nodes[:100]); !slices.Equal(got, published) {
		t.Errorf("with 100 nodes the ranges are %v", got)
	}
	if got := Settled(published, nodes[:3]); !slices.Equal(got, []string{"10.64.0.0/22"}) {
		t.Errorf("with 3 nodes the ranges are %v", got)
	}
	if got := Settled([]string{"10.64.0.0/22", "10.9.0.0/16"}, nodes[:3]); !slices.Equal(got, []string{"10.64.0.0/22"}) {
		t.Errorf("without nodes of a range the ranges are %v", got)
	}
	if got := Settled([]string{"10.64.0.0/22"}, nil); len(got) != 0 {
		t.Errorf("without nodes the ranges are %v", got)
	}
}

// Any ranges of nodes are covered by few ranges, and the published ranges are stable.
func TestCoverProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		given := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) netip.Prefix {
			bytes := rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "address")
			if rapid.Bool().Draw(t, "six") {
				a := netip.AddrFrom16([16]byte{0xfd, bytes[0], bytes[1], bytes[2], 15: bytes[3]})
				return netip.PrefixFrom(a, rapid.IntRange(8, 128).Draw(t, "bits")).Masked()
			}
			return netip.PrefixFrom(netip.AddrFrom4([4]byte(bytes)), rapid.IntRange(4, 32).Draw(t, "bits")).Masked()
		}), 0, 60).Draw(t, "given")
		covers := Cover(given)
		if len(covers) > 2*mostCovers {
			t.Errorf("%d ranges", len(covers))
		}
		for _, g := range given {
			if !slices.ContainsFunc(covers, func(p netip.Prefix) bool { return p.Bits() <= g.Bits() && p.Contains(g.Addr()) }) {
				t.Errorf("%s is not in %v", g, covers)
			}
		}
		once := Settled(nil, given)
		if twice := Settled(once, given); !slices.Equal(once, twice) {
			t.Errorf("first %v, then %v", once, twice)
		}
	})
}
