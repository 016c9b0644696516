package sliceplan

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
		slices string
		units  int
		want   string // the slices' addresses
	}{
		{"a b", 2, "a b"},
		{"a b", 1, "a"},
		{"a b", 0, "none"},
		{"!a b !c", 2, "a b"},
		{"!a b", 1, "b"},
		{"a,b c", 2, "a,b"},
		{"c a,b d", 2, "c d"},
		{"a,b", 1, ""},
		{"a | b c", 2, "a | b"},
		{"a b | c", 2, "a b"},
		{" | a", 1, ""},
		{" | a", 2, " | a"},
	} {
		var sources []*discoveryv1.EndpointSlice
		for _, s := range strings.Split(tt.slices, "|") {
			sources = append(sources, sliceOf(s))
		}
		before := sources[0].DeepCopy()
		var got []string
		total := 0
		for _, s := range Limit(sources, tt.units) {
			var endpoints []string
			for _, e := range s.Endpoints {
				endpoints = append(endpoints, strings.Join(e.Addresses, ","))
			}
			got = append(got, strings.Join(endpoints, " "))
			total += Units(s)
		}
		text := strings.Join(got, " | ")
		if got == nil {
			text = "none"
		}
		if text != tt.want || total > tt.units {
			t.Errorf("%q in %d: %q, %d units; want %q", tt.slices, tt.units, text, total, tt.want)
		}
		if len(before.Endpoints) != len(sources[0].Endpoints) {
			t.Errorf("%q: the source was changed", tt.slices)
		}
	}
}
