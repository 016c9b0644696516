package sliceplan

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

func TestMoved(t *testing.T) {
	slice := func(name string, addresses ...string) *discoveryv1.EndpointSlice {
		s := &discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv6}
		s.Name = name
		for _, a := range addresses {
			s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{a}})
		}
		return s
	}
	list := func(s ...*discoveryv1.EndpointSlice) []*discoveryv1.EndpointSlice { return s }
	for name, test := range map[string]struct {
		have, want, others []*discoveryv1.EndpointSlice
		moved              bool
	}{
		"nothing changes":             {list(slice("a", "1")), list(slice("a", "1")), list(slice("b", "1")), false},
		"something comes":             {list(slice("a", "1")), list(slice("a", "1", "2")), list(slice("b", "1", "2")), false},
		"something goes":              {list(slice("a", "1", "2")), list(slice("a", "1")), list(slice("b", "3")), false},
		"something goes to another":   {list(slice("a", "1", "2")), list(slice("a", "1")), list(slice("b", "3"), slice("c", "2")), true},
		"all go, one to another":      {list(slice("a", "1", "2")), nil, list(slice("b", "2")), true},
		"in another way of writing":   {list(slice("a", "fd00::1")), nil, list(slice("b", "fd00:0::1")), true},
		"it goes to one of its own":   {list(slice("a", "1", "2"), slice("a-2", "3")), list(slice("a", "1"), slice("a-2", "2", "3")), list(slice("b", "2")), false},
		"it is in one of its own too": {list(slice("a", "1", "2"), slice("a-2", "2")), list(slice("a", "1"), slice("a-2", "2")), list(slice("b", "2")), false},
	} {
		t.Run(name, func(t *testing.T) {
			var want []discoveryv1.EndpointSlice
			for _, w := range test.want {
				want = append(want, *w)
			}
			if got := Moved(test.have, want, test.others); got != test.moved {
				t.Errorf("got %v, want %v", got, test.moved)
			}
		})
	}
}

// An endpoint that moves from one slice to another is written there before it is taken away
// here, whatever else changes, and however long single writes take.
func TestWhatMovesIsAlwaysSomewhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) (list []discoveryv1.EndpointSlice) {
			in := map[string]int{} // the slice that an address is in
			for i := range 8 {
				in[fmt.Sprintf("10.0.0.%d", i)] = rapid.IntRange(-1, 2).Draw(t, name)
			}
			for i := range 3 {
				s := discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(i), UID: types.UID(fmt.Sprint(i))}, AddressType: discoveryv1.AddressTypeIPv4}
				for _, address := range slices.Sorted(maps.Keys(in)) {
					if in[address] == i {
						s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{address}})
					}
				}
				if len(s.Endpoints) > 0 {
					list = append(list, s)
				}
			}
			return list
		}
		have, want := draw("have"), draw("want")
		changes := Diff(pointers(have), want)
		if givesAndTakes(changes, have) {
			t.Skip("of two slices that lose endpoints to each other none can be written first")
		}
		kept := map[string]bool{}
		for _, s := range have {
			for _, e := range s.Endpoints {
				kept[e.Addresses[0]] = slices.ContainsFunc(want, func(w discoveryv1.EndpointSlice) bool {
					return slices.ContainsFunc(w.Endpoints, func(f discoveryv1.Endpoint) bool { return f.Addresses[0] == e.Addresses[0] })
				})
			}
		}
		now := pointers(have)
		for _, one := range oneByOne(changes) {
			now = apply(now, one)
			there := addresses(now, func(s *discoveryv1.EndpointSlice) []discoveryv1.Endpoint { return s.Endpoints })
			for address, stays := range kept {
				if stays && !slices.Contains(there, address) {
					t.Fatalf("%s is nowhere after %+v", address, one)
				}
			}
		}
		if again := Diff(now, want); !again.Empty() {
			t.Fatalf("there is still %+v", again)
		}
	})
}

// givesAndTakes tells whether a slice that loses an endpoint to another one also gets one that a
// third one, or the same, loses to it.
func givesAndTakes(changes Changes, have []discoveryv1.EndpointSlice) bool {
	was := map[string]string{}
	for _, s := range have {
		for _, e := range s.Endpoints {
			was[e.Addresses[0]] = s.Name
		}
	}
	return slices.ContainsFunc(changes.Release, func(s *discoveryv1.EndpointSlice) bool {
		return slices.ContainsFunc(s.Endpoints, func(e discoveryv1.Endpoint) bool {
			from, moved := was[e.Addresses[0]]
			return moved && from != s.Name
		})
	})
}
