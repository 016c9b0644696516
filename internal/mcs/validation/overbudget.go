package validation

import (
	"slices"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// MaxOverBudget limits the members that a MemberCluster lists as over its budget.
const MaxOverBudget = 32

// OverBudget returns the valid cluster ids in a MemberCluster's list, without duplicates, up to MaxOverBudget.
func OverBudget(named []string) (clean []string) {
	for _, id := range named {
		if _, err := names.ParseClusterID(id); err != nil || slices.Contains(clean, id) {
			continue
		}
		if clean = append(clean, id); len(clean) == MaxOverBudget {
			break
		}
	}
	return clean
}
