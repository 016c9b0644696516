package importedslice

import (
	"maps"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/atoll-mcs/atoll/internal/local"
	"github.com/atoll-mcs/atoll/internal/names"
	"github.com/atoll-mcs/atoll/internal/sliceplan"
)

// Addresses that are left out are counted as long as they are, whether all of a part is looked at or one slice.
func TestStrangersAreCounted(t *testing.T) {
	slice := func(name string, addresses ...string) *discoveryv1.EndpointSlice {
		return &discoveryv1.EndpointSlice{
			ObjectMeta:  metav1.ObjectMeta{Annotations: map[string]string{names.AnnotationSourceSlice: name}},
			AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{{Addresses: addresses}},
		}
	}
	web, db := local.Part{Cluster: "c2"}, local.Part{Cluster: "c3"}
	web.Service.Name, db.Service.Name = "web", "db"
	var s strangers
	for i, step := range []struct {
		req     Request
		sources []*discoveryv1.EndpointSlice
		want    map[string]int
	}{
		{Request{Part: web}, []*discoveryv1.EndpointSlice{slice("a", "127.0.0.1", "10.0.0.1", "127.0.0.2"), slice("b", "10.0.0.2")}, map[string]int{"c2": 2}},
		{Request{Part: web, Slice: "b"}, []*discoveryv1.EndpointSlice{slice("b", "127.0.0.3"), slice("b", "127.0.0.4")}, map[string]int{"c2": 4}},
		{Request{Part: db, Slice: "c"}, []*discoveryv1.EndpointSlice{slice("c", "127.0.0.5")}, map[string]int{"c2": 4, "c3": 1}},
		{Request{Part: web, Slice: "a"}, []*discoveryv1.EndpointSlice{slice("a", "10.0.0.1")}, map[string]int{"c2": 2, "c3": 1}},
		{Request{Part: db, Slice: "c"}, nil, map[string]int{"c2": 2}},
		{Request{Part: web}, nil, map[string]int{}},
		{Request{Part: db}, []*discoveryv1.EndpointSlice{slice("c", "127.0.0.5")}, map[string]int{"c3": 1}},
	} {
		admitted, _ := sliceplan.Network{}.Admit(step.req.Cluster, step.sources)
		s.note(step.req, step.sources, admitted)
		if got := s.counts(); !maps.Equal(got, step.want) {
			t.Errorf("step %d: %v, want %v", i, got, step.want)
		}
	}
	s.forget(db)
	if got := s.counts(); len(got) > 0 || len(s.of) > 0 {
		t.Errorf("in the end: %v", s.of)
	}
}
