package importstatus

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/agent/local"
	"github.com/atoll-mcs/atoll/internal/kit/status"
	"github.com/atoll-mcs/atoll/internal/mcs/merge"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// The condition says what failed, what people should know once for each cluster and reason, and stands while the derived Service is being written.
func TestWant(t *testing.T) {
	refused := func(message string) status.Problem {
		return status.Problem{Warnings: []status.Warning{{Reason: "EndpointsRefused", Message: message}}}
	}
	for name, tt := range map[string]struct {
		problems map[status.Part]status.Problem
		service  string // the annotation
		status   metav1.ConditionStatus
		message  string
	}{
		"all is well":                  {service: "web-clusterset", status: metav1.ConditionTrue, message: "The service is imported. Clients reach the service at 10.0.0.1."},
		"no derived Service yet":       {status: metav1.ConditionUnknown, message: "as it was"},
		"it is refused":                {problems: map[status.Part]status.Problem{{}: {Failure: "quota"}}, status: metav1.ConditionFalse, message: "quota"},
		"a slice is refused":           {service: "web-clusterset", problems: map[status.Part]status.Problem{{Cluster: "c2", Slice: "a"}: {Failure: "quota"}, {Cluster: "c2", Slice: "b"}: {Failure: "quota"}}, status: metav1.ConditionFalse, message: `The agent cannot write all endpoints from "c2"`},
		"two slices, one warning":      {service: "web-clusterset", problems: map[status.Part]status.Problem{{Cluster: "c2", Slice: "a"}: refused("first"), {Cluster: "c2", Slice: "b"}: refused("second")}, status: metav1.ConditionTrue, message: "10.0.0.1. first"},
		"two clusters, two warnings":   {service: "web-clusterset", problems: map[status.Part]status.Problem{{Cluster: "c2", Slice: "a"}: refused("first"), {Cluster: "c3", Slice: "b"}: refused("second")}, status: metav1.ConditionTrue, message: "10.0.0.1. first second"},
		"a warning of the own Service": {service: "web-clusterset", problems: map[status.Part]status.Problem{{}: refused("of its distribution")}, status: metav1.ConditionTrue, message: "10.0.0.1. of its distribution"},
	} {
		t.Run(name, func(t *testing.T) {
			imp := &mcsv1beta1.ServiceImport{
				ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Annotations: map[string]string{}},
				Spec: mcsv1beta1.ServiceImportSpec{
					Type: mcsv1beta1.ClusterSetIP, IPs: []string{"10.0.0.1"}, IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol}, Ports: []mcsv1beta1.ServicePort{{Port: 80}},
				},
				Status: mcsv1beta1.ServiceImportStatus{Conditions: []metav1.Condition{
					{Type: "Ready", Status: metav1.ConditionUnknown, Message: "as it was"}, {Type: "Theirs", Status: metav1.ConditionTrue},
				}},
			}
			if tt.service != "" {
				imp.Annotations[names.AnnotationDerivedService] = tt.service
			}
			got, _ := want(imp, local.Exported{Imported: []merge.Export{{ClusterID: "c2"}, {ClusterID: "c1"}}}, []corev1.IPFamily{corev1.IPv4Protocol}, tt.problems)
			ready := meta.FindStatusCondition(got.Conditions, "Ready")
			if ready.Status != tt.status || !strings.Contains(ready.Message, tt.message) || strings.HasSuffix(tt.message, "first") && strings.Contains(ready.Message, "second") {
				t.Errorf("it is %s: %s", ready.Status, ready.Message)
			}
			if !meta.IsStatusConditionTrue(got.Conditions, "Theirs") || len(got.Clusters) != 2 || got.Clusters[0].Cluster != "c1" {
				t.Errorf("the status is %+v", got)
			}
		})
	}
}
