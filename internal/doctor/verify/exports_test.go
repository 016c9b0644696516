package verify

import (
	"strings"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// An import is complete only with an endpoint of each cluster, an address, and the condition Ready.
func TestLacks(t *testing.T) {
	for name, tt := range map[string]struct {
		breaks func(*mcsv1beta1.ServiceImport, *discoveryv1.EndpointSlice)
		want   string
	}{
		"complete": {func(*mcsv1beta1.ServiceImport, *discoveryv1.EndpointSlice) {}, ""},
		"no ready endpoint": {func(_ *mcsv1beta1.ServiceImport, e *discoveryv1.EndpointSlice) {
			e.Endpoints[0].Conditions.Ready = ptr.To(false)
		}, "no ready endpoint of c1"},
		"not among clusters": {func(i *mcsv1beta1.ServiceImport, _ *discoveryv1.EndpointSlice) { i.Status.Clusters = nil }, "no ready endpoint of c1"},
		"no address":         {func(i *mcsv1beta1.ServiceImport, _ *discoveryv1.EndpointSlice) { i.Spec.IPs = nil }, "no clusterset IP"},
		"no condition":       {func(i *mcsv1beta1.ServiceImport, _ *discoveryv1.EndpointSlice) { i.Status.Conditions = nil }, "no condition Ready"},
		"Ready is Unknown": {func(i *mcsv1beta1.ServiceImport, _ *discoveryv1.EndpointSlice) {
			i.Status.Conditions[0].Status = "Unknown"
		}, "condition Ready is Unknown (Pending): why"},
		"Ready is False": {func(i *mcsv1beta1.ServiceImport, _ *discoveryv1.EndpointSlice) {
			i.Status.Conditions[0].Status = "False"
		}, "condition Ready is False (Pending): why"},
	} {
		imported := &mcsv1beta1.ServiceImport{
			Spec: mcsv1beta1.ServiceImportSpec{IPs: []string{"10.96.0.9"}},
			Status: mcsv1beta1.ServiceImportStatus{
				Clusters:   []mcsv1beta1.ClusterStatus{{Cluster: "c1"}},
				Conditions: []metav1.Condition{{Type: "Ready", Status: "True", Reason: "Pending", Message: "why"}},
			},
		}
		slice := discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{names.LabelSourceCluster: "c1"}},
			Endpoints:  []discoveryv1.Endpoint{{Addresses: []string{"10.1.0.1"}}},
		}
		tt.breaks(imported, &slice)
		err := lacks(imported, []discoveryv1.EndpointSlice{slice}, []string{"c1"})
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}
