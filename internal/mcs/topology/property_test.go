package topology

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// kubeProxy returns the ready endpoints that kube-proxy uses on a node, according to its
// pkg/proxy/topology.go. Node hints count if every ready endpoint has some and an endpoint has
// this node's. Otherwise zone hints count in the same way. Otherwise all endpoints are used.
func kubeProxy(slices []discoveryv1.EndpointSlice, node, zone string) []discoveryv1.Endpoint {
	var ready, forNode, forZone []discoveryv1.Endpoint
	nodes, zones := true, true
	for i := range slices {
		for _, e := range slices[i].Endpoints {
			if !ptr.Deref(e.Conditions.Ready, true) {
				continue
			}
			ready = append(ready, e)
			hints := ptr.Deref(e.Hints, discoveryv1.EndpointHints{})
			nodes = nodes && len(hints.ForNodes) > 0
			zones = zones && len(hints.ForZones) > 0
			for _, n := range hints.ForNodes {
				if n.Name == node {
					forNode = append(forNode, e)
				}
			}
			for _, z := range hints.ForZones {
				if z.Name == zone {
					forZone = append(forZone, e)
				}
			}
		}
	}
	switch {
	case nodes && len(forNode) > 0:
		return forNode
	case zones && len(forZone) > 0:
		return forZone
	}
	return ready
}

// world is a service's endpoints and where they are seen from. The nodes of each cluster
// bear the same names.
type world struct {
	from   Viewpoint
	slices []discoveryv1.EndpointSlice
}

func zoneName(i int) string { return fmt.Sprintf("z%02d", i) }

func drawWorld(t *rapid.T, zonesMax int) world {
	w := world{from: Viewpoint{
		Cluster:     "c1",
		SharedZones: rapid.Bool().Draw(t, "shared"),
		Near:        func(id names.ClusterID) bool { return id == "c2" || id == "c3" },
	}}
	for i := range rapid.IntRange(0, zonesMax).Draw(t, "zones") {
		w.from.Zones = append(w.from.Zones, zoneName(i))
	}
	for _, cluster := range []string{"c1", "c2", "c3", "c4", "c5"} {
		for range rapid.IntRange(0, 2).Draw(t, "slices of "+cluster) {
			s := imported(cluster, "IPv4")
			for range rapid.IntRange(0, 4).Draw(t, "endpoints") {
				s.Endpoints = append(s.Endpoints, drawEndpoint(t, zonesMax))
				s.Endpoints[len(s.Endpoints)-1].Addresses = []string{fmt.Sprintf("%s-%d-%d", cluster, len(w.slices), len(s.Endpoints))}
			}
			w.slices = append(w.slices, s)
		}
	}
	return w
}

func drawEndpoint(t *rapid.T, zonesMax int) discoveryv1.Endpoint {
	zone := zoneName(rapid.IntRange(0, zonesMax).Draw(t, "zone"))
	if rapid.IntRange(0, 5).Draw(t, "zoneless") == 0 {
		zone = ""
	}
	node := rapid.SampledFrom([]string{"", "n1", "n2"}).Draw(t, "node")
	return endpoint(zone, node, rapid.SampledFrom([]*bool{nil, ptr.To(true), ptr.To(false)}).Draw(t, "ready"))
}

// hinted returns the slices as an agent writes them, separately for each cluster.
func (w world) hinted(distribution string) []discoveryv1.EndpointSlice {
	ready := Ready{}
	for i := range w.slices {
		ready.Add(&w.slices[i])
	}
	var all []discoveryv1.EndpointSlice
	for i := range w.slices {
		part := []discoveryv1.EndpointSlice{*w.slices[i].DeepCopy()}
		Hint(part, serviceImport(distribution), w.from, ready)
		all = append(all, part...)
	}
	return all
}

// best returns the addresses that a node should use: those of the first rank with any address.
// It is independent of the code under test.
func (w world) best(node, zone string) []string {
	ranks := make([][]string, 5)
	for i := range w.slices {
		cluster := names.ClusterID(w.slices[i].Labels[names.LabelSourceCluster])
		for _, e := range w.slices[i].Endpoints {
			if !isReady(&e) {
				continue
			}
			rank := 4
			switch own := cluster == "c1"; {
			case own && node != "" && ptr.Deref(e.NodeName, "") == node:
				rank = 0
			case (own || w.from.SharedZones) && ptr.Deref(e.Zone, "") == zone:
				rank = 1
			case own:
				rank = 2
			case w.from.Near(cluster):
				rank = 3
			}
			ranks[rank] = append(ranks[rank], e.Addresses[0])
		}
	}
	for r := range ranks {
		if len(ranks[r]) > 0 {
			slices.Sort(ranks[r])
			return ranks[r]
		}
	}
	return nil
}

func addresses(endpoints []discoveryv1.Endpoint) []string {
	var all []string
	for _, e := range endpoints {
		all = append(all, e.Addresses[0])
	}
	slices.Sort(all)
	return all
}

// Each zone of the cluster follows the order of preference, and has endpoints if any endpoint
// is ready.
func TestKubeProxyKeepsTheOrderOfPreference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t, 4)
		byZone, byNode := w.hinted("PreferSameZone"), w.hinted("PreferSameNode")
		for _, zone := range w.from.Zones {
			if diff := cmp.Diff(w.best("", zone), addresses(kubeProxy(byZone, "n1", zone))); diff != "" {
				t.Errorf("PreferSameZone in %s (-want +got):\n%s", zone, diff)
			}
			for _, node := range []string{"n1", "n2", "n3"} {
				if diff := cmp.Diff(w.best(node, zone), addresses(kubeProxy(byNode, node, zone))); diff != "" {
					t.Errorf("PreferSameNode on %s in %s (-want +got):\n%s", node, zone, diff)
				}
			}
		}
	})
}

// With any number of zones, either every ready endpoint has hints for at most 8 zones, or none
// has hints. With hints, every zone is served by the preferred endpoints only.
func TestManyZones(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t, 30)
		plan := w.hinted("PreferClose")
		with, without := 0, 0
		for i := range plan {
			for _, e := range plan[i].Endpoints {
				switch {
				case !isReady(&e):
					if e.Hints != nil {
						t.Errorf("%v is not ready and has hints %+v", e.Addresses, e.Hints)
					}
				case e.Hints == nil:
					without++
				default:
					with++
					if n := len(e.Hints.ForZones); n < 1 || n > MaxZones {
						t.Errorf("%v has %d zones", e.Addresses, n)
					}
				}
			}
		}
		if with > 0 && without > 0 {
			t.Errorf("%d endpoints have hints and %d have none", with, without)
		}
		if with == 0 {
			return
		}
		for _, zone := range w.from.Zones {
			reached := addresses(kubeProxy(plan, "n1", zone))
			if len(reached) == 0 {
				t.Errorf("no endpoint serves %s", zone)
			}
			best := w.best("", zone)
			for _, address := range reached {
				if !slices.Contains(best, address) {
					t.Errorf("%s is served by %s instead of %v", zone, address, best)
				}
			}
		}
	})
}

// A change of an endpoint's readiness changes the hints of other endpoints only if it is the
// first or last ready endpoint of its place.
func TestOneEndpointTouchesOnlyWhatItMust(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t, 12)
		w.slices = append(w.slices, imported("c1", "IPv4", endpoint("z01", "", nil), endpoint("z01", "", nil)))
		before := w.hinted("PreferSameZone")
		last := len(w.slices) - 1
		w.slices[last].Endpoints[0].Conditions.Ready = ptr.To(false)
		after := w.hinted("PreferSameZone")
		before[last].Endpoints[0], after[last].Endpoints[0] = discoveryv1.Endpoint{}, discoveryv1.Endpoint{}
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("other endpoints changed (-before +after):\n%s", diff)
		}
	})
}

// Endpoints that are farther away than the nearest do not affect the hints of others, unless
// zones are shared.
func TestFartherOnesTouchNobody(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t, 12)
		w.from.SharedZones = false
		w.slices = slices.DeleteFunc(w.slices, func(s discoveryv1.EndpointSlice) bool { return s.Labels[names.LabelSourceCluster] > "c3" })
		w.slices = append(w.slices, imported("c2", "IPv4", endpoint("", "", nil)))
		before := w.hinted("PreferSameZone")
		w.slices = append(w.slices, imported("c4", "IPv4", drawEndpoint(t, 12)))
		after := w.hinted("PreferSameZone")
		if diff := cmp.Diff(before, after[:len(before)]); diff != "" {
			t.Errorf("nearer endpoints changed (-before +after):\n%s", diff)
		}
	})
}
