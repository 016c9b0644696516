package endpoints

import (
	"strings"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"
)

// A slice written as "a b,c !d" has three endpoints, of which the second has two addresses and
// the last is not ready.
func sliceOf(text string) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{}
	for _, e := range strings.Fields(text) {
		addresses, unready := strings.CutPrefix(e, "!")
		endpoint := discoveryv1.Endpoint{Addresses: strings.Split(addresses, ",")}
		if unready {
			endpoint.Conditions.Ready = ptr.To(false)
		}
		s.Endpoints = append(s.Endpoints, endpoint)
	}
	return s
}

func TestLimit(t *testing.T) {
	for _, tt := range []struct {
		slice        string
		ports, units int
		want         string
	}{
		{"a b", 1, 2, "a b"},
		{"a b", 1, 1, "a"},
		{"a b", 1, 0, ""},
		{"!a b !c", 1, 2, "a b"},
		{"!a b", 1, 1, "b"},
		{"a,b c", 1, 2, "a,b"},
		{"c a,b d", 1, 2, "c d"},
		{"a,b", 1, 1, ""},
		{"a b c", 2, 4, "a b"},
		{"", 3, 1, ""},
	} {
		source := sliceOf(tt.slice)
		source.Ports = make([]discoveryv1.EndpointPort, tt.ports)
		before := source.DeepCopy()
		got := Limit(source, tt.units)
		var endpoints []string
		for _, e := range got.Endpoints {
			endpoints = append(endpoints, strings.Join(e.Addresses, ","))
		}
		if text := strings.Join(endpoints, " "); text != tt.want || Units(got) > max(1, tt.units) {
			t.Errorf("%q in %d: %q, %d units; want %q", tt.slice, tt.units, text, Units(got), tt.want)
		}
		if !Same(before, source) {
			t.Errorf("%q: the source was changed", tt.slice)
		}
	}
}
