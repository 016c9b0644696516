package lab

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
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
		"proxy mode":         {func(s *Shape) { s.ProxyMode = "iptables" }, ""},
		"another proxy mode": {func(s *Shape) { s.ProxyMode = "ipvs" }, "nftables or iptables"},
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

// TestNoOverlap checks the largest lab: no two ranges overlap, a node's pods are in its
// cluster's range, and every IP family has all ranges.
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
		// If two ranges overlap, one contains the other, so they are adjacent in sorted order.
		slices.SortFunc(all, netip.Prefix.Compare)
		for i := 1; i < len(all); i++ {
			if all[i-1].Overlaps(all[i]) {
				t.Errorf("%s: %s and %s overlap", family, all[i-1], all[i])
			}
		}
	}
}

func TestShrinkServices(t *testing.T) {
	for bits, want := range map[int]string{0: "10.101.0.0/16", 22: "10.101.0.0/22"} {
		s := newSpec(Shape{Name: "x", Clusters: 1, Nodes: 1, IPFamily: Dual})
		s.shrinkServices(bits)
		c1 := s.Clusters[0]
		if got := texts(c1.ServiceCIDRs); !slices.Equal(got, []string{want, "fd00:20:1::/112"}) {
			t.Errorf("%d bits: the ranges are %v", bits, got)
		}
		if !c1.ServiceCIDRs[0].Contains(c1.DNS[0]) {
			t.Errorf("%d bits: the DNS service is outside the range", bits)
		}
	}
}
