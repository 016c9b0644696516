package endpoints

import (
	"fmt"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

func TestTruncated(t *testing.T) {
	mirrored := func(n int, change ...func(*discoveryv1.EndpointSlice)) *discoveryv1.EndpointSlice {
		s := source(fmt.Sprintf("mirrored-%d", n))
		s.Labels[discoveryv1.LabelManagedBy] = mirroringManager
		for i := range n {
			s.Endpoints = append(s.Endpoints, endpoint(fmt.Sprintf("10.0.%d.%d", i/250, i%250)))
		}
		for _, c := range change {
			c(s)
		}
		return s
	}
	v6 := func(s *discoveryv1.EndpointSlice) { s.AddressType = discoveryv1.AddressTypeIPv6 }
	others := func(s *discoveryv1.EndpointSlice) { s.Ports[0].Port = ptr.To(int32(9090)) }
	builtIn := func(s *discoveryv1.EndpointSlice) { s.Labels[discoveryv1.LabelManagedBy] = builtInManager }
	cut := func(s *discoveryv1.EndpointSlice) {
		s.Annotations["endpoints.kubernetes.io/over-capacity"] = "truncated"
	}
	for _, tt := range []struct {
		name    string
		sources []*discoveryv1.EndpointSlice
		want    bool
	}{
		{"none", nil, false},
		{"less than the most", []*discoveryv1.EndpointSlice{mirrored(999)}, false},
		{"the most", []*discoveryv1.EndpointSlice{mirrored(1000)}, true},
		{"both families together", []*discoveryv1.EndpointSlice{mirrored(600), mirrored(400, v6)}, true},
		{"each set of ports for itself", []*discoveryv1.EndpointSlice{mirrored(600), mirrored(600, others)}, false},
		{"cut before it was mirrored", []*discoveryv1.EndpointSlice{mirrored(3, cut)}, true},
		{"not mirrored", []*discoveryv1.EndpointSlice{mirrored(1000, builtIn)}, false},
	} {
		if got := Truncated(tt.sources); got != tt.want {
			t.Errorf("%s: truncated %t", tt.name, got)
		}
	}
}

func TestFirstUnsupported(t *testing.T) {
	fqdn := func(name string) *discoveryv1.EndpointSlice {
		s := source(name)
		s.AddressType = discoveryv1.AddressTypeFQDN
		return s
	}
	ours, going := fqdn("0"), fqdn("1")
	ours.Labels[discoveryv1.LabelManagedBy] = names.AgentManager
	going.DeletionTimestamp = ptr.To(metav1.Now())
	if first, more := FirstUnsupported([]*discoveryv1.EndpointSlice{source("a"), ours, going}); first != nil || more != 0 {
		t.Errorf("got %v and %d more", first, more)
	}
	first, more := FirstUnsupported([]*discoveryv1.EndpointSlice{fqdn("d"), source("a"), ours, going, fqdn("b"), fqdn("c")})
	if first == nil || first.Name != "b" || more != 2 {
		t.Errorf("got %v and %d more", first, more)
	}
}

// Slices that are marked as another cluster's are reported only if no other slice backs the
// Service.
func TestFirstForeign(t *testing.T) {
	foreign := func(name string) *discoveryv1.EndpointSlice {
		s := source(name)
		s.Labels[names.LabelSourceCluster], s.Labels[discoveryv1.LabelManagedBy] = "c2", "somebody"
		return s
	}
	karmada, ours, going := source("k"), foreign("0"), foreign("1")
	karmada.Labels[discoveryv1.LabelManagedBy] = karmadaManager
	ours.Labels[discoveryv1.LabelManagedBy] = names.AgentManager
	going.DeletionTimestamp = ptr.To(metav1.Now())
	for _, tt := range []struct {
		name    string
		sources []*discoveryv1.EndpointSlice
		first   string
		more    int
	}{
		{"none", nil, "", 0},
		{"imported by Atoll, or going", []*discoveryv1.EndpointSlice{ours, going}, "", 0},
		{"beside the cluster's own", []*discoveryv1.EndpointSlice{foreign("a"), source("b")}, "", 0},
		{"alone", []*discoveryv1.EndpointSlice{ours, karmada, foreign("c"), foreign("b"), going}, "b", 2},
	} {
		first, more := FirstForeign(tt.sources)
		if first == nil && tt.first != "" || first != nil && first.Name != tt.first || more != tt.more {
			t.Errorf("%s: got %v and %d more", tt.name, first, more)
		}
	}
}
