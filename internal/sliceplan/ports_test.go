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

// Pitfall 11: whatever ports clusters export, with names and without, each port of the derived Service and each of the
// import has the slices of a cluster behind it, found by name and protocol: as kube-proxy matches the former, and
// implementations of the Gateway API the latter. Only an import's port whose name another port has in the Service is not.
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
				byName := map[string]int32{}
				for _, p := range slice.Ports {
					if _, twice := byName[*p.Name]; twice {
						t.Fatalf("%s's slice has two ports %q, which the API refuses", e.ClusterID, *p.Name)
					}
					byName[*p.Name] = *p.Port
					known := false
					for i, q := range service.Spec.Ports {
						if q.Name != *p.Name && imp.Spec.Ports[i].Name != *p.Name || q.Protocol != *p.Protocol {
							continue
						}
						if *p.Port == 8000+q.Port {
							known, served[q.Name] = true, true
						} else if q.Name == *p.Name {
							t.Fatalf("port %d of the Service leads to port %d in %s", q.Port, *p.Port, e.ClusterID)
						}
					}
					if !known {
						t.Fatalf("%s's slice has port %s/%s, the Service only %+v", e.ClusterID, *p.Name, *p.Protocol, service.Spec.Ports)
					}
				}
				for i, q := range service.Spec.Ports {
					own := imp.Spec.Ports[i].Name
					taken := slices.ContainsFunc(service.Spec.Ports, func(o corev1.ServicePort) bool { return o.Name == own && o != q })
					if to, there := byName[q.Name]; there && !taken && byName[own] != to {
						t.Fatalf("the import's port %q leads to %d, and the Service's to %d", own, byName[own], to)
					}
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

// A port without a name in the import is found by that and by the name that it has in the derived Service; under the
// one alone in a headless import, whose ports DNS answers with.
func TestUnnamedPortHasBothNames(t *testing.T) {
	exported := []mcsv1beta1.ServicePort{{Port: 80, Protocol: corev1.ProtocolTCP}}
	for kind, want := range map[mcsv1beta1.ServiceImportType]string{mcsv1beta1.ClusterSetIP: `["80-tcp" ""]`, mcsv1beta1.Headless: `[""]`} {
		s := source("web-x", discoveryv1.Endpoint{Addresses: []string{"10.0.0.1"}})
		s.Ports = slicePorts(exported)
		imp := &mcsv1beta1.ServiceImport{Spec: mcsv1beta1.ServiceImportSpec{
			Type: kind, IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol},
			Ports: append(slices.Clone(exported), mcsv1beta1.ServicePort{Name: "named", Port: 90, Protocol: corev1.ProtocolTCP}),
		}}
		var got []string
		for _, p := range Import(Importation{
			Import: imp, DerivedService: "d", Cluster: "c1", Ports: exported, Own: true, Sources: []*discoveryv1.EndpointSlice{s}, MaxEndpoints: 100,
		})[0].Ports {
			got = append(got, *p.Name)
		}
		if text := fmt.Sprintf("%q", got); text != want {
			t.Errorf("%s: %s, want %s", kind, text, want)
		}
	}
}
