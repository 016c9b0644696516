package validation

import (
	"net/netip"
	"reflect"
	"strings"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/ranges"
)

const v4, v6 = discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6

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

func sliceAt(family discoveryv1.AddressType, addresses ...string) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{AddressType: family}
	for _, a := range addresses {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{a}})
	}
	return s
}

func addressesOf(s *discoveryv1.EndpointSlice) string {
	var all []string
	for _, e := range s.Endpoints {
		all = append(all, strings.Join(e.Addresses, "+"))
	}
	return strings.Join(all, " ")
}

// A cluster trusts no address of another member.
func TestRefusedAddresses(t *testing.T) {
	n := ownNetwork(t)
	for _, tt := range []struct {
		family  discoveryv1.AddressType
		address string
		why     string
	}{
		{v4, "10.1.2.3", ""},
		{v4, "203.0.113.7", ""},
		{v4, "100.64.0.1", ""},
		{v4, "100.100.100.201", ""},
		{v6, "2001:db8::7", ""},
		{v6, "fd00:2::7", ""},
		{v4, "127.0.0.1", "loopback"},
		{v4, "127.9.9.9", "loopback"},
		{v6, "::1", "loopback"},
		{v4, "169.254.169.254", "link-local"},
		{v6, "fe80::1", "link-local"},
		{v4, "100.100.100.200", "metadata"},
		{v4, "168.63.129.16", "metadata"},
		{v6, "fd00:ec2::254", "metadata"},
		{v6, "fd20:ce::254", "metadata"},
		{v6, "64:ff9b::a9fe:a9fe", "link-local"},
		{v6, "64:ff9b::6464:64c8", "metadata"},
		{v6, "64:ff9b::a60:1", "Service CIDR 10.96.0.0/12"},
		{v6, "64:ff9b::cb00:7107", ""},
		{v6, "64:ff9b:1::7f00:1", "loopback"},
		{v6, "::127.0.0.1", "loopback"},
		{v6, "2002:7f00:1::1", "loopback"},
		{v6, "2001:0:1::80ff:fffe", "loopback"},
		{v6, "2002:cb00:7107::1", ""},
		{v4, "0.1.2.3", ""},
		{v4, "240.0.0.1", ""},
		{v4, "224.0.0.251", "multicast"},
		{v6, "ff02::1", "multicast"},
		{v4, "0.0.0.0", "not a unicast"},
		{v6, "::", "not a unicast"},
		{v4, "255.255.255.255", "not a unicast"},
		{v4, "10.96.0.1", "Service CIDR 10.96.0.0/12"},
		{v6, "fd00:96::1", "Service CIDR"},
		{v4, "10.244.7.7", "pod CIDR 10.244.0.0/16"},
		{v4, "192.168.1.10", "belongs to a node or to the API server"},
		{v6, "fd00:1::10", "belongs to a node or to the API server"},
		{v4, "192.168.1.11", ""},
		{v4, "db.example.org", "not an IP address"},
		{v4, "", "not an IP address"},
		{v4, "010.1.2.3", "not an IP address"},
		{v4, strings.Repeat("9", 1<<16), "not an IP address"},
		{v6, "fd00:2::7%eth0", "not an IP address"},
		{v4, "2001:db8::7", "does not match the EndpointSlice's address type"},
		{v6, "10.1.2.3", "does not match the EndpointSlice's address type"},
		{v6, "::ffff:10.96.0.1", "does not match the EndpointSlice's address type"}, // an IPv4 address in disguise
	} {
		clean, refused := n.Slice("c2", sliceAt(tt.family, tt.address))
		if (len(refused) == 0) != (tt.why == "") || len(clean.Endpoints) != 1-len(refused) || !strings.Contains(Summary(refused), tt.why) {
			t.Errorf("%.40s: %q, want %q", tt.address, Summary(refused), tt.why)
		}
		if a, err := netip.ParseAddr(tt.address); err == nil && a.Is4() == (tt.family == v4) && !a.Is4In6() && n.Admits("c2", a) != (tt.why == "") {
			t.Errorf("%s: Admits disagrees", tt.address)
		}
	}
}

// The broker's owner permits addresses of a member's endpoints, in both IP families.
func TestAllowedRanges(t *testing.T) {
	allowed := map[names.ClusterID]ranges.Set{}
	for id, text := range map[names.ClusterID]string{
		"c2": "10.2.0.0/16 10.96.0.0/12", "c3": "10.3.0.0/16 fd00:3::/48", "c4": "",
		"c5": "10.1.0.0/24 10.2.0.0/24 10.3.0.0/24 10.4.0.0/24 10.5.0.0/24 10.6.0.0/24",
	} {
		set, err := ranges.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		allowed[id] = set
	}
	n := Network{Allowed: func(id names.ClusterID) (ranges.Set, bool) {
		set, restricted := allowed[id]
		return set, restricted
	}}
	for _, tt := range []struct {
		source names.ClusterID
		slice  *discoveryv1.EndpointSlice
		want   string
		says   string
	}{
		{"c2", sliceAt(v4, "10.2.0.1"), "10.2.0.1", ""},
		{"c2", sliceAt(v4, "10.2.0.1", "10.3.0.1", "10.2.0.2"), "10.2.0.1 10.2.0.2", `"10.3.0.1": the address is outside the ranges that the broker permits for the exporting cluster: 10.2.0.0/16, 10.96.0.0/12`},
		{"c2", sliceAt(v4, "10.3.0.1", "10.2.0.1", "10.3.0.2"), "10.2.0.1", "; further problems: 1"},
		{"c2", sliceAt(v6, "fd00:2::1", "fd00:2::2"), "", `"fd00:2::1": the address is outside`},
		{"c3", sliceAt(v6, "fd00:3::1", "fd00:4::1"), "fd00:3::1", `"fd00:4::1"`},
		{"c4", sliceAt(v4, "10.2.0.1"), "", "permits for the exporting cluster: none"},
		{"c5", sliceAt(v4, "10.9.0.1"), "", "10.4.0.0/24 and 2 more ranges"},
		{"c1", sliceAt(v4, "10.9.0.1"), "10.9.0.1", ""},
		{"c3", sliceAt(v4, "127.0.0.1"), "", "loopback"},
	} {
		before := tt.slice.DeepCopy()
		clean, refused := n.Slice(tt.source, tt.slice)
		if addressesOf(clean) != tt.want || (len(refused) == 0) != (tt.says == "") || !strings.Contains(Summary(refused), tt.says) {
			t.Errorf("%s, %s: left is %q, refused %s", tt.source, addressesOf(before), addressesOf(clean), Summary(refused))
		}
		if !reflect.DeepEqual(before, tt.slice) {
			t.Errorf("%s: the shared input slice was changed", tt.source)
		}
	}
}

func TestOverlaps(t *testing.T) {
	n := ownNetwork(t)
	for theirs, want := range map[string]string{
		"10.96.0.0/16":  "10.96.0.0/16 overlaps this cluster's Service CIDR 10.96.0.0/12",
		"10.244.1.1/32": "10.244.1.1 overlaps this cluster's pod CIDR 10.244.0.0/16",
		"10.1.0.0/16":   "",
	} {
		if got := n.Overlaps([]netip.Prefix{netip.MustParsePrefix(theirs)}); got != want {
			t.Errorf("%s: %q, want %q", theirs, got, want)
		}
	}
	if _, err := ParseNetwork(nil, []string{"10.1.0.0"}); err == nil || !strings.Contains(err.Error(), `"10.1.0.0" is not an address range`) {
		t.Errorf("an address as a range: %v", err)
	}
}
