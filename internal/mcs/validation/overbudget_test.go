package validation

import (
	"fmt"
	"slices"
	"testing"
)

// OverBudget drops invalid cluster ids and duplicates.
func TestOverBudget(t *testing.T) {
	if got := OverBudget([]string{"c1", "no id", "", "c1", "c5"}); !slices.Equal(got, []string{"c1", "c5"}) {
		t.Errorf("%q", got)
	}
	var many []string
	for i := range 2 * MaxOverBudget {
		many = append(many, fmt.Sprint("c", i))
	}
	if got := OverBudget(many); len(got) != MaxOverBudget {
		t.Errorf("%d entries", len(got))
	}
}
