package lost

import (
	"net/netip"
	"slices"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"
)

func slice(port int32, addresses ...string) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{}
	if port != 0 {
		s.Ports = []discoveryv1.EndpointPort{{}, {Port: ptr.To(port)}}
	}
	for _, a := range addresses {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{a}})
	}
	return s
}

func TestTargets(t *testing.T) {
	v4 := func(a netip.Addr) bool { return a.Is4() }
	asWritten := func(n int) (order []int) {
		for i := range n {
			order = append(order, i)
		}
		return order
	}
	for name, tt := range map[string]struct {
		slices []*discoveryv1.EndpointSlice
		limit  int
		want   []string
	}{
		"none":            {nil, 3, nil},
		"by turns":        {[]*discoveryv1.EndpointSlice{slice(80, "10.0.0.1", "10.0.0.2", "10.0.0.3"), slice(53, "10.0.1.1")}, 3, []string{"10.0.0.1:80", "10.0.1.1:53", "10.0.0.2:80"}},
		"all of few":      {[]*discoveryv1.EndpointSlice{slice(80, "10.0.0.1", "10.0.0.2")}, 9, []string{"10.0.0.1:80", "10.0.0.2:80"}},
		"each port once":  {[]*discoveryv1.EndpointSlice{slice(80, "10.0.0.1"), slice(80, "10.0.0.1", "10.0.0.2"), slice(81, "10.0.0.1")}, 9, []string{"10.0.0.1:80", "10.0.0.1:81", "10.0.0.2:80"}},
		"no port":         {[]*discoveryv1.EndpointSlice{slice(0, "10.0.0.1")}, 9, []string{"10.0.0.1:80"}},
		"an absurd port":  {[]*discoveryv1.EndpointSlice{slice(-7, "10.0.0.1")}, 9, []string{"10.0.0.1:80"}},
		"not allowed":     {[]*discoveryv1.EndpointSlice{slice(80, "fd00::1", "10.0.0.1")}, 9, []string{"10.0.0.1:80"}},
		"not an address":  {[]*discoveryv1.EndpointSlice{slice(80, "db.example.org", "10.0.0.1")}, 9, []string{"10.0.0.1:80"}},
		"nothing allowed": {[]*discoveryv1.EndpointSlice{slice(80, "fd00::1")}, 9, nil},
	} {
		var got []string
		for _, target := range Targets(tt.slices, tt.limit, asWritten, v4) {
			got = append(got, target.Address.String())
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
