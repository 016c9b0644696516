package sliceplan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/names"
)

// byClusterIP is a publication of a Service with a port http.
func byClusterIP(ips string, sources ...*discoveryv1.EndpointSlice) Publication {
	p := publication(sources...)
	p.ClusterIPs, p.Ports = strings.Fields(ips), []mcsv1beta1.ServicePort{http}
	return p
}

func conditions(ready *bool) discoveryv1.EndpointConditions {
	return discoveryv1.EndpointConditions{Ready: ready, Serving: ptr.To(false), Terminating: ptr.To(true)}
}

func TestClusterIPStandsForThePods(t *testing.T) {
	ready := full("10.0.0.1")
	ready.Conditions.Ready = ptr.To(true)
	got := PublishClusterIPs(byClusterIP("10.96.0.7", source("web-x", full("10.0.0.2")), source("web-y", ready)))
	if diff := cmp.Diff([]discoveryv1.EndpointSlice{{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "clusterset", Name: names.BrokerSlice("c1", "shop", "web:ipv4", 0),
			Labels: map[string]string{
				names.LabelServiceName: "web", names.LabelServiceNamespace: "shop", names.LabelSourceCluster: "c1",
				discoveryv1.LabelManagedBy: names.AgentManager, names.LabelHeadless: "", names.LabelAdvertiseMode: "cluster-ip",
			},
			// No time of a change: it would change with every pod.
			Annotations: map[string]string{names.AnnotationSourceSlice: "web:ipv4", names.AnnotationSourcePart: "0"},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints: []discoveryv1.Endpoint{{
			Addresses: []string{"10.96.0.7"},
			Conditions: discoveryv1.EndpointConditions{
				Ready: ptr.To(true), Serving: ptr.To(true), Terminating: ptr.To(false),
			},
		}},
		Ports: []discoveryv1.EndpointPort{{Name: ptr.To("http"), Port: ptr.To(int32(80)), Protocol: ptr.To(corev1.ProtocolTCP)}},
	}}, got); diff != "" {
		t.Errorf("published (-want +got):\n%s", diff)
	}
}

func TestClusterIPIsWithdrawnWithoutReadyEndpoint(t *testing.T) {
	with := func(ready *bool) *discoveryv1.EndpointSlice {
		return source("web-x", discoveryv1.Endpoint{Addresses: []string{"10.0.0.1"}, Conditions: conditions(ready)})
	}
	v6 := with(ptr.To(true))
	v6.AddressType = discoveryv1.AddressTypeIPv6
	imported := with(ptr.To(true))
	imported.Labels[discoveryv1.LabelManagedBy] = names.AgentManager
	going := with(ptr.To(true))
	going.DeletionTimestamp = ptr.To(metav1.Now())
	otherPort := with(ptr.To(true))
	otherPort.Ports[0].Name = ptr.To("metrics")
	otherProtocol := with(ptr.To(true))
	otherProtocol.Ports[0].Protocol = ptr.To(corev1.ProtocolUDP)
	for _, tt := range []struct {
		name    string
		sources []*discoveryv1.EndpointSlice
		ips     string
		want    string // the endpoints of each slice
	}{
		{"nothing at all", nil, "10.96.0.7", "[]"},
		{"a slice without endpoints", []*discoveryv1.EndpointSlice{source("web-x")}, "10.96.0.7", "[]"},
		{"none ready", []*discoveryv1.EndpointSlice{with(ptr.To(false)), with(ptr.To(false))}, "10.96.0.7", "[]"},
		{"one ready", []*discoveryv1.EndpointSlice{with(ptr.To(false)), with(ptr.To(true))}, "10.96.0.7", "[10.96.0.7]"},
		// What the built-in controller writes where publishNotReadyAddresses is set.
		{"ready, and neither serving nor staying", []*discoveryv1.EndpointSlice{with(ptr.To(true))}, "10.96.0.7", "[10.96.0.7]"},
		{"readiness not stated is readiness", []*discoveryv1.EndpointSlice{with(nil)}, "10.96.0.7", "[10.96.0.7]"},
		{"each family by itself", []*discoveryv1.EndpointSlice{v6}, "10.96.0.7 fd00::7", "[][fd00::7]"},
		{"both families", []*discoveryv1.EndpointSlice{v6, with(nil)}, "fd00::7 10.96.0.7", "[fd00::7][10.96.0.7]"},
		{"an import is no source", []*discoveryv1.EndpointSlice{imported}, "10.96.0.7", "[]"},
		{"nor is a slice that is going", []*discoveryv1.EndpointSlice{going}, "10.96.0.7", "[]"},
		{"ready on another port", []*discoveryv1.EndpointSlice{otherPort}, "10.96.0.7", "[]"},
		{"ready on another protocol", []*discoveryv1.EndpointSlice{otherProtocol}, "10.96.0.7", "[]"},
		{"headless", []*discoveryv1.EndpointSlice{with(nil)}, corev1.ClusterIPNone, ""},
		{"no address yet", []*discoveryv1.EndpointSlice{with(nil)}, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			for _, s := range PublishClusterIPs(byClusterIP(tt.ips, tt.sources...)) {
				addresses := []string{}
				for _, e := range s.Endpoints {
					addresses = append(addresses, e.Addresses...)
				}
				got += fmt.Sprint(addresses)
				if len(s.Ports) != 1 {
					t.Errorf("ports %v", s.Ports)
				}
			}
			if got != tt.want {
				t.Errorf("endpoints %s, want %s", got, tt.want)
			}
		})
	}
}

func TestClusterIPAnswersAtPortsThatHaveAReadyEndpoint(t *testing.T) {
	metrics := mcsv1beta1.ServicePort{Name: "metrics", Port: 9090, AppProtocol: ptr.To("http")}
	p := byClusterIP("10.96.0.7", source("web-x", full("10.0.0.1")), source("web-y", discoveryv1.Endpoint{Addresses: []string{"10.0.0.2"}}))
	p.Ports = append(p.Ports, metrics)
	p.Sources[1].Ports = []discoveryv1.EndpointPort{{Name: ptr.To("metrics"), Port: ptr.To(int32(9999))}}
	got := PublishClusterIPs(p)[0].Ports
	want := []discoveryv1.EndpointPort{{
		Name: ptr.To("metrics"), Port: ptr.To(int32(9090)), Protocol: ptr.To(corev1.ProtocolTCP), AppProtocol: ptr.To("http"),
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ports (-want +got):\n%s", diff)
	}
}

// The importer routes the import's port to the same number at the cluster IP.
func TestClusterIPIsImportedAsItIs(t *testing.T) {
	published := PublishClusterIPs(byClusterIP("10.96.0.7", source("web-x", discoveryv1.Endpoint{Addresses: []string{"10.0.0.1"}})))
	unnamed := http
	unnamed.Name = ""
	for name, tt := range map[string]struct {
		imported, exported mcsv1beta1.ServicePort
		want               int
	}{
		"the definition that won":       {http, http, 1},
		"one that lost gets no traffic": {unnamed, http, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := Import(Importation{
				Import: serviceImport(tt.imported), DerivedService: "web-clusterset", Cluster: "c1",
				Ports: []mcsv1beta1.ServicePort{tt.exported}, Sources: []*discoveryv1.EndpointSlice{&published[0]}, MaxEndpoints: 100,
			})
			if len(got) != 1 || len(got[0].Ports) != tt.want || !cmp.Equal(got[0].Endpoints, published[0].Endpoints) {
				t.Errorf("imported %+v", got)
			}
			if tt.want == 1 && *got[0].Ports[0].Port != 80 {
				t.Errorf("port %d", *got[0].Ports[0].Port)
			}
		})
	}
}

// drawUnready draws sources of both families, in which endpoints may be unready.
func drawUnready(t *rapid.T) []*discoveryv1.EndpointSlice {
	sources := drawSources(t)
	for _, s := range sources {
		if rapid.Bool().Draw(t, "IPv6") {
			s.AddressType = discoveryv1.AddressTypeIPv6
		}
		for i := range s.Endpoints {
			s.Endpoints[i].Conditions.Ready = rapid.SampledFrom([]*bool{nil, ptr.To(true), ptr.To(false)}).Draw(t, "ready")
		}
	}
	return sources
}

// pointers are published slices as a cache holds them.
func pointers(list []discoveryv1.EndpointSlice) []*discoveryv1.EndpointSlice {
	var all []*discoveryv1.EndpointSlice
	for i := range list {
		all = append(all, &list[i])
	}
	return all
}

func readyEndpoints(list []*discoveryv1.EndpointSlice) int {
	n := 0
	for _, s := range list {
		for _, e := range s.Endpoints {
			if isReady(&e) {
				n++
			}
		}
	}
	return n
}

func TestOneEndpointForEachFamilyWithReadyPods(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := byClusterIP("10.96.0.7 fd00::7", drawUnready(t)...)
		got := PublishClusterIPs(p)
		if len(got) != 2 || got[0].Name == got[1].Name {
			t.Fatalf("published %v", got)
		}
		for _, s := range got {
			ofFamily := slices.DeleteFunc(slices.Clone(p.Sources), func(o *discoveryv1.EndpointSlice) bool { return o.AddressType != s.AddressType })
			want := min(1, readyEndpoints(ofFamily))
			if len(s.Endpoints) != want {
				t.Fatalf("%s has %d endpoints, want %d", s.AddressType, len(s.Endpoints), want)
			}
		}
		// The order of the slices, and of the endpoints in them, does not matter.
		slices.Reverse(p.Sources)
		for _, s := range p.Sources {
			s.Endpoints = slices.Clone(s.Endpoints)
			slices.Reverse(s.Endpoints)
		}
		if diff := cmp.Diff(got, PublishClusterIPs(p)); diff != "" {
			t.Fatalf("in another order (-want +got):\n%s", diff)
		}
		for _, s := range publish(p) {
			if s.Name == got[0].Name || s.Name == got[1].Name {
				t.Fatalf("both modes have a slice %s", s.Name)
			}
		}
	})
}

// A cluster that changes its mode has one endpoint at least in every moment, if it has
// before and after.
func TestChangingTheModeNeverLosesTheService(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := byClusterIP("10.96.0.7 fd00::7", drawUnready(t)...)
		before, after := publish(p), PublishClusterIPs(p)
		if rapid.Bool().Draw(t, "back to pods") {
			before, after = after, before
		}
		have := pointers(before)
		least := min(readyEndpoints(have), readyEndpoints(pointers(after)))
		for _, one := range oneByOne(Diff(have, after)) {
			have = apply(have, one)
			if least > 0 && readyEndpoints(have) == 0 {
				t.Fatalf("no endpoint after %+v", one)
			}
		}
		if again := Diff(have, after); !again.Empty() {
			t.Fatalf("there is still %+v", again)
		}
	})
}

// oneByOne divides changes into single writes, in their order.
func oneByOne(changes Changes) []Changes {
	var all []Changes
	for _, s := range changes.Replace {
		all = append(all, Changes{Replace: []*discoveryv1.EndpointSlice{s}})
	}
	for _, s := range changes.Create {
		all = append(all, Changes{Create: []*discoveryv1.EndpointSlice{s}})
	}
	for _, s := range changes.Update {
		all = append(all, Changes{Update: []*discoveryv1.EndpointSlice{s}})
	}
	for _, s := range changes.Release {
		all = append(all, Changes{Release: []*discoveryv1.EndpointSlice{s}})
	}
	for _, s := range changes.Delete {
		all = append(all, Changes{Delete: []*discoveryv1.EndpointSlice{s}})
	}
	return all
}

// A headless import has no use for a cluster IP: DNS would answer with it among the pods.
func TestHeadlessImportTakesNoClusterIP(t *testing.T) {
	ready := discoveryv1.Endpoint{Addresses: []string{"10.0.0.1"}}
	published := PublishClusterIPs(byClusterIP("10.96.0.7", source("web-x", ready)))
	for kind, want := range map[mcsv1beta1.ServiceImportType]int{mcsv1beta1.ClusterSetIP: 1, mcsv1beta1.Headless: 0} {
		imp := &mcsv1beta1.ServiceImport{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
		imp.Spec.Type, imp.Spec.IPFamilies = kind, []corev1.IPFamily{corev1.IPv4Protocol}
		plan := Import(Importation{Import: imp, DerivedService: "web-clusterset", Cluster: "c1", Sources: []*discoveryv1.EndpointSlice{&published[0]}})
		if len(plan) != want {
			t.Errorf("%s: %d slices", kind, len(plan))
		}
	}
}
