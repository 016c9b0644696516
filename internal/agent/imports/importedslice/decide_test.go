package importedslice

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/border"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
)

var req = Request{Cluster: "c2", Source: types.NamespacedName{Namespace: "shop", Name: "web-x"}}

// usual is a slice with two endpoints of a cluster that exports the service.
func usual() inputsOf {
	service := types.NamespacedName{Namespace: "shop", Name: "web"}
	port, protocol, number := "http", corev1.ProtocolTCP, int32(8080)
	return inputsOf{
		service: service,
		source: &discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{
				Name: names.BrokerSlice("c2", "shop", "web-x"), Labels: layout.Labels("c2", service),
				Annotations: map[string]string{names.AnnotationSourceSlice: "web-x", names.AnnotationRevision: "7"},
			},
			AddressType: discoveryv1.AddressTypeIPv4,
			Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"10.2.0.1"}}, {Addresses: []string{"10.9.0.1"}}},
			Ports:       []discoveryv1.EndpointPort{{Name: &port, Protocol: &protocol, Port: &number}},
		},
		state: border.Full,
		imp: &mcsv1beta1.ServiceImport{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
			Spec: mcsv1beta1.ServiceImportSpec{
				Type: mcsv1beta1.ClusterSetIP, IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol},
				Ports: []mcsv1beta1.ServicePort{{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80}},
			},
		},
		derived: "web-clusterset",
		record: &brokerv1alpha1.ExportedService{Spec: brokerv1alpha1.ExportedServiceSpec{
			ClusterID: "c2", IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol},
			Ports: []mcsv1beta1.ServicePort{{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80}},
		}},
	}
}

func TestDecide(t *testing.T) {
	own, err := validation.ParseNetwork([]string{"10.96.0.0/16"}, []string{"10.9.0.0/16"})
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		change  func(*inputsOf)
		network validation.Network
		want    string // addresses, "-" for no slice
		reasons string
	}{
		"all of it":                   {want: "10.2.0.1 10.9.0.1"},
		"an address of this cluster":  {network: own, want: "10.2.0.1", reasons: ReasonEndpointsRefused},
		"no import":                   {change: func(in *inputsOf) { in.imp = nil }, want: "-"},
		"no record":                   {change: func(in *inputsOf) { in.record = nil }, want: "-"},
		"a record for the hub alone":  {change: func(in *inputsOf) { in.record.Spec.Scope = brokerv1alpha1.ScopeHub }, want: "-"},
		"nothing on the broker":       {change: func(in *inputsOf) { in.source = nil }, want: "-"},
		"a stub is no empty slice":    {change: func(in *inputsOf) { in.state = border.Stub }, want: "-"},
		"refused at the border":       {change: func(in *inputsOf) { in.state, in.detail = border.Refused, "its name" }, want: "-", reasons: ReasonEndpointsRefused},
		"over the budget":             {change: func(in *inputsOf) { in.state = border.OverLimit }, want: "-", reasons: ReasonOverBudget},
		"refused by the namespace":    {change: func(in *inputsOf) { in.refused = true }, want: "-"},
		"its cluster is lost":         {change: func(in *inputsOf) { in.lost = true }, want: "-", reasons: ReasonClusterLost},
		"lost, and to be kept":        {change: func(in *inputsOf) { in.lost, in.record.Spec.OnClusterLoss = true, names.OnLossKeep }, want: "10.2.0.1 10.9.0.1"},
		"no IP family in common":      {change: func(in *inputsOf) { in.imp.Spec.IPFamilies = nil }, want: "-"},
		"another family than exports": {change: func(in *inputsOf) { in.record.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv6Protocol} }, want: "-"},
	} {
		t.Run(name, func(t *testing.T) {
			in := usual()
			if tt.change != nil {
				tt.change(&in)
			}
			d := decide(in, req, tt.network, "c1")
			got := "-"
			if d.want != nil {
				var addresses []string
				for _, e := range d.want.Endpoints {
					addresses = append(addresses, e.Addresses...)
				}
				got = strings.Join(addresses, " ")
				if d.want.Name != "web-x.c2" || d.want.Annotations[names.AnnotationRevision] != "7" || d.want.Labels[discoveryv1.LabelServiceName] != "web-clusterset" {
					t.Errorf("the slice is %+v", d.want)
				}
			}
			var reasons []string
			for _, r := range d.warnings {
				reasons = append(reasons, r.Reason)
			}
			if got != tt.want || strings.Join(reasons, " ") != tt.reasons {
				t.Errorf("%q with warnings %q, want %q with %q", got, reasons, tt.want, tt.reasons)
			}
		})
	}
}
