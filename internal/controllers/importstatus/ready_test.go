package importstatus

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/local"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/status"
)

func TestReadyFollowsWhatOthersDo(t *testing.T) {
	const (
		is      = "True: The service is imported and reached at 10.0.0.1."
		refused = `False: Not all endpoints from "c1", "c2" can be written. It is being tried again: quota`
		untried = `False: The endpoints from "c2" are not known yet.`
		failed  = "False: The derived Service can't be written, and is being tried again: quota"
		unknown = "Unknown: The service is being imported."
		other   = `False: The service is exported with IPv6 only, from "c1", "c2", and Services of this cluster have IPv4 only. It is imported as soon as a cluster exports it with IPv4.`
	)
	ok, no, waits := &status.Outcome{}, &status.Outcome{Failure: "quota"}, &status.Outcome{Waiting: true}
	for _, tt := range []struct {
		name            string
		current         metav1.ConditionStatus // "" for none
		service, c1, c2 *status.Outcome        // nil for not tried
		want            string                 // "" for what there is
	}{
		{"all is written", "", ok, ok, ok, is},
		{"all is written now", metav1.ConditionFalse, ok, ok, ok, is},
		{"of a new import nothing is said before it is tried", "", nil, nil, nil, ""},
		{"nor when its Service is made", "", ok, nil, nil, ""},
		{"nor when some of the endpoints are there", "", ok, ok, nil, ""},
		{"but that it has to wait for endpoints", "", ok, ok, waits, unknown},
		{"but that it has to wait for its Service", "", waits, nil, nil, unknown},
		{"which is not judged before", metav1.ConditionUnknown, ok, ok, waits, ""},
		{"and then is", metav1.ConditionUnknown, ok, ok, ok, is},
		{"what was ready before a restart still is", metav1.ConditionTrue, ok, ok, nil, is},
		{"and is while it waits", metav1.ConditionTrue, ok, ok, waits, is},
		{"and is before its Service has been looked at", metav1.ConditionTrue, nil, ok, ok, ""},
		{"what was not, is not yet", metav1.ConditionFalse, ok, ok, nil, untried},
		{"and not while it waits", metav1.ConditionFalse, ok, ok, waits, untried},
		{"some endpoints are refused", metav1.ConditionTrue, ok, no, &status.Outcome{Failure: "another"}, refused},
		{"one is refused, the other not tried", "", ok, no, nil, `False: Not all endpoints from "c1" can be written. It is being tried again: quota`},
		{"the Service is refused", metav1.ConditionTrue, no, ok, ok, failed},
		{"the Service of a new import is refused", "", no, nil, nil, failed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			imp := &mcsv1beta1.ServiceImport{ObjectMeta: metav1.ObjectMeta{
				Namespace: "shop", Name: "web", Annotations: map[string]string{names.AnnotationDerivedService: "web-clusterset"},
			}}
			imp.Spec.IPs, imp.Spec.IPFamilies = []string{"10.0.0.1"}, []corev1.IPFamily{v4}
			imp.Status.Clusters = []mcsv1beta1.ClusterStatus{{Cluster: "c1"}, {Cluster: "c2"}}
			if tt.current != "" {
				imp.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: tt.current}}
			}
			so := progress{service: &status.Outcomes[types.NamespacedName]{}, endpoints: &status.Outcomes[local.Part]{}}
			if tt.service != nil {
				so.service.Set(web, *tt.service)
			}
			for cluster, outcome := range map[names.ClusterID]*status.Outcome{"c1": tt.c1, "c2": tt.c2} {
				if outcome != nil {
					so.endpoints.Set(local.Part{Service: web, Cluster: cluster}, *outcome)
				}
			}
			if got := said(imp, so); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			imp.Annotations = nil
			if got := said(imp, so); got == is {
				t.Error("it is ready before its addresses have been seen")
			}
			if imp.Spec.IPFamilies = nil; said(imp, so) != other {
				t.Errorf("without a family: %q", said(imp, so))
			}
		})
	}
}

func said(imp *mcsv1beta1.ServiceImport, so progress) string {
	condition := ready(imp, []corev1.IPFamily{v4}, so, "")
	if condition == nil {
		return ""
	}
	return string(condition.Status) + ": " + condition.Message
}
