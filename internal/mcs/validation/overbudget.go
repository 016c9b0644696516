package validation

import (
	"slices"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// MaxOverBudget is how many members a MemberCluster names as over its budget.
const MaxOverBudget = 32

// OverBudget returns the cluster ids among what a MemberCluster names as over its budget: as many as the broker allows, each once.
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
