package membership

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// A frozen member creates no records, slices and catalogue entries on the broker, but changes and deletes its own, and
// renews its heartbeat. An invalid value freezes, too. Other members are not affected.
func TestFrozenMember(t *testing.T) {
	deployBroker(t)
	permitAllAfterwards(t)
	c1, c2 := asMember(t, invited(t, "c1")), asMember(t, invited(t, "c2"))
	removedAfterwards(t, "c1")
	removedAfterwards(t, "c2")
	gone := objects.Record("c2", "shop", "gone")
	planes.Create(t, c2, objects.Member("c2"), objects.Lease("c2"), objects.Record("c2", "shop", "web"), gone, withEndpoints(sliceOf("c2", "shop", "web"), 1))
	created := []client.Object{objects.Record("c2", "shop", "db"), withEndpoints(sliceOf("c2", "shop", "db"), 1), sliceOf("c2", "shop", "empty"), objects.Entry("shop", "db", "c2", "c2")}
	expectFrozen := func() {
		t.Helper()
		for _, o := range created {
			eventually(t, fmt.Sprintf("the broker refuses %T", o), func() error {
				if err := c2.Create(t.Context(), o.DeepCopyObject().(client.Object), client.DryRunAll); !apierrors.IsForbidden(err) {
					return fmt.Errorf("want Forbidden, got %v", err)
				}
				return nil
			})
			err := c2.Create(t.Context(), o.DeepCopyObject().(client.Object))
			if err == nil {
				t.Fatalf("a frozen member has created a %T", o)
			}
			planes.Says(t, "the refusal", err.Error(), "cluster c2 is frozen", "atoll broker members set c2 --frozen=false --clusterset "+place)
		}
	}
	planes.Says(t, "the table", must(t, "", "broker members set c2 --frozen --context broker -o json"), `"frozen": true`)
	expectFrozen()
	for what, do := range map[string]func() error{
		"changing a record": func() error {
			return planes.Merge(t.Context(), c2, objects.Record("c2", "shop", "web"), `{"spec":{"drained":true}}`)
		},
		"changing a slice": func() error { return planes.Merge(t.Context(), c2, sliceOf("c2", "shop", "web"), `{"endpoints":[]}`) },
		"renewing a heartbeat": func() error {
			return planes.Merge(t.Context(), c2, objects.Lease("c2"), `{"spec":{"renewTime":"2035-01-01T00:00:00.000000Z"}}`)
		},
		"changing its member":    func() error { return planes.Merge(t.Context(), c2, objects.Member("c2"), `{"spec":{"region":"eu"}}`) },
		"deleting a record":      func() error { return c2.Delete(t.Context(), gone) },
		"another member's slice": func() error { return c1.Create(t.Context(), withEndpoints(sliceOf("c1", "shop", "db"), 1)) },
	} {
		planes.Succeeds(t, what, do())
	}
	config := permitted("")
	planes.Change(t, on[lab.Broker], config, func(c *corev1.ConfigMap) { c.Data["frozen.c2"] = "perhaps" })
	expectFrozen()
	must(t, "", "broker members set c2 --frozen=false --context broker")
	for _, o := range created {
		eventually(t, fmt.Sprintf("the broker accepts %T", o), func() error { return c2.Create(t.Context(), o.DeepCopyObject().(client.Object)) })
	}
}

// The condition of an export that the broker refuses because the cluster is frozen has the broker's message.
func TestExportOfAFrozenMember(t *testing.T) {
	const ns = "frozen"
	deployBroker(t)
	permitAllAfterwards(t)
	must(t, joinFile(t, "c1"), "join - --no-workloads --context c1")
	stop := startAgent(t, asAgent(t, "c1"), t.Output())
	awaitHeartbeat(t, "c1")
	must(t, "", "broker members set c1 --frozen --context broker")
	m, _ := membershipOf(t, "c1")
	awaitPermissions(t, asMember(t, m), objects.Record("c1", ns, "probe"))
	create(t, "c1", namespace(ns), service(ns, "web"), export(ns, "web"))
	planes.Condition(t, on["c1"], export(ns, "web"), "Ready", "False/Failed", "cluster c1 is frozen")
	must(t, "", "broker members set c1 --frozen=false --context broker")
	planes.Condition(t, on["c1"], export(ns, "web"), "Ready", "True/Exported", "")
	stop()
	must(t, "", "leave --yes --context c1")
}
