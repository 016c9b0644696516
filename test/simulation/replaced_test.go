package simulation

import (
	"context"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// TestServiceOfAPolicyIsReplaced deletes a Service that a MultiClusterService exports, and
// re-creates it within the grace period, as GitOps tools do. The ServiceExport and the import stay,
// and with them precedence and address. After the grace period the ServiceExport is deleted.
func TestServiceOfAPolicyIsReplaced(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, grace string
		stays       bool
	}{
		{"within the grace period", "30s", true},
		{"after it", "1ms", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b, members := joinAll(t, 2, Options{Args: []string{"--service-grace=" + tt.grace}})
			shop(t, members...)
			const address = "10.202.0.1"
			policy := &brokerv1alpha1.ServicePolicy{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: broker.DefaultNamespace, Name: names.ServicePolicy("shop", "web"),
					Labels: map[string]string{names.LabelServiceNamespace: "shop", names.LabelServiceName: "web"},
				},
				Spec: brokerv1alpha1.ServicePolicySpec{ServiceNamespace: "shop", ServiceName: "web", Scope: brokerv1alpha1.ScopeClusterset},
			}
			layout.SetRevision(policy, 0)
			planes.Create(t, b.Admin, policy)
			from, to := members[1], members[0]
			planes.Create(t, from.Client, objects.Service("shop", "web", 80), objects.Slice("shop", "web-1", "web", address))
			expect(t, "it is imported", to, address)
			exported, imported := uid(t, from, objects.Export("shop", "web")), uid(t, to, objects.Import("shop", "web"))

			planes.Delete(t, from.Client, objects.Service("shop", "web", 80))
			expect(t, "it has no endpoints", to)
			if !tt.stays {
				planes.Gone(t, from.Client, objects.Export("shop", "web"))
				planes.Gone(t, to.Client, objects.Import("shop", "web"))
				return
			}
			planes.Create(t, from.Client, objects.Service("shop", "web", 80))
			expect(t, "it is imported again", to, address)
			if e, i := uid(t, from, objects.Export("shop", "web")), uid(t, to, objects.Import("shop", "web")); e != exported || i != imported {
				t.Errorf("the ServiceExport and the import were re-created: %s, %s, before %s, %s", e, i, exported, imported)
			}
		})
	}
}

// uid waits for an object.
func uid(t *testing.T, m *Member, object client.Object) types.UID {
	t.Helper()
	eventually(t, "the UID", func(ctx context.Context) error {
		if err := m.Client.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return fmt.Errorf("reading it: %w", err)
		}
		return nil
	})
	return object.GetUID()
}
