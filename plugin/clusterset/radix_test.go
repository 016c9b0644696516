package clusterset

import (
	"net/netip"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func drawAddress(t *rapid.T) netip.Addr {
	if rapid.Bool().Draw(t, "IPv6") {
		var b [16]byte
		// Few values in few places, so that addresses part at every level.
		for range rapid.IntRange(0, 3).Draw(t, "bytes") {
			b[rapid.IntRange(0, 15).Draw(t, "at")] = rapid.SampledFrom([]byte{1, 0x10, 0x80, 0xff}).Draw(t, "byte")
		}
		return netip.AddrFrom16(b)
	}
	b := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 2, 127, 128, 255}), 4, 4).Draw(t, "octets")
	return netip.AddrFrom4([4]byte(b))
}

// The tree is a map from addresses to names that can also be asked for the beginning of
// an address.
func TestRadixIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := []*node{{name: "b.x."}, {name: "a.x."}, {name: "a.a.x."}}
		trees, want := map[bool]*radix{}, map[netip.Addr][]*node{}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				ip, n := drawAddress(t), rapid.SampledFrom(nodes).Draw(t, "node")
				if slices.Contains(want[ip], n) {
					return
				}
				want[ip] = append(want[ip], n)
				slices.SortFunc(want[ip], betterName)
				trees[ip.Is4()] = trees[ip.Is4()].add(wholeOf(ip), n)
			},
			"remove": func(t *rapid.T) {
				ip, n := drawAddress(t), rapid.SampledFrom(nodes).Draw(t, "node")
				if len(want) > 0 && rapid.Bool().Draw(t, "one that is there") {
					all := make([]netip.Addr, 0, len(want))
					for ip := range want {
						all = append(all, ip)
					}
					slices.SortFunc(all, netip.Addr.Compare)
					ip = rapid.SampledFrom(all).Draw(t, "address")
				}
				if i := slices.Index(want[ip], n); i >= 0 {
					want[ip] = slices.Delete(slices.Clone(want[ip]), i, i+1)
				}
				if len(want[ip]) == 0 {
					delete(want, ip)
				}
				trees[ip.Is4()] = trees[ip.Is4()].remove(wholeOf(ip), n)
			},
			"": func(t *rapid.T) {
				ask := drawAddress(t)
				tree := trees[ask.Is4()]
				for bits := range ask.BitLen() + 1 {
					p, err := ask.Prefix(bits)
					if err != nil {
						t.Fatal(err)
					}
					exists := false
					for ip := range want {
						exists = exists || p.Contains(ip)
					}
					if got := tree.under(wholeOf(ask).cut(bits)); (got != nil) != exists {
						t.Fatalf("%v: got %v, want %v", p, got, exists)
					}
				}
				for ip, names := range want {
					if got := trees[ip.Is4()].under(wholeOf(ip)); got == nil || !slices.Equal(got.names, names) {
						t.Fatalf("%v: got %v, want %v", ip, got, names)
					}
				}
			},
		})
	})
}

// A tree does not change when others are made of it.
func TestRadixIsPersistent(t *testing.T) {
	n := &node{name: "a.x."}
	var tree *radix
	var versions []*radix
	var all []netip.Addr
	for i := range 200 {
		ip := netip.AddrFrom4([4]byte{10, byte(i * 7), byte(i * 31), byte(i)})
		versions, all = append(versions, tree), append(all, ip)
		tree = tree.add(wholeOf(ip), n)
	}
	for _, ip := range all {
		tree = tree.remove(wholeOf(ip), n)
	}
	if tree != nil {
		t.Errorf("empty tree is %v", tree)
	}
	for v, tree := range versions {
		for i, ip := range all {
			if got := tree.under(wholeOf(ip)) != nil; got != (i < v) {
				t.Fatalf("version %d: %v is there: %v", v, ip, got)
			}
		}
	}
}
