package sliceplan

import (
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
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
