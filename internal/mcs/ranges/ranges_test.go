package ranges

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		text  string
		want  string
		wrong []string // messages, in order
	}{
		{text: "", want: ""},
		{text: " ,\n\t, ", want: ""},
		{text: "10.1.0.0/16", want: "10.1.0.0/16"},
		{text: "fd00:1::/48,10.1.0.0/16\n10.0.0.0/24  192.168.7.0/24,", want: "10.0.0.0/24, 10.1.0.0/16, 192.168.7.0/24, fd00:1::/48"},
		{text: "10.1.0.0/16 10.1.2.0/24 10.1.0.0/16 10.1.0.0/24", want: "10.1.0.0/16"},
		{text: "0.0.0.0/0 10.1.0.0/16 ::/0 fd00::/8", want: "0.0.0.0/0, ::/0"},
		{text: "10.1.2.3/32 10.1.2.4/32", want: "10.1.2.3/32, 10.1.2.4/32"},
		{text: "10.1.0.0/16 x 10.2.0.0/16 10.3.0.0/33", want: "10.1.0.0/16, 10.2.0.0/16", wrong: []string{`"x" is not an address range`, `"10.3.0.0/33" is not an address range`}},
		{text: "10.1.2.3", wrong: []string{`is an address, not an address range: write 10.1.2.3/32 for this address alone`}},
		{text: "fd00::7", wrong: []string{`write fd00::7/128 for this address alone`}},
		{text: "10.1.2.3/16", wrong: []string{`write 10.1.0.0/16 for the whole range, or 10.1.2.3/32`}},
		{text: "fe80::1%eth0", wrong: []string{`is not an address range`}},
		{text: "fe80::%eth0/64", wrong: []string{`is not an address range`}},
		{text: "::ffff:10.1.0.0/112", wrong: []string{`write an IPv4 range such as`}},
		{text: "010.1.0.0/16 10.1/16 10.1.0.0/-1 10.1.0.0/016", wrong: []string{"is not an address range", "is not an address range", "is not an address range", "is not an address range"}},
		{text: "*", wrong: []string{"is not an address range"}},
		{text: strings.Repeat("9", 1<<16), wrong: []string{"is not an address range"}},
	} {
		got, err := Parse(tt.text)
		if got.String() != tt.want {
			t.Errorf("%.60q: ranges %q, want %q", tt.text, got, tt.want)
		}
		var said []string
		if err != nil {
			said = strings.Split(err.Error(), "\n")
		}
		if len(said) != len(tt.wrong) {
			t.Errorf("%.60q: said is %q, want %q", tt.text, said, tt.wrong)
			continue
		}
		for i, want := range tt.wrong {
			if !strings.Contains(said[i], want) || len(said[i]) > 200 {
				t.Errorf("%.60q: said is %q, want %q", tt.text, said[i], want)
			}
		}
	}
}

// address draws from few addresses, so that many are inside ranges or at their ends.
func address() *rapid.Generator[netip.Addr] {
	return rapid.Custom(func(t *rapid.T) netip.Addr {
		at := func(n int) byte {
			return rapid.SampledFrom([]byte{0, 1, 2, 127, 128, 254, 255}).Draw(t, "byte")
		}
		if rapid.Bool().Draw(t, "IPv6") {
			b := [16]byte{0xfd}
			for i := 12; i < 16; i++ {
				b[i] = at(i)
			}
			return netip.AddrFrom16(b)
		}
		return netip.AddrFrom4([4]byte{10, at(1), at(2), at(3)})
	})
}

// A set contains exactly the addresses of its ranges. Writing and parsing a set preserves it.
func TestContains(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var prefixes []netip.Prefix
		var words []string
		for range rapid.IntRange(0, 8).Draw(t, "ranges") {
			a := address().Draw(t, "of")
			p := netip.PrefixFrom(a, a.BitLen()-rapid.SampledFrom([]int{0, 0, 1, 7, 8, 9, 16, 23, 24, 32}).Draw(t, "bits")).Masked()
			prefixes, words = append(prefixes, p), append(words, p.String())
		}
		words = append(words, rapid.SliceOfN(rapid.SampledFrom([]string{"x", "10.1.2.3", "10.1.2.3/8", "fd00::1/8"}), 0, 2).Draw(t, "mistakes")...)
		set, _ := Parse(strings.Join(rapid.Permutation(words).Draw(t, "order"), rapid.SampledFrom([]string{",", " ", ", ", "\n"}).Draw(t, "between")))
		again, err := Parse(set.String())
		if err != nil || !again.Equal(set) {
			t.Fatalf("%s is read again as %s: %v", set, again, err)
		}
		for range 20 {
			a := address().Draw(t, "address")
			want := slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return p.Contains(a) })
			if got := set.Contains(a); got != want {
				t.Fatalf("%s in %s: %t, want %t", a, set, got, want)
			}
		}
	})
}

// FuzzParse parses any text. Writing and parsing the result preserves it.
func FuzzParse(f *testing.F) {
	f.Add("10.1.0.0/16, fd00::/8\n10.1.2.3 x")
	f.Add("::ffff:1.2.3.4/100 0.0.0.0/0 ::/0 1.2.3.4/0")
	f.Fuzz(func(t *testing.T, text string) {
		set, _ := Parse(text)
		again, err := Parse(set.String())
		if err != nil || !again.Equal(set) {
			t.Errorf("%q is read again as %q: %v", set, again, err)
		}
		for _, p := range set.prefixes {
			if !set.Contains(p.Addr()) {
				t.Errorf("%q does not contain %s", set, p.Addr())
			}
		}
	})
}
