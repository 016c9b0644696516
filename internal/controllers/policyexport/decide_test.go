package policyexport

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
)

func TestDecide(t *testing.T) {
	all, c2 := &brokerv1alpha1.ServicePolicySpec{}, &brokerv1alpha1.ServicePolicySpec{Providers: []string{"c2"}}
	users := &mcsv1beta1.ServiceExport{}
	ours := &mcsv1beta1.ServiceExport{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"atoll.dev/managed-by": "agent.atoll.dev"}}}
	going := ours.DeepCopy()
	going.DeletionTimestamp = &metav1.Time{}
	for name, tt := range map[string]struct {
		state
		want verdict
	}{
		"a policy for all":                            {state{policy: all, exportable: true}, create},
		"a policy for another cluster":                {state{policy: c2, exportable: true}, leave},
		"a policy, and no Service":                    {state{policy: all}, leave},
		"no policy":                                   {state{exportable: true, complete: true}, leave},
		"a user's own ServiceExport":                  {state{policy: all, exportable: true, export: users}, leave},
		"a user's own, and no policy":                 {state{exportable: true, complete: true, export: users}, leave},
		"a user's own, and another cluster's policy":  {state{policy: c2, exportable: true, export: users}, leave},
		"made and still wanted":                       {state{policy: all, exportable: true, export: ours}, leave},
		"made, and the policy is another cluster's":   {state{policy: c2, exportable: true, export: ours}, remove},
		"made, and the Service is gone":               {state{policy: all, export: ours}, remove},
		"made, and the policy is withdrawn":           {state{exportable: true, complete: true, export: ours}, remove},
		"made, and the policy is not on the broker":   {state{exportable: true, export: ours}, doubt},
		"made, and neither policy nor Service known":  {state{export: ours}, doubt},
		"made and about to go, which is waited out":   {state{policy: c2, exportable: true, complete: true, export: going}, leave},
		"made for a policy of this cluster by its id": {state{policy: &brokerv1alpha1.ServicePolicySpec{Providers: []string{"c1"}}, exportable: true, export: ours}, leave},
	} {
		tt.self = "c1"
		if got := tt.decide(); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
