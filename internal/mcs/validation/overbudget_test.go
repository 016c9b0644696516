package validation

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
)

// Entries that are malformed are left out alone.
func TestOverBudget(t *testing.T) {
	until := metav1.Unix(1000, 0)
	entries := []brokerv1alpha1.OverBudget{
		{ClusterID: "c1", Reason: brokerv1alpha1.OverBudgetChanges, Until: &until},
		{ClusterID: "no id", Reason: brokerv1alpha1.OverBudgetObjects},
		{ClusterID: "c2", Reason: "bad temper"},
		{ClusterID: "c3", Reason: brokerv1alpha1.OverBudgetChanges}, // for how long?
		{ClusterID: "c4", Reason: brokerv1alpha1.OverBudgetBytes, Until: &until},
		{ClusterID: "c1", Reason: brokerv1alpha1.OverBudgetObjects}, // again
		{ClusterID: "c5", Reason: brokerv1alpha1.OverBudgetObjects},
	}
	if diff := cmp.Diff([]brokerv1alpha1.OverBudget{entries[0], entries[6]}, OverBudget(entries)); diff != "" {
		t.Errorf("clean (-want +got):\n%s", diff)
	}
	var many []brokerv1alpha1.OverBudget
	for i := range 2 * MaxOverBudget {
		many = append(many, brokerv1alpha1.OverBudget{ClusterID: fmt.Sprint("c", i), Reason: brokerv1alpha1.OverBudgetBytes})
	}
	if got := OverBudget(many); len(got) != MaxOverBudget {
		t.Errorf("%d entries", len(got))
	}
}
