package importstatus

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	decide "github.com/atoll-mcs/atoll/internal/agent/status/importstatus"
	"github.com/atoll-mcs/atoll/internal/local"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/refusal"
	"github.com/atoll-mcs/atoll/internal/status"
)

var web = types.NamespacedName{Namespace: "shop", Name: "web"}

const v4 = corev1.IPv4Protocol

// A new import has no status before all is known of it, and then all at once; what others say
// in it stays.
func TestWant(t *testing.T) {
	theirs := metav1.Condition{Type: "Theirs", Status: metav1.ConditionTrue}
	imp := &mcsv1beta1.ServiceImport{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web", Generation: 3, Annotations: map[string]string{names.AnnotationDerivedService: "web-clusterset"},
		},
		Spec:   mcsv1beta1.ServiceImportSpec{IPs: []string{"10.0.0.1"}, IPFamilies: []corev1.IPFamily{v4}},
		Status: mcsv1beta1.ServiceImportStatus{Conditions: []metav1.Condition{theirs}},
	}
	so := progress{service: &status.Outcomes[types.NamespacedName]{}, endpoints: &status.Outcomes[local.Part]{}}
	so.service.Set(web, status.Outcome{})
	if got := want(imp, []string{"a", "b"}, []corev1.IPFamily{v4}, so, ""); got != nil {
		t.Fatalf("before the endpoints are written: %+v", got)
	}
	for _, cluster := range []names.ClusterID{"a", "b"} {
		so.endpoints.Set(local.Part{Service: web, Cluster: cluster}, status.Outcome{})
	}
	got := want(imp, []string{"a", "b"}, []corev1.IPFamily{v4}, so, "")
	if got == nil || !got.transition || got.status.EndpointSliceObjects != mcsv1beta1.EndpointSliceObjectsPresent ||
		!slices.Equal(got.status.Clusters, []mcsv1beta1.ClusterStatus{{Cluster: "a"}, {Cluster: "b"}}) ||
		len(got.status.Conditions) != 2 || got.status.Conditions[0] != theirs {
		t.Fatalf("when all is written: %+v", got)
	}
	if ready := got.status.Conditions[1]; ready.Type != "Ready" || ready.Status != metav1.ConditionTrue || ready.ObservedGeneration != 3 || ready.LastTransitionTime.IsZero() {
		t.Errorf("it is %+v", ready)
	}
	const refused = ` Nothing is imported from "c", "d": namespace shop refuses its exports (annotation atoll.dev/refuse-imports).`
	others := decide.LeftOut([]local.LeftOut{{Cluster: "d", Reason: refusal.ByNamespace}, {Cluster: "c", Reason: refusal.ByNamespace}}, "shop")
	if got := want(imp, []string{"a", "b"}, []corev1.IPFamily{v4}, so, others); !strings.HasSuffix(got.status.Conditions[1].Message, "10.0.0.1."+refused) {
		t.Errorf("where clusters are refused it says %q", got.status.Conditions[1].Message)
	}
	imp.Status = got.status
	if got := want(imp, []string{"a", "c"}, []corev1.IPFamily{v4}, so, ""); got.transition || got.status.Clusters[1].Cluster != "c" || got.status.Conditions[1].Status != metav1.ConditionTrue {
		t.Errorf("with another cluster, whose endpoints are not known yet: %+v", got)
	}
	imp.Spec.IPFamilies = nil
	if got := want(imp, []string{"a"}, []corev1.IPFamily{v4}, so, ""); got.status.EndpointSliceObjects != mcsv1beta1.EndpointSliceObjectsAbsent || !got.transition {
		t.Errorf("without a family: %+v", got)
	}
}
