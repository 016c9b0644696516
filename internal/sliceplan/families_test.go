package sliceplan

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

// Pitfall 15: a slice keeps the address type that its source has, whatever the families
// of the import and their order; one of a family that the import or the export does not
// have is not imported, by headless imports neither.
func TestFamiliesOfImportedSlices(t *testing.T) {
	four := source("four", discoveryv1.Endpoint{Addresses: []string{"10.0.0.1"}})
	six := source("six", discoveryv1.Endpoint{Addresses: []string{"fd00::1"}})
	six.AddressType = discoveryv1.AddressTypeIPv6
	sources := []*discoveryv1.EndpointSlice{four, six}

	const v4, v6 = corev1.IPv4Protocol, corev1.IPv6Protocol
	for _, tt := range []struct {
		name             string
		imported, export []corev1.IPFamily
		want             string
	}{
		{"both", []corev1.IPFamily{v4, v6}, []corev1.IPFamily{v4, v6}, "IPv4=10.0.0.1 IPv6=fd00::1"},
		{"both in another order", []corev1.IPFamily{v6, v4}, []corev1.IPFamily{v4, v6}, "IPv4=10.0.0.1 IPv6=fd00::1"},
		{"an import of IPv4", []corev1.IPFamily{v4}, []corev1.IPFamily{v4, v6}, "IPv4=10.0.0.1"},
		{"an import of IPv6", []corev1.IPFamily{v6}, []corev1.IPFamily{v4, v6}, "IPv6=fd00::1"},
		{"addresses that the exported Service does not use itself", []corev1.IPFamily{v4, v6}, []corev1.IPFamily{v4}, "IPv4=10.0.0.1"},
		{"nothing in common", []corev1.IPFamily{v4}, []corev1.IPFamily{v6}, ""},
		{"an import of none", nil, []corev1.IPFamily{v4, v6}, ""},
		{"an exporter that does not say", []corev1.IPFamily{v6}, nil, "IPv6=fd00::1"},
	} {
		for _, own := range []bool{true, false} {
			for _, kind := range []mcsv1beta1.ServiceImportType{mcsv1beta1.ClusterSetIP, mcsv1beta1.Headless} {
				p := Importation{
					Import: serviceImport(http), DerivedService: "d", Cluster: "c1", Ports: []mcsv1beta1.ServicePort{http},
					IPFamilies: tt.export, Sources: sources, Own: own, MaxEndpoints: 100,
				}
				p.Import.Spec.Type, p.Import.Spec.IPFamilies = kind, tt.imported
				if !own {
					p.Sources = nil
					for _, s := range publish(publication(sources...)) {
						p.Sources = append(p.Sources, &s)
					}
				}
				var got []string
				for _, s := range Import(p) {
					got = append(got, string(s.AddressType)+"="+s.Endpoints[0].Addresses[0])
				}
				if joined := strings.Join(got, " "); joined != tt.want {
					t.Errorf("%s (%s, own: %t): got %q, want %q", tt.name, kind, own, joined, tt.want)
				}
			}
		}
	}
}
