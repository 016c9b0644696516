package endpoints

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// byClusterIP returns the published slices of cluster IPs, by address type.
func byClusterIP(ips string, sources ...*discoveryv1.EndpointSlice) (all []*discoveryv1.EndpointSlice) {
	slices := export.ClusterIPSlices(strings.Fields(ips), sources)
	for _, name := range names4and6 {
		if s := slices[name]; s != nil {
			all = append(all, s)
		}
	}
	return all
}

var names4and6 = []string{names.ClusterIPSlice("web", "IPv4"), names.ClusterIPSlice("web", "IPv6")}

func conditions(ready *bool) discoveryv1.EndpointConditions {
	return discoveryv1.EndpointConditions{Ready: ready, Serving: ptr.To(false), Terminating: ptr.To(true)}
}

func TestClusterIPStandsForThePods(t *testing.T) {
	ready := full("10.0.0.1")
	ready.Conditions.Ready = ptr.To(true)
	got := byClusterIP("10.96.0.7", source("web-x", full("10.0.0.2")), source("web-y", ready))
	if diff := cmp.Diff([]*discoveryv1.EndpointSlice{{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "clusterset", Name: names.BrokerSlice("c1", "shop", "web:ipv4"),
			Labels: map[string]string{
				names.LabelServiceName: "web", names.LabelServiceNamespace: "shop", names.LabelSourceCluster: "c1",
				discoveryv1.LabelManagedBy: names.AgentManager, names.LabelHeadless: "", names.LabelAdvertiseMode: "cluster-ip",
			},
			// There is no trigger time, because it would change with every pod.
			Annotations: map[string]string{names.AnnotationSourceSlice: "web:ipv4"},
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
		// The built-in controller writes this for publishNotReadyAddresses.
		{"ready, and neither serving nor staying", []*discoveryv1.EndpointSlice{with(ptr.To(true))}, "10.96.0.7", "[10.96.0.7]"},
		{"readiness not stated is readiness", []*discoveryv1.EndpointSlice{with(nil)}, "10.96.0.7", "[10.96.0.7]"},
		{"each family by itself", []*discoveryv1.EndpointSlice{v6}, "10.96.0.7 fd00::7", "[][fd00::7]"},
		{"both families", []*discoveryv1.EndpointSlice{v6, with(nil)}, "fd00::7 10.96.0.7", "[10.96.0.7][fd00::7]"},
		{"an imported slice does not count", []*discoveryv1.EndpointSlice{imported}, "10.96.0.7", "[]"},
		{"a slice that is being deleted does not count", []*discoveryv1.EndpointSlice{going}, "10.96.0.7", "[]"},
		{"ready on another port", []*discoveryv1.EndpointSlice{otherPort}, "10.96.0.7", "[]"},
		{"ready on another protocol", []*discoveryv1.EndpointSlice{otherProtocol}, "10.96.0.7", "[]"},
		{"headless", []*discoveryv1.EndpointSlice{with(nil)}, corev1.ClusterIPNone, ""},
		{"no address yet", []*discoveryv1.EndpointSlice{with(nil)}, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			for _, s := range byClusterIP(tt.ips, tt.sources...) {
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
	x, other := export, source("web-y", endpoint("10.0.0.2"))
	x.Ports = append(x.Ports[:1:1], metrics)
	other.Ports = []discoveryv1.EndpointPort{{Name: ptr.To("metrics"), Port: ptr.To(int32(9999))}}
	got := x.ClusterIPSlices([]string{"10.96.0.7"}, []*discoveryv1.EndpointSlice{source("web-x", full("10.0.0.1")), other})[names4and6[0]].Ports
	want := []discoveryv1.EndpointPort{{
		Name: ptr.To("metrics"), Port: ptr.To(int32(9090)), Protocol: ptr.To(corev1.ProtocolTCP), AppProtocol: ptr.To("http"),
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ports (-want +got):\n%s", diff)
	}
}

// The importer routes the import's port to the same port of the cluster IP. A headless import
// ignores the cluster IP, because DNS would return it among the pods.
func TestClusterIPIsImportedAsItIs(t *testing.T) {
	slice := byClusterIP("10.96.0.7", source("web-x", endpoint("10.0.0.1")))[0]
	got := importOf(false).Slice(slice)
	if !cmp.Equal(got.Endpoints, slice.Endpoints) || len(got.Ports) != 1 || *got.Ports[0].Port != 80 {
		t.Errorf("imported %+v", got)
	}
	lost := importOf(false)
	lost.Ports = []mcsv1beta1.ServicePort{{Name: "http", Port: 8080, Protocol: corev1.ProtocolTCP}}
	if got := lost.Slice(slice); len(got.Ports) > 0 {
		t.Errorf("a port definition that lost the conflict gets traffic: %+v", got)
	}
	headless := importOf(false)
	headless.Import.Spec.Type = mcsv1beta1.Headless
	if got := headless.Slice(slice); got != nil {
		t.Errorf("a headless import has %+v", got)
	}
}
