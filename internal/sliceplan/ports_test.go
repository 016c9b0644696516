package sliceplan

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/derived"
	"github.com/atoll-mcs/atoll/internal/merge"
	"github.com/atoll-mcs/atoll/internal/names"
)

// drawPorts draws ports as one Service may have them, from few names and numbers, so that
// those of several Services clash often.
func drawPorts(t *rapid.T, label string) []mcsv1beta1.ServicePort {
	var ports []mcsv1beta1.ServicePort
	for range rapid.IntRange(1, 4).Draw(t, label) {
		p := mcsv1beta1.ServicePort{
			Name:     rapid.SampledFrom([]string{"", "a", "1-tcp", "2-udp"}).Draw(t, "name"),
			Protocol: rapid.SampledFrom([]corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP}).Draw(t, "protocol"),
			Port:     rapid.Int32Range(1, 2).Draw(t, "number"),
		}
		if !slices.ContainsFunc(ports, func(q mcsv1beta1.ServicePort) bool {
			return q.Name == p.Name || q.Protocol == p.Protocol && q.Port == p.Port
		}) {
			ports = append(ports, p)
		}
	}
	if len(ports) > 1 { // the API wants names then
		ports = slices.DeleteFunc(ports, func(p mcsv1beta1.ServicePort) bool { return p.Name == "" })
	}
	return ports
}

// slicePorts are the ports of a slice as the built-in controller makes them for a Service.
func slicePorts(of []mcsv1beta1.ServicePort) []discoveryv1.EndpointPort {
	var ports []discoveryv1.EndpointPort
	for _, p := range of {
		ports = append(ports, discoveryv1.EndpointPort{Name: ptr.To(p.Name), Protocol: ptr.To(p.Protocol), Port: ptr.To(8000 + p.Port)})
	}
	return ports
}

// Pitfall 11: whatever ports clusters export, with names and without, every port of an
// imported slice is one of the derived Service's, by name and protocol, as kube-proxy
// matches them; and each of the Service's ports has the slices of a cluster behind it.
func TestPortsOfSlicesAreTheDerivedServices(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var exports []merge.Export
		for i := range rapid.IntRange(1, 3).Draw(t, "clusters") {
			exports = append(exports, merge.Export{
				ClusterID: fmt.Sprintf("c%d", i), ExportedAt: metav1.Unix(int64(i), 0), Type: mcsv1beta1.ClusterSetIP,
				Ports: drawPorts(t, "ports"), IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol},
			})
		}
		imp := &mcsv1beta1.ServiceImport{Spec: merge.Resolve(exports).Spec}
		service := &corev1.Service{}
		derived.Apply(service, imp)

		served := map[string]bool{}
		for _, e := range exports {
			s := source("web-x", discoveryv1.Endpoint{Addresses: []string{"10.0.0.1"}})
			s.Ports = slicePorts(e.Ports)
			for _, slice := range Import(Importation{
				Import: imp, DerivedService: "d", Cluster: names.ClusterID(e.ClusterID), Ports: e.Ports, Own: true,
				Sources: []*discoveryv1.EndpointSlice{s}, MaxEndpoints: 100,
			}) {
				for _, p := range slice.Ports {
					i := slices.IndexFunc(service.Spec.Ports, func(q corev1.ServicePort) bool {
						return q.Name == *p.Name && q.Protocol == *p.Protocol
					})
					if i < 0 {
						t.Fatalf("%s's slice has port %s/%s, the Service only %+v", e.ClusterID, *p.Name, *p.Protocol, service.Spec.Ports)
					}
					if *p.Port != 8000+service.Spec.Ports[i].Port {
						t.Fatalf("port %d of the Service leads to port %d in %s", service.Spec.Ports[i].Port, *p.Port, e.ClusterID)
					}
					served[*p.Name] = true
				}
			}
		}
		for _, p := range service.Spec.Ports {
			if !served[p.Name] {
				t.Fatalf("nobody serves port %+v", p)
			}
		}
	})
}
