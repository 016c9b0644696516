package lab

import (
	"slices"
	"testing"
)

// In cluster-ip mode, other clusters and the broker have routes to a cluster's Services but not
// to its pods. The cluster's own nodes have all routes.
func TestPodsAreHiddenWhereClusterIPsAreAdvertised(t *testing.T) {
	s := newSpec(Shape{Name: "x", Clusters: 3, Nodes: 2, IPFamily: Dual, AdvertiseMode: "cluster-ip,pods,cluster-ip"})
	for _, tt := range []struct {
		cluster, node string
		reached       []string // clusters with a way to pods of another node
	}{
		{"c1", "c1-n2", []string{"c1", "c2"}},
		{"c2", "c2-n1", []string{"c2"}},
		{"c3", "c3-n1", []string{"c2", "c3"}},
		{Broker, Broker, []string{"c2"}},
	} {
		routes := s.routes(tt.cluster, nodeOf(t, s, tt.node))
		for _, c := range s.Clusters {
			pods, services := 0, 0
			for _, r := range routes {
				for i := range c.PodCIDRs {
					if c.PodCIDRs[i].Overlaps(r.To) && r.To.Bits() > 0 {
						pods++
					}
				}
				if slices.Contains(c.ServiceCIDRs, r.To) {
					services++
				}
			}
			if want := slices.Contains(tt.reached, c.Name); (pods > 0) != want {
				t.Errorf("%s has %d routes to pods of %s", tt.node, pods, c.Name)
			}
			if want := c.Name != tt.cluster; (services == 2) != want {
				t.Errorf("%s has %d routes to services of %s", tt.node, services, c.Name)
			}
		}
	}
}

func TestEqualModesAreOfEqualShape(t *testing.T) {
	for mode, want := range map[AdvertiseMode]AdvertiseMode{
		"": "", "pods": "", "pods,pods": "", "cluster-ip": "cluster-ip",
		"cluster-ip,cluster-ip": "cluster-ip", "pods,cluster-ip": "pods,cluster-ip",
	} {
		if got := mode.short(); got != want {
			t.Errorf("%q: %q, want %q", mode, got, want)
		}
	}
}

// nodeOf finds a node by its name.
func nodeOf(t *testing.T, s *Spec, name string) *Node {
	t.Helper()
	for _, c := range s.Clusters {
		for i := range c.Nodes {
			if c.Nodes[i].Name == name {
				return &c.Nodes[i]
			}
		}
	}
	t.Fatalf("there is no node %s", name)
	return nil
}
