package derivedservice

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/local"
	"github.com/atoll-mcs/atoll/internal/names"
	"github.com/atoll-mcs/atoll/internal/status"
)

func TestReadyWaitsForEndpoints(t *testing.T) {
	const (
		is      = "True: The service is imported and reached at 10.0.0.1."
		refused = `False: Not all endpoints from "c1", "c2" can be written. It is being tried again: quota`
		untried = `False: The endpoints from "c2" are not known yet.`
	)
	ok, no := &status.Outcome{}, &status.Outcome{Failure: "quota"}
	for _, tt := range []struct {
		name    string
		current metav1.ConditionStatus // "" for none
		c1, c2  *status.Outcome        // nil for not tried
		want    string                 // "" for what there is
	}{
		{"all are written", "", ok, ok, is},
		{"all are written now", metav1.ConditionFalse, ok, ok, is},
		{"a new import waits", "", ok, nil, ""},
		{"and is not judged before", metav1.ConditionUnknown, ok, nil, ""},
		{"of a new import all are written", metav1.ConditionUnknown, ok, ok, is},
		{"what was ready before a restart still is", metav1.ConditionTrue, ok, nil, is},
		{"what was not, is not yet", metav1.ConditionFalse, ok, nil, untried},
		{"some are refused", metav1.ConditionTrue, no, &status.Outcome{Failure: "another"}, refused},
		{"one is refused, the other not tried", "", no, nil, `False: Not all endpoints from "c1" can be written. It is being tried again: quota`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			imp := &mcsv1beta1.ServiceImport{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
			imp.Spec.IPs = []string{"10.0.0.1"}
			imp.Status.Clusters = []mcsv1beta1.ClusterStatus{{Cluster: "c1"}, {Cluster: "c2"}}
			if tt.current != "" {
				imp.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: tt.current}}
			}
			outcomes := &status.Outcomes[local.Part]{}
			for cluster, outcome := range map[names.ClusterID]*status.Outcome{"c1": tt.c1, "c2": tt.c2} {
				if outcome != nil {
					part := local.Part{Cluster: cluster}
					part.Service.Namespace, part.Service.Name = "shop", "web"
					outcomes.Set(part, *outcome)
				}
			}
			got := ""
			if condition := ready(imp, outcomes); condition != nil {
				got = string(condition.Status) + ": " + condition.Message
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if imp.Status.Clusters = nil; ready(imp, outcomes) != nil {
				t.Error("it is judged before it is known where the service comes from")
			}
		})
	}
}
