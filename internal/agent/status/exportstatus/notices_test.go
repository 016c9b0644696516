package exportstatus

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/atoll-mcs/atoll/internal/kit/status"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

func TestNotices(t *testing.T) {
	slice := func(name string, of discoveryv1.AddressType, endpoints int) *discoveryv1.EndpointSlice {
		s := &discoveryv1.EndpointSlice{
			ObjectMeta:  metav1.ObjectMeta{Name: name, Labels: map[string]string{discoveryv1.LabelManagedBy: "endpointslicemirroring-controller.k8s.io"}},
			AddressType: of,
		}
		for i := range endpoints {
			s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{fmt.Sprintf("10.0.%d.%d", i/250, i%250)}})
		}
		return s
	}
	if got := Notices([]*discoveryv1.EndpointSlice{slice("a", discoveryv1.AddressTypeIPv4, 10)}); len(got) > 0 {
		t.Errorf("unexpected notices: %v", got)
	}
	got := Notices([]*discoveryv1.EndpointSlice{
		slice("a", discoveryv1.AddressTypeIPv4, 1000), slice("c", discoveryv1.AddressTypeFQDN, 1), slice("b", discoveryv1.AddressTypeFQDN, 1),
	})
	if diff := cmp.Diff([]status.Warning{
		{Reason: "UnsupportedAddressType", Message: "EndpointSlice b (and 1 more) is not exported: it has addresses of type FQDN, and only IP addresses can be exported."},
		{Reason: "EndpointsTruncated", Message: "The Endpoints object has reached the maximum of 1000 addresses that Kubernetes copies to EndpointSlices. No cluster uses the remaining addresses. Create EndpointSlices instead."},
	}, got); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	foreign := slice("a", discoveryv1.AddressTypeIPv4, 1)
	foreign.Labels = map[string]string{names.LabelSourceCluster: "c2"}
	if diff := cmp.Diff([]status.Warning{{
		Reason: "ForeignEndpoints",
		Message: "EndpointSlice a is not exported: the label multicluster.kubernetes.io/source-cluster, " +
			"or Karmada's value of the label endpointslice.kubernetes.io/managed-by, marks its endpoints as endpoints of another cluster. The Service has no other EndpointSlices. If the endpoints are in this cluster, remove the label.",
	}}, Notices([]*discoveryv1.EndpointSlice{foreign})); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}
