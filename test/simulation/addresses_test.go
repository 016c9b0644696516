package simulation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// A member's Services use at most a quarter of another cluster's Service addresses. The others' Services, and those that this
// cluster exports too, get theirs. What has an address keeps it, also when the agent starts again.
func TestServiceAddresses(t *testing.T) {
	t.Parallel()
	b, members := joinAll(t, 3, Options{})
	importing, greedy, other := members[0], members[1], members[2]
	planes.NoError(t, importing.Stop())
	planes.Change(t, importing.Client, &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: "kubernetes"}}, func(r *networkingv1.ServiceCIDR) {
		r.Spec.CIDRs[0] = strings.Replace(r.Spec.CIDRs[0], "/16", "/28", 1)
	})
	planes.NoError(t, importing.Start(t.Context()))
	shop(t, members...)
	export(t, importing, "ours", "10.201.0.1", "")
	for i := range 7 {
		export(t, greedy, fmt.Sprint("web-", i), fmt.Sprintf("10.202.0.%d", i+1), "")
	}
	export(t, greedy, "ours", "10.202.1.1", "")
	export(t, other, "db", "10.203.0.1", "")

	var first map[string]string
	awaitAddresses(t, importing, &first, 4, 3)
	namesOverBudget(t, b, importing, greedy.ID.String())

	planes.NoError(t, importing.Stop())
	planes.NoError(t, importing.Start(t.Context()))
	namesOverBudget(t, b, importing, greedy.ID.String())
	var again map[string]string
	awaitAddresses(t, importing, &again, 4, 3)
	if !maps.Equal(first, again) {
		t.Errorf("after a restart the addresses are %v, before %v", again, first)
	}
	for name := range first {
		if strings.HasPrefix(name, "web-") {
			planes.Delete(t, greedy.Client, objects.Export("shop", name))
			break
		}
	}
	awaitAddresses(t, importing, &again, 4, 2)
}

// awaitAddresses waits until some Services named web- have an address, others say that they get none, and ours and db have one.
func awaitAddresses(t *testing.T, m *Member, have *map[string]string, with, without int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d Services have an address, %d do not", with, without), func(ctx context.Context) error {
		imports := &mcsv1beta1.ServiceImportList{}
		if err := m.Client.List(ctx, imports, client.InNamespace("shop")); err != nil {
			return err
		}
		*have = map[string]string{}
		refused, all := 0, 0
		for _, imp := range imports.Items {
			ready := meta.FindStatusCondition(imp.Status.Conditions, "Ready")
			switch {
			case len(imp.Spec.IPs) > 0:
				(*have)[imp.Name] = imp.Spec.IPs[0]
				if strings.HasPrefix(imp.Name, "web-") {
					all++
				}
			case ready != nil && ready.Status != metav1.ConditionTrue && strings.Contains(ready.Message, "at most a quarter"):
				refused++
			}
		}
		if (*have)["ours"] == "" || (*have)["db"] == "" {
			return errors.New("others have no address")
		}
		if all != with || refused != without {
			return fmt.Errorf("%d have one, %d say why not: %v", all, refused, *have)
		}
		return nil
	})
}
