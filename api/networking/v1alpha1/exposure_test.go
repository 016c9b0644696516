package v1alpha1

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestExposedPorts(t *testing.T) {
	service := &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{
		{Name: "http", Port: 80}, {Name: "dns", Port: 53, Protocol: "UDP"}, {Name: "dns-tcp", Port: 53, Protocol: "TCP"},
	}}}
	for _, tt := range []struct {
		name  string
		ports []ExposurePort
		want  []string
	}{
		{"all, when none is named", nil, []string{"http", "dns", "dns-tcp"}},
		{"by name", []ExposurePort{{Name: "http"}}, []string{"http"}},
		{"by number, of both protocols", []ExposurePort{{Port: 53}}, []string{"dns", "dns-tcp"}},
		{"by both", []ExposurePort{{Name: "dns-tcp", Port: 53}}, []string{"dns-tcp"}},
		{"by both, of which one is another port's", []ExposurePort{{Name: "http", Port: 53}}, nil},
		{"in the Service's order, once", []ExposurePort{{Port: 53}, {Name: "http"}, {Name: "dns"}}, []string{"http", "dns", "dns-tcp"}},
	} {
		spec := MultiClusterServiceSpec{Ports: tt.ports}
		var got []string
		for _, p := range spec.ExposedPorts(service) {
			got = append(got, p.Name)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestClusters(t *testing.T) {
	spec := MultiClusterServiceSpec{
		Types: []ExposureType{ExposureTypeCrossCluster}, Range: ExposureRange{ClusterNames: []string{"c1"}},
		ProviderClusters: []ClusterSelector{{Name: "c2"}, {Name: "c3"}},
	}
	if got := spec.Consumers(); !slices.Equal(got, []string{"c1"}) {
		t.Errorf("by range: %v", got)
	}
	if got := spec.Providers(); !slices.Equal(got, []string{"c2", "c3"}) {
		t.Errorf("providers: %v", got)
	}
	spec.Range, spec.ConsumerClusters = ExposureRange{}, []ClusterSelector{{Name: "c4"}}
	if got := spec.Consumers(); !slices.Equal(got, []string{"c4"}) {
		t.Errorf("by consumerClusters: %v", got)
	}
	if !spec.Has(ExposureTypeCrossCluster) || spec.Has(ExposureTypeLoadBalancer) {
		t.Error("types")
	}
}
