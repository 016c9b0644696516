package sliceplan

import (
	"net/netip"
	"reflect"
	"strings"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	"pgregory.net/rapid"
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
		if why := n.refuses(tt.family, tt.address); (why == "") != (tt.why == "") || !strings.Contains(why, tt.why) {
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
