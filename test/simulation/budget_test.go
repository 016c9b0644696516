package simulation

import (
	"fmt"
	"slices"
	"testing"

	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// TestMemberOverBudget has a member publish more than the budget that another one has for it. Everything is imported, and both sides report it until the
// member publishes less.
func TestMemberOverBudget(t *testing.T) {
	t.Parallel()
	const n = 8
	b, members := joinAll(t, 2, Options{Args: []string{"--lease-timeout=3s", "--member-budget=0.00001"}}) // some 1,300 bytes
	importing, over := members[0], members[1]
	here, there := listen(importing), listen(over)
	shop(t, members...)
	var want []string
	for i := range n {
		want = append(want, fmt.Sprintf("10.202.0.%d", i+1))
		export(t, over, fmt.Sprint("web-", i), want[i], "")
	}
	expect(t, "everything is imported", importing, want...)
	names := func(want ...string) {
		t.Helper()
		m := objects.Member(importing.ID.String())
		planes.Until(t, fmt.Sprintf("the importing cluster names %v", want), b.Admin, m, func() error {
			if !slices.Equal(m.Spec.OverBudget, want) {
				return fmt.Errorf("it names %v", m.Spec.OverBudget)
			}
			return nil
		})
	}
	names(over.ID.String())
	here.once(t, "MemberOverBudget", "atoll-agent")
	there.once(t, "OverBudget", "atoll-agent")
	for i := range n - 1 {
		planes.Delete(t, over.Client, objects.Export("shop", fmt.Sprint("web-", i)))
	}
	expect(t, "one is left", importing, want[n-1])
	names()
}
