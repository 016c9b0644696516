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
	selectors := func(names ...string) (all []ClusterSelector) {
		for _, n := range names {
			all = append(all, ClusterSelector{Name: n})
		}
		return all
	}
	for _, tt := range []struct {
		name                 string
		spec                 MultiClusterServiceSpec
		providers, consumers []string
	}{
		{"all", MultiClusterServiceSpec{}, nil, nil},
		{"range", MultiClusterServiceSpec{Range: ExposureRange{ClusterNames: []string{"c1"}}}, nil, []string{"c1"}},
		{"the current fields", MultiClusterServiceSpec{ProviderClusters: selectors("c2", "c3"), ConsumerClusters: selectors("c4")}, []string{"c2", "c3"}, []string{"c4"}},
		{"Karmada's deprecated fields", MultiClusterServiceSpec{ServiceProvisionClusters: []string{"c2", "c3"}, ServiceConsumptionClusters: []string{"c4"}}, []string{"c2", "c3"}, []string{"c4"}},
		{"the current fields replace the deprecated ones", MultiClusterServiceSpec{
			ProviderClusters: selectors("c1"), ServiceProvisionClusters: []string{"c2"}, ConsumerClusters: selectors("c3"), ServiceConsumptionClusters: []string{"c4"},
		}, []string{"c1"}, []string{"c3"}},
		{"one deprecated field", MultiClusterServiceSpec{ProviderClusters: selectors("c1"), ServiceConsumptionClusters: []string{"c4"}}, []string{"c1"}, []string{"c4"}},
		{"a deprecated field replaces range", MultiClusterServiceSpec{Range: ExposureRange{ClusterNames: []string{"c1"}}, ServiceConsumptionClusters: []string{"c4"}}, nil, []string{"c4"}},
	} {
		if got := tt.spec.Providers(); !slices.Equal(got, tt.providers) {
			t.Errorf("%s: providers are %v, want %v", tt.name, got, tt.providers)
		}
		if got := tt.spec.Consumers(); !slices.Equal(got, tt.consumers) {
			t.Errorf("%s: consumers are %v, want %v", tt.name, got, tt.consumers)
		}
	}
	spec := MultiClusterServiceSpec{Types: []ExposureType{ExposureTypeCrossCluster}}
	if !spec.Has(ExposureTypeCrossCluster) || spec.Has(ExposureTypeLoadBalancer) {
		t.Error("types")
	}
}
