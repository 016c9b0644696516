package endpoints

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/derived"
	"github.com/atoll-mcs/atoll/internal/mcs/merge"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// drawPorts draws valid ports of a Service from few names and numbers, so that ports of several
// Services often conflict.
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

// slicePorts returns the ports of a slice as the built-in controller creates them for a
// Service.
func slicePorts(of []mcsv1beta1.ServicePort) []discoveryv1.EndpointPort {
	var ports []discoveryv1.EndpointPort
	for _, p := range of {
		ports = append(ports, discoveryv1.EndpointPort{Name: ptr.To(p.Name), Protocol: ptr.To(p.Protocol), Port: ptr.To(8000 + p.Port)})
	}
	return ports
}

// Pitfall 11: whatever named and unnamed ports clusters export, each port of the derived
// Service and of the import has endpoints of a cluster. kube-proxy matches ports of the
// Service, and Gateway API implementations match ports of the import, both by name and
// protocol. The exception is a port of the import whose name belongs to another port of the
// Service.
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
		derived.Apply(service, imp, nil)

		served := map[string]bool{}
		for _, e := range exports {
			s := source("web-x", discoveryv1.Endpoint{Addresses: []string{"10.0.0.1"}})
			s.Ports = slicePorts(e.Ports)
			if slice := (Import{Import: imp, Cluster: names.ClusterID(e.ClusterID), Ports: e.Ports, Own: true}).Slice(s); slice != nil {
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
				t.Fatalf("no cluster serves port %+v", p)
			}
		}
	})
}

// Pitfall 11: the ports of a slice have the names of the derived Service and of the import.
func TestPortsFollowTheImport(t *testing.T) {
	metrics := mcsv1beta1.ServicePort{Name: "metrics", Port: 9090, Protocol: corev1.ProtocolTCP}
	unnamed := mcsv1beta1.ServicePort{Port: 80, Protocol: corev1.ProtocolTCP}
	dns := mcsv1beta1.ServicePort{Name: "http", Port: 80, Protocol: corev1.ProtocolUDP}
	for _, tt := range []struct {
		name          string
		imported, own []mcsv1beta1.ServicePort
		source        []string // name/protocol
		want          []string
	}{
		{"same", []mcsv1beta1.ServicePort{http}, []mcsv1beta1.ServicePort{http}, []string{"http/TCP"}, []string{"http/TCP"}},
		{"the other clusters have one more", []mcsv1beta1.ServicePort{http, metrics}, []mcsv1beta1.ServicePort{http}, []string{"http/TCP"}, []string{"http/TCP"}},
		{
			"a definition that lost gets no traffic",
			[]mcsv1beta1.ServicePort{http}, []mcsv1beta1.ServicePort{{Name: "http", Port: 8080}}, []string{"http/TCP"}, nil,
		},
		{
			"a port that an older export renames",
			[]mcsv1beta1.ServicePort{{Name: "x", Port: 80}}, []mcsv1beta1.ServicePort{http}, []string{"http/TCP"}, []string{"x/TCP"},
		},
		{
			"names exchanged by an older export",
			[]mcsv1beta1.ServicePort{{Name: "metrics", Port: 80}, {Name: "http", Port: 9090}}, []mcsv1beta1.ServicePort{http, metrics}, []string{"http/TCP"}, []string{"metrics/TCP"},
		},
		{"same name, other protocol", []mcsv1beta1.ServicePort{dns}, []mcsv1beta1.ServicePort{http}, []string{"http/TCP"}, nil},
		{"one without name gets one", []mcsv1beta1.ServicePort{unnamed}, []mcsv1beta1.ServicePort{unnamed}, []string{"/TCP"}, []string{"80-tcp/TCP", "/TCP"}},
		{
			"one without name gets the same among several",
			[]mcsv1beta1.ServicePort{unnamed, metrics}, []mcsv1beta1.ServicePort{unnamed}, []string{"/TCP"}, []string{"80-tcp/TCP", "/TCP"},
		},
		{"a port that the Service has not", []mcsv1beta1.ServicePort{http}, []mcsv1beta1.ServicePort{http}, []string{"http/TCP", "debug/TCP"}, []string{"http/TCP"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := source("web-x")
			s.Ports = nil
			for _, p := range tt.source {
				name, protocol, _ := strings.Cut(p, "/")
				s.Ports = append(s.Ports, discoveryv1.EndpointPort{Name: &name, Protocol: ptr.To(corev1.Protocol(protocol)), Port: ptr.To(int32(1))})
			}
			for _, kind := range []mcsv1beta1.ServiceImportType{mcsv1beta1.ClusterSetIP, mcsv1beta1.Headless} {
				imp := serviceImport(tt.imported...)
				imp.Spec.Type = kind
				var got []string
				for _, p := range (Import{Import: imp, Cluster: "c1", Own: true, Ports: tt.own}).Slice(s).Ports {
					got = append(got, *p.Name+"/"+string(*p.Protocol))
				}
				want := slices.Clone(tt.want)
				if kind == mcsv1beta1.Headless && slices.Contains(want, "80-tcp/TCP") {
					want = []string{"/TCP"}
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s: ports %q, want %q", kind, got, want)
				}
			}
		})
	}
}
