package simulation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// A member that changes more than another one accepts is cut off alone, and both say so for as long as that lasts.
func TestMemberOverBudget(t *testing.T) {
	b, onBroker, err := MemoryBroker()
	planes.NoError(t, err)
	lease := "--lease-timeout=2s" // which is how soon MemberClusters are looked after
	members := joinAll(t, b, 2, Options{Args: []string{lease}})
	greedy, other := members[0], members[1]
	importer, err := Join(t.Context(), b, 3, Options{Args: []string{lease, "--member-budget=0.002"}}) // 10 changes at once
	planes.NoError(t, err)
	t.Cleanup(func() { planes.NoError(t, importer.Stop()) })
	var ahead atomic.Int64 // of the importer's clock
	planes.NoError(t, importer.Stop())
	importer.options.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	planes.NoError(t, importer.Start(t.Context()))
	for _, m := range []*Member{greedy, other, importer} {
		planes.Create(t, m.Client, objects.Namespace("shop"))
	}
	names := func(want ...brokerv1alpha1.OverBudgetReason) func(context.Context) error {
		return func(ctx context.Context) error {
			m := &brokerv1alpha1.MemberCluster{}
			if err := onBroker.Get(ctx, client.ObjectKey{Namespace: broker.DefaultNamespace, Name: importer.ID.String()}, m); err != nil {
				return err
			}
			var got []brokerv1alpha1.OverBudgetReason
			for _, o := range m.Spec.OverBudget {
				if o.ClusterID != greedy.ID.String() || o.Until == nil {
					return fmt.Errorf("it names %v", o)
				}
				got = append(got, o.Reason)
			}
			if !slices.Equal(got, want) {
				return fmt.Errorf("it names %v, not %v", got, want)
			}
			return nil
		}
	}
	here, there := listen(importer), listen(greedy)

	for i := range 20 {
		export(t, greedy, fmt.Sprintf("web%d", i), fmt.Sprintf("10.1.0.%d", i+1), "")
	}
	eventually(t, "the importer's MemberCluster names the member", names(brokerv1alpha1.OverBudgetChanges))
	here.once(t, "MemberOverBudget", "atoll-agent")
	there.once(t, "OverBudget", "atoll-agent")

	export(t, other, "db", "10.2.0.1", "")
	eventually(t, "another member's export is imported", func(ctx context.Context) error {
		got, err := endpoints(ctx, importer)
		switch {
		case err != nil:
			return err
		case !slices.Contains(got, "10.2.0.1"):
			return fmt.Errorf("endpoints are %v", got)
		case len(got) > 20:
			return errors.New("all of the member's are")
		}
		return nil
	})
	planes.NoError(t, names(brokerv1alpha1.OverBudgetChanges)(t.Context()))

	ahead.Store(int64(time.Minute))
	eventually(t, "the entry goes with the cut-off", names())
	there.once(t, "OverBudget", "atoll-agent")
}
