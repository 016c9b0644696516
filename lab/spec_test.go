package lab

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestValidate(t *testing.T) {
	good := Shape{Name: "atoll", Clusters: 3, Nodes: 1, IPFamily: IPv4}
	for name, test := range map[string]struct {
		change func(*Shape)
		want   string
	}{
		"good":               {func(*Shape) {}, ""},
		"largest":            {func(s *Shape) { s.Clusters, s.Nodes, s.IPFamily = 99, 99, Dual }, ""},
		"one letter":         {func(s *Shape) { s.Name = "a" }, ""},
		"no name":            {func(s *Shape) { s.Name = "" }, "name"},
		"capitals":           {func(s *Shape) { s.Name = "Atoll" }, "name"},
		"path":               {func(s *Shape) { s.Name = "../x" }, "name"},
		"dash at the end":    {func(s *Shape) { s.Name = "x-" }, "name"},
		"newline":            {func(s *Shape) { s.Name = "x\n" }, "name"},
		"long":               {func(s *Shape) { s.Name = strings.Repeat("x", 31) }, "name"},
		"no cluster":         {func(s *Shape) { s.Clusters = 0 }, "clusters"},
		"too many clusters":  {func(s *Shape) { s.Clusters = 100 }, "clusters"},
		"no node":            {func(s *Shape) { s.Nodes = 0 }, "nodes"},
		"too many nodes":     {func(s *Shape) { s.Nodes = 100 }, "nodes"},
		"family":             {func(s *Shape) { s.IPFamily = "ipv5" }, "IP family"},
		"a family each":      {func(s *Shape) { s.IPFamily = "ipv4,ipv6,dual" }, ""},
		"a family too few":   {func(s *Shape) { s.IPFamily = "ipv4,ipv6" }, "3 clusters"},
		"a wrong one":        {func(s *Shape) { s.IPFamily = "ipv4,ipv5,dual" }, "IP family"},
		"an empty one":       {func(s *Shape) { s.IPFamily = "ipv4,,dual" }, "IP family"},
		"control plane":      {func(s *Shape) { s.ControlPlaneOnly = true }, ""},
		"mode":               {func(s *Shape) { s.AdvertiseMode = "cluster-ip" }, ""},
		"a mode each":        {func(s *Shape) { s.AdvertiseMode = "pods,cluster-ip,pods" }, ""},
		"a mode too few":     {func(s *Shape) { s.AdvertiseMode = "pods,cluster-ip" }, "3 clusters"},
		"stock DNS":          {func(s *Shape) { s.DNS = "stock" }, ""},
		"another DNS":        {func(s *Shape) { s.DNS = "bind" }, "atoll or stock"},
		"a wrong mode":       {func(s *Shape) { s.AdvertiseMode = "pods,vip,pods" }, "advertise mode"},
		"nodes without room": {func(s *Shape) { s.ControlPlaneOnly, s.Nodes = true, 2 }, "nodes"},
	} {
		t.Run(name, func(t *testing.T) {
			s := good
			test.change(&s)
			err := s.validate()
			switch {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want) || !errors.Is(err, ErrUsage)):
				t.Errorf("error %v, want one about %q", err, test.want)
			}
		})
	}
}

func TestAddresses(t *testing.T) {
	c := newSpec(Shape{Name: "x", Clusters: 12, Nodes: 2, IPFamily: Dual}).Clusters[11]
	p, a := netip.MustParsePrefix, netip.MustParseAddr
	want := Cluster{
		Name: "c12", Region: "r12",
		Nodes: []Node{
			{"c12-n1", "atoll-x-c12-n1", "r12-a", "r12", []netip.Addr{a("172.30.12.1"), a("fd00:172:30::12:1")}, []netip.Prefix{p("10.12.1.0/24"), p("fd00:10:12:1::/64")}},
			{"c12-n2", "atoll-x-c12-n2", "r12-b", "r12", []netip.Addr{a("172.30.12.2"), a("fd00:172:30::12:2")}, []netip.Prefix{p("10.12.2.0/24"), p("fd00:10:12:2::/64")}},
		},
		PodCIDRs:     []netip.Prefix{p("10.12.0.0/16"), p("fd00:10:12::/48")},
		ServiceCIDRs: []netip.Prefix{p("10.112.0.0/16"), p("fd00:20:12::/112")},
		DNS:          []netip.Addr{a("10.112.0.10"), a("fd00:20:12::a")},
		APIServer:    netip.MustParseAddrPort("172.30.12.1:6443"),
		Etcd:         netip.MustParseAddrPort("127.0.0.1:2379"),

		AdvertiseMode: "pods",
	}
	if d := cmp.Diff(want, c, cmp.Comparer(func(x, y netip.Prefix) bool { return x == y }),
		cmp.Comparer(func(x, y netip.Addr) bool { return x == y }), cmp.Comparer(func(x, y netip.AddrPort) bool { return x == y })); d != "" {
		t.Error(d)
	}
	broker := newSpec(Shape{Name: "x", Clusters: 1, Nodes: 2, IPFamily: IPv6}).Clusters[1]
	if got := broker.APIServer.String(); got != "[fd00:172:30::1]:6443" {
		t.Errorf("broker at %s", got)
	}
	if got := broker.ServiceCIDRs[0].String(); got != "fd00:20::/112" || len(broker.PodCIDRs) != 0 || len(broker.Nodes) != 1 {
		t.Errorf("broker %+v", broker)
	}
}

// TestNoOverlap goes through the largest lab: no two ranges of it overlap, a
// node's pods are in its cluster's range, every family has what it needs.
func TestNoOverlap(t *testing.T) {
	mixed := IPFamily("ipv4" + strings.Repeat(",ipv6,dual", (maxClusters-1)/2))
	for _, family := range []IPFamily{IPv4, IPv6, Dual, mixed} {
		s := newSpec(Shape{Name: "x", Clusters: maxClusters, Nodes: maxNodes, IPFamily: family})
		var all []netip.Prefix
		for i, c := range s.Clusters {
			own := family.union()
			if c.Name != Broker {
				own = family.Of(i + 1)
			}
			count := map[IPFamily]int{IPv4: 1, IPv6: 1, Dual: 2}[own]
			if len(c.ServiceCIDRs) != count || (c.Name != Broker && (len(c.PodCIDRs) != count || len(c.DNS) != count)) {
				t.Fatalf("%s: %+v", family, c)
			}
			all = append(all, c.ranges()...)
			for i, dns := range c.DNS {
				if !c.ServiceCIDRs[i].Contains(dns) || firstAddrs(c.ServiceCIDRs)[i] == dns {
					t.Errorf("%s: DNS of %s at %s", family, c.Name, dns)
				}
			}
			for j, n := range c.Nodes {
				for i, r := range n.PodCIDRs {
					if !c.PodCIDRs[i].Contains(r.Addr()) || r.Bits() <= c.PodCIDRs[i].Bits() {
						t.Errorf("%s: %s's pods %s outside of %s", family, n.Name, r, c.PodCIDRs[i])
					}
					if j > 0 && c.Nodes[j-1].PodCIDRs[i].Overlaps(r) {
						t.Errorf("%s: two nodes have %s", family, r)
					}
				}
			}
		}
		// Of ranges that overlap one holds the other, so in order they are neighbours.
		slices.SortFunc(all, netip.Prefix.Compare)
		for i := 1; i < len(all); i++ {
			if all[i-1].Overlaps(all[i]) {
				t.Errorf("%s: %s and %s overlap", family, all[i-1], all[i])
			}
		}
	}
}

func TestFamilyLists(t *testing.T) {
	for family, want := range map[IPFamily][2]IPFamily{
		IPv6:             {IPv6, IPv6},
		"ipv6,ipv6":      {IPv6, IPv6},
		"ipv4,ipv6":      {Dual, "ipv4,ipv6"},
		"dual,ipv4":      {Dual, "dual,ipv4"},
		"ipv4,dual,ipv4": {Dual, "ipv4,dual,ipv4"},
	} {
		if got := [2]IPFamily{family.union(), family.short()}; got != want {
			t.Errorf("%s: union and short form %v, want %v", family, got, want)
		}
	}
}
