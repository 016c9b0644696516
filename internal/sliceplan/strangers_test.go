package sliceplan

import (
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	"pgregory.net/rapid"

	"github.com/atoll-mcs/atoll/internal/names"
	"github.com/atoll-mcs/atoll/internal/ranges"
)

func ownNetwork(t testing.TB) Network {
	t.Helper()
	n, err := ParseNetwork([]string{"10.96.0.0/12", "fd00:96::/108"}, []string{"10.244.0.0/16"})
	if err != nil {
		t.Fatal(err)
	}
	n.IsHost = func(a netip.Addr) bool {
		return a == netip.MustParseAddr("192.168.1.10") || a == netip.MustParseAddr("fd00:1::10")
	}
	return n
}

func slicedAt(family discoveryv1.AddressType, endpoints ...[]string) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{AddressType: family}
	for _, addresses := range endpoints {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: addresses})
	}
	return s
}

// Nothing a member says about addresses is trusted.
func TestRefuses(t *testing.T) {
	const v4, v6 = discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6
	n := ownNetwork(t)
	for _, tt := range []struct {
		family  discoveryv1.AddressType
		address string
		why     string
	}{
		{v4, "10.1.2.3", ""},
		{v4, "203.0.113.7", ""},
		{v6, "2001:db8::7", ""},
		{v6, "fd00:2::7", ""},
		{v4, "127.0.0.1", "loopback"},
		{v4, "127.9.9.9", "loopback"},
		{v6, "::1", "loopback"},
		{v4, "169.254.169.254", "link-local"},
		{v6, "fe80::1", "link-local"},
		{v4, "224.0.0.251", "multicast"},
		{v4, "239.1.1.1", "multicast"},
		{v6, "ff02::1", "multicast"},
		{v4, "0.0.0.0", "no address of a pod"},
		{v6, "::", "no address of a pod"},
		{v4, "255.255.255.255", "no address of a pod"},
		{v4, "10.96.0.1", "range 10.96.0.0/12 of the Services here"},
		{v6, "fd00:96::1", "of the Services here"},
		{v4, "10.244.7.7", "range 10.244.0.0/16 of the pods here"},
		{v4, "192.168.1.10", "of a node, or of the API server"},
		{v6, "fd00:1::10", "of a node, or of the API server"},
		{v4, "192.168.1.11", ""},
		{v4, "db.example.org", "no address"},
		{v4, "", "no address"},
		{v4, strings.Repeat("9", 1<<16), "no address"},
		{v6, "fd00:2::7%eth0", "no address"},
		{v4, "2001:db8::7", "not of the slice's family"},
		{v6, "10.1.2.3", "not of the slice's family"},
		{v6, "::ffff:10.96.0.1", "not of the slice's family"}, // an IPv4 address in disguise
	} {
		if why := n.refuses("c2", tt.family, tt.address); (why == "") != (tt.why == "") || !strings.Contains(why, tt.why) {
			t.Errorf("%.40s: %q, want %q", tt.address, why, tt.why)
		}
	}
}

func TestAdmit(t *testing.T) {
	n := ownNetwork(t)
	fine := slicedAt(discoveryv1.AddressTypeIPv4, []string{"10.1.0.1"}, []string{"10.1.0.2", "10.1.0.3"})
	mixed := slicedAt(discoveryv1.AddressTypeIPv4, []string{"10.1.1.1", "127.0.0.1"}, []string{"10.96.0.1"}, []string{"10.1.1.2"})
	before := mixed.DeepCopy()
	got, leftOut := n.Admit("c2", []*discoveryv1.EndpointSlice{fine, mixed})
	if got[0] != fine || !reflect.DeepEqual(got[1].Endpoints, slicedAt("", []string{"10.1.1.1"}, []string{"10.1.1.2"}).Endpoints) {
		t.Errorf("admitted are %+v", got[1].Endpoints)
	}
	if !strings.Contains(leftOut, `cluster "c2"`) || !strings.Contains(leftOut, `"127.0.0.1" is a loopback address, and 1 more`) {
		t.Errorf("said is %s", leftOut)
	}
	if !reflect.DeepEqual(mixed, before) {
		t.Error("the given slice, which others read, has changed")
	}
	all := []*discoveryv1.EndpointSlice{fine}
	if got, leftOut := n.Admit("c2", all); leftOut != "" || &got[0] != &all[0] {
		t.Errorf("of what is fine: %v, %s", got, leftOut)
	}
}

// allowing returns a network that does not know of own ranges, where the broker's owner has fixed those of members.
func allowing(t testing.TB, fixed map[names.ClusterID]string) Network {
	t.Helper()
	allowed := ranges.Allowed{}
	for id, text := range fixed {
		set, err := ranges.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		allowed[id] = set
	}
	return Network{Allowed: allowed.Of}
}

// The broker's owner says which addresses a member's endpoints may have, in both families, whatever kind they are.
func TestAdmitWithinAllowedRanges(t *testing.T) {
	const v4, v6 = discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6
	n := allowing(t, map[names.ClusterID]string{
		"c2": "10.2.0.0/16 10.96.0.0/12", "c3": "10.3.0.0/16 fd00:3::/48", "c4": "",
		"c5": "10.1.0.0/24 10.2.0.0/24 10.3.0.0/24 10.4.0.0/24 10.5.0.0/24 10.6.0.0/24",
	})
	vip := slicedAt(v4, []string{"10.96.0.7"})
	vip.Labels = map[string]string{names.LabelAdvertiseMode: "cluster-ip"}
	strange := vip.DeepCopy()
	strange.Endpoints[0].Addresses = []string{"10.80.0.7"}
	for _, tt := range []struct {
		name   string
		source names.ClusterID
		slice  *discoveryv1.EndpointSlice
		want   [][]string
		said   string
	}{
		{"within", "c2", slicedAt(v4, []string{"10.2.0.1"}), [][]string{{"10.2.0.1"}}, ""},
		{"outside", "c2", slicedAt(v4, []string{"10.2.0.1"}, []string{"10.3.0.1"}), [][]string{{"10.2.0.1"}},
			`"10.3.0.1" is none of those that the broker's owner allows that cluster: 10.2.0.0/16, 10.96.0.0/12`},
		{"one of several addresses", "c2", slicedAt(v4, []string{"10.3.0.1", "10.2.0.1", "10.3.0.2"}, []string{"10.4.0.1", "10.5.0.1"}), [][]string{{"10.2.0.1"}}, "and 3 more addresses"},
		{"a family without a range", "c2", slicedAt(v6, []string{"fd00:2::1"}, []string{"fd00:2::2"}), nil, `"fd00:2::1" is none of those`},
		{"the other family", "c3", slicedAt(v6, []string{"fd00:3::1"}, []string{"fd00:4::1"}), [][]string{{"fd00:3::1"}}, `"fd00:4::1"`},
		{"a cluster IP", "c2", vip, [][]string{{"10.96.0.7"}}, ""},
		{"another cluster IP", "c2", strange, nil, `"10.80.0.7"`},
		{"none at all", "c4", slicedAt(v4, []string{"10.2.0.1"}), nil, "allows that cluster: none at all"},
		{"many ranges", "c5", slicedAt(v4, []string{"10.9.0.1"}), nil, "10.4.0.0/24 and 2 more ranges"},
		{"nothing fixed", "c1", slicedAt(v4, []string{"10.9.0.1"}), [][]string{{"10.9.0.1"}}, ""},
		{"within, and what nobody has", "c3", slicedAt(v4, []string{"127.0.0.1"}), nil, "loopback"},
		{"no address", "c2", slicedAt(v4, []string{"10.2.0.1."}), nil, "no address"},
	} {
		got, said := n.Admit(tt.source, []*discoveryv1.EndpointSlice{tt.slice})
		if want := slicedAt("", tt.want...).Endpoints; len(got[0].Endpoints) != len(want) || len(want) > 0 && !reflect.DeepEqual(got[0].Endpoints, want) {
			t.Errorf("%s: admitted are %+v", tt.name, got[0].Endpoints)
		}
		if (said == "") != (tt.said == "") || !strings.Contains(said, tt.said) || len(said) > 900 {
			t.Errorf("%s: said is %s", tt.name, said)
		}
	}
}

// Whatever is published and allowed: an address is admitted if it was before the owner fixed any, and is in one of the ranges.
func TestAdmitWithinAllowedRangesAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"10.1.0.0/16", "10.1.1.0/24", "10.0.0.0/8", "127.0.0.0/8", "fd00:1::/32", "::/0", "x"}), 0, 4).Draw(t, "ranges"), " ")
		set, _ := ranges.Parse(text)
		address := rapid.OneOf(rapid.StringMatching(`10\.[12]\.[01]\.[12]`), rapid.StringMatching(`(127\.0\.0\.1|fd00:[12]::1|fe80::1|::ffff:10\.1\.1\.1)`))
		s := slicedAt(rapid.SampledFrom([]discoveryv1.AddressType{"IPv4", "IPv6"}).Draw(t, "family"), rapid.SliceOfN(rapid.SliceOfN(address, 1, 3), 0, 5).Draw(t, "endpoints")...)
		unrestricted, _ := Network{}.Admit("c2", []*discoveryv1.EndpointSlice{s})
		var want, got []string
		for _, e := range unrestricted[0].Endpoints {
			for _, a := range e.Addresses {
				if set.Contains(netip.MustParseAddr(a)) {
					want = append(want, a)
				}
			}
		}
		n := Network{Allowed: ranges.Allowed{"c2": set}.Of}
		admitted, _ := n.Admit("c2", []*discoveryv1.EndpointSlice{s})
		for _, e := range admitted[0].Endpoints {
			got = append(got, e.Addresses...)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("of %v within %s: %v, want %v", s.Endpoints, set, got, want)
		}
		if others, _ := n.Admit("c3", unrestricted); others[0] != unrestricted[0] {
			t.Fatal("another cluster is restricted")
		}
	})
}

// Whatever the addresses are: what is admitted is refused no more, nothing else is left out,
// and nothing panics.
func TestAdmitOnceIsEnough(t *testing.T) {
	n := ownNetwork(t)
	rapid.Check(t, func(t *rapid.T) {
		address := rapid.OneOf(
			rapid.StringMatching(`(10|127|169|224|192|255)\.(96|244|254|168|1)\.(169|1|0)\.(254|10|1)`),
			rapid.StringMatching(`(::1|fe80::1|fd00:(96|1|2)::10|::ffff:10\.1\.1\.1)`), rapid.String())
		s := slicedAt(rapid.SampledFrom([]discoveryv1.AddressType{"IPv4", "IPv6", "FQDN", "other"}).Draw(t, "family"),
			rapid.SliceOfN(rapid.SliceOfN(address, 0, 3), 0, 5).Draw(t, "endpoints")...)
		once, leftOut := n.Admit("c2", []*discoveryv1.EndpointSlice{s})
		twice, again := n.Admit("c2", once)
		if again != "" || twice[0] != once[0] {
			t.Fatalf("left out in the second run: %s", again)
		}
		if (leftOut == "") != (once[0] == s) {
			t.Fatalf("said is %q", leftOut)
		}
		if len(leftOut) > 900 {
			t.Fatalf("said is %d bytes long", len(leftOut))
		}
	})
}
