package validation

import (
	"slices"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// MaxOverBudget is how many members a MemberCluster names as over its budget.
const MaxOverBudget = 32

// OverBudget returns the well-formed entries of a MemberCluster about members over its budget: as many as the broker allows, the
// first one for each member.
func OverBudget(entries []brokerv1alpha1.OverBudget) (clean []brokerv1alpha1.OverBudget) {
	for _, e := range entries {
		_, err := names.ParseClusterID(e.ClusterID)
		timed := e.Reason == brokerv1alpha1.OverBudgetChanges
		known := timed || e.Reason == brokerv1alpha1.OverBudgetObjects || e.Reason == brokerv1alpha1.OverBudgetBytes
		twice := slices.ContainsFunc(clean, func(c brokerv1alpha1.OverBudget) bool { return c.ClusterID == e.ClusterID })
		if err != nil || !known || timed != (e.Until != nil) || twice {
			continue
		}
		if clean = append(clean, e); len(clean) == MaxOverBudget {
			break
		}
	}
	return clean
}
