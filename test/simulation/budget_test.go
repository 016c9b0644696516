package simulation

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// TestMemberOverBudget has a member publish more than the budget that another one has for it. Everything is imported, and both sides report it until the
// member publishes less.
func TestMemberOverBudget(t *testing.T) {
	t.Parallel()
	const n = 8
	b, onBroker, err := MemoryBroker()
	planes.NoError(t, err)
	members := joinAll(t, b, 2, Options{Args: []string{"--lease-timeout=3s", "--member-budget=0.00001"}}) // some 1,300 bytes
	importing, over := members[0], members[1]
	here, there := listen(importing), listen(over)
	shop(t, members...)
	var want []string
	for i := range n {
		want = append(want, fmt.Sprintf("10.202.0.%d", i+1))
		export(t, over, fmt.Sprint("web-", i), want[i], "")
	}
	expect(t, "everything is imported", importing, want...)
	names := func(want ...string) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			m := &brokerv1alpha1.MemberCluster{}
			err := onBroker.Get(ctx, client.ObjectKey{Namespace: broker.DefaultNamespace, Name: importing.ID.String()}, m)
			if err == nil && !slices.Equal(m.Spec.OverBudget, want) {
				err = fmt.Errorf("it names %v", m.Spec.OverBudget)
			}
			return err
		}
	}
	eventually(t, "the importing cluster names the member", names(over.ID.String()))
	here.once(t, "MemberOverBudget", "atoll-agent")
	there.once(t, "OverBudget", "atoll-agent")
	for i := range n - 1 {
		planes.Delete(t, over.Client, objects.Export("shop", fmt.Sprint("web-", i)))
	}
	expect(t, "one is left", importing, want[n-1])
	eventually(t, "the importing cluster names nobody", names())
}
