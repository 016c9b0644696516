package topology

import (
	"fmt"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

func drawReady(t *rapid.T) Ready {
	ready := Ready{}
	for range rapid.IntRange(0, 3).Draw(t, "places") {
		addressType := rapid.SampledFrom([]discoveryv1.AddressType{discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6}).Draw(t, "type")
		if ready[addressType] == nil {
			ready[addressType] = map[Place]bool{}
		}
		ready[addressType][Place{
			Cluster: rapid.SampledFrom([]names.ClusterID{"c1", "c2"}).Draw(t, "cluster"),
			Zone:    rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "zone"),
		}] = true
	}
	return ready
}

// union returns the places with ready endpoints in any slice.
func union(slices map[string]Ready, except ...string) Ready {
	all := Ready{}
	for name, ready := range slices {
		if len(except) > 0 && name == except[0] {
			continue
		}
		for addressType, places := range ready {
			if all[addressType] == nil {
				all[addressType] = map[Place]bool{}
			}
			for place := range places {
				all[addressType][place] = true
			}
		}
	}
	return all
}

func TestCensusKnowsWhatCountingAnewFinds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c Census
		services := []types.NamespacedName{{Namespace: "a", Name: "x"}, {Namespace: "b", Name: "x"}}
		slices := map[types.NamespacedName]map[string]Ready{services[0]: {}, services[1]: {}}
		for range rapid.IntRange(1, 30).Draw(t, "events") {
			service := rapid.SampledFrom(services).Draw(t, "service")
			name := fmt.Sprint(rapid.IntRange(0, 3).Draw(t, "slice"))
			before := union(slices[service])
			var ready Ready
			if rapid.Bool().Draw(t, "there") {
				ready = drawReady(t)
			}
			slices[service][name] = ready
			changed := c.Put(service, name, ready)
			after := union(slices[service])
			if changed != !before.Equal(after) {
				t.Fatalf("%v became %v: changed %v", before, after, changed)
			}
			if got := c.tally(service).ready(); !got.Equal(after) {
				t.Fatalf("counted %v, want %v", got, after)
			}
			if got := c.tally(service).without(name); !got.Equal(union(slices[service], name)) {
				t.Fatalf("without %s counted %v, want %v", name, got, union(slices[service], name))
			}
		}
		for service, all := range slices {
			for name := range all {
				c.Put(service, name, nil)
			}
		}
		if len(c.services) > 0 {
			t.Fatalf("left: %v", c.services)
		}
	})
}

// An endpoint moves from one slice to another, and both slices are written concurrently with
// stale caches. The places of the service are the same before and after, but the hints of one
// slice were computed for other places.
func TestCensusFindsHintsForOtherPlaces(t *testing.T) {
	var c Census
	service := types.NamespacedName{Namespace: "shop", Name: "web"}
	slice := func(name string, addresses ...string) *discoveryv1.EndpointSlice {
		s := &discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{}}}
		s.Name = name
		for _, address := range addresses {
			s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{address}})
		}
		return s
	}
	write := func(s *discoveryv1.EndpointSlice) bool { return c.Put(service, s.Name, ReadyIn(s)) }
	write(slice("from", "10.1.1.1"))
	c.Plan(service, slice("to", "10.1.1.1"))
	c.Plan(service, slice("from"))
	if !write(slice("to", "10.1.1.1")) {
		t.Error("the outdated hints of slice from were not detected")
	}
	c.Plan(service, slice("from"))
	if write(slice("from")) {
		t.Error("Census reports a change although all hints are correct")
	}
	if write(slice("to")); len(c.services) > 0 {
		t.Errorf("left: %v", c.services)
	}
}
