package membership

import (
	"fmt"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/broker/rights"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// "broker deploy" creates a quota with room for what exists, and never changes one. "members list" shows each member's share,
// and warns before the quota is full.
func TestQuotaOfTheClusterset(t *testing.T) {
	deployBroker(t)
	const records = corev1.ResourceName("count/exportedservices.broker.atoll.dev")
	quota := &corev1.ResourceQuota{ObjectMeta: objects.Meta(place, rights.QuotaName)}
	hard := func() int64 {
		t.Helper()
		planes.Read(t, on[lab.Broker], quota)
		limit := quota.Spec.Hard[records]
		return limit.Value()
	}
	if got := hard(); got != 20_000 {
		t.Errorf("a new broker's quota has room for %d records", got)
	}
	c2 := asMember(t, invited(t, "c2"))
	removedAfterwards(t, "c2")
	planes.Create(t, c2, objects.Member("c2"), objects.Lease("c2"), objects.Record("c2", "shop", "web"), objects.Record("c2", "shop", "db"), sliceOf("c2", "shop", "web"))
	planes.Says(t, "the table", strings.Join(strings.Fields(must(t, "", "broker members list c2 -o wide --context broker")), " "),
		"MISTAKES RECORDS SLICES EXAMPLES c2 all - 2 0 any 0 0 - - - 2 1 -")

	// An administrator's limit stays.
	planes.Change(t, on[lab.Broker], quota, func(q *corev1.ResourceQuota) { q.Spec.Hard[records] = resource.MustParse("2") })
	defer func() {
		noError(t, client.IgnoreNotFound(on[lab.Broker].Delete(t.Context(), quota)))
		must(t, "", "broker deploy --context broker")
	}()
	must(t, "", "broker deploy --context broker")
	if got := hard(); got != 2 {
		t.Errorf("broker deploy has changed a quota of 2 records to %d", got)
	}
	eventually(t, "the quota is in force", func() error {
		if r := atoll("", "broker members list --context broker"); !strings.Contains(r.Stderr, "warning: 2 of at most 2 objects of kind ExportedService exist (100 % of the quota)") || r.Status != 0 {
			return fmt.Errorf("status %d, %s", r.Status, r.Stderr)
		}
		return nil
	})
	if err := c2.Create(t.Context(), objects.Record("c2", "shop", "more")); err == nil || !strings.Contains(err.Error(), "exceeded quota: "+rights.QuotaName) {
		t.Errorf("a record beyond the quota: %v", err)
	}
	planes.Succeeds(t, "changing a record while the quota is full", planes.Merge(t.Context(), c2, objects.Record("c2", "shop", "db"), `{"spec":{"drained":true}}`))

	// A clusterset that has many objects gets room for twice as many.
	planes.Delete(t, on[lab.Broker], quota)
	const many = 600
	for i := range many {
		planes.Create(t, on[lab.Broker], objects.Lease(fmt.Sprintf("many-%d", i)))
	}
	must(t, "", "broker deploy --context broker")
	noError(t, on[lab.Broker].DeleteAllOf(t.Context(), &coordinationv1.Lease{}, client.InNamespace(place)))
	planes.Read(t, on[lab.Broker], quota)
	if leases := quota.Spec.Hard["count/leases.coordination.k8s.io"]; leases.Value() < 2*many || leases.Value() > 2*many+20 {
		t.Errorf("a broker with %d Leases gets a quota for %s", many, leases.String())
	}

	// A quota of another name is enough.
	planes.Delete(t, on[lab.Broker], quota)
	own := &corev1.ResourceQuota{ObjectMeta: objects.Meta(place, "own"), Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{records: resource.MustParse("7")}}}
	create(t, lab.Broker, own)
	must(t, "", "broker deploy --context broker")
	expectGone(t, lab.Broker, quota)
	planes.Delete(t, on[lab.Broker], own)
}
