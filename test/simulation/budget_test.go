package simulation

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/atoll-mcs/atoll/internal/broker"
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
	here, there := listen(t, importing), listen(t, over)
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
	here.expect(t, 1, "MemberOverBudget", "atoll-agent")
	there.expect(t, 1, "OverBudget", "atoll-agent")
	for i := range n - 1 {
		planes.Delete(t, over.Client, objects.Export("shop", fmt.Sprint("web-", i)))
	}
	expect(t, "one is left", importing, want[n-1])
	names()
}

// reconciled returns how often agents of this process have reconciled imported slices.
func reconciled(t *testing.T) (n float64) {
	t.Helper()
	families, err := ctrlmetrics.Registry.Gather()
	planes.NoError(t, err)
	for _, family := range families {
		if family.GetName() != "controller_runtime_reconcile_total" {
			continue
		}
		for _, m := range family.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "controller" && l.GetValue() == "importedslice" {
					n += m.GetCounter().GetValue()
				}
			}
		}
	}
	return n
}

// TestStubsAreReadOnce gives a cluster room for no slice of another one, so that it reads each slice from the broker. It
// reads a slice again if its content changes, and not if the slice is queued for another reason.
//
// The test runs alone: it counts reconciliations of the whole process.
func TestStubsAreReadOnce(t *testing.T) {
	const n, quiet, rounds = 8, 3, 20
	var reads atomic.Int64
	count := func(next http.RoundTripper) http.RoundTripper {
		return roundTripperFunc(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/namespaces/"+broker.DefaultNamespace+"/endpointslices/") {
				reads.Add(1)
			}
			return next.RoundTrip(r)
		})
	}
	b, members := joinAll(t, 2, Options{Args: []string{"--member-budget=0.0000001"}, Wrap: count}) // 13 bytes
	importing, exporting := members[0], members[1]
	shop(t, members...)
	var want []string
	for i := range n {
		want = append(want, fmt.Sprintf("10.202.0.%d", i+1))
		export(t, exporting, fmt.Sprint("web-", i), want[i], "")
	}
	expect(t, "everything is imported", importing, want...)
	if reads.Load() < n {
		t.Fatalf("%d slices were read %d times: they are no stubs", n, reads.Load())
	}
	published := &discoveryv1.EndpointSliceList{}
	planes.NoError(t, b.Admin.List(t.Context(), published, client.InNamespace(broker.DefaultNamespace)))
	if len(published.Items) != n {
		t.Fatalf("%d slices on the broker", len(published.Items))
	}
	// The agent may read a slice again after its own write, so the first rounds do not count.
	for round, last := 0, 0; round-last < quiet; round++ {
		readBefore, before := reads.Load(), reconciled(t)
		for i := range published.Items {
			patch := fmt.Sprintf(`{"metadata":{"annotations":{"example.org/round":"%d"}}}`, round)
			planes.NoError(t, planes.Merge(t.Context(), b.Admin, &published.Items[i], patch))
		}
		planes.Eventually(t, "each slice is reconciled", func() error {
			if done := reconciled(t) - before; done < n {
				return fmt.Errorf("%v are", done)
			}
			return nil
		})
		if again := reads.Load() - readBefore; again > 0 {
			last = round + 1
			t.Logf("round %d: %d reads", round, again)
		}
		if round == rounds {
			t.Fatalf("slices with the same content are read again and again, %d times for %d slices", reads.Load(), n)
		}
	}
	readBefore := reads.Load()
	want[0] = "10.202.0.100"
	slices.Sort(want)
	planes.Change(t, exporting.Client, objects.Slice("shop", "web-0-1", "web-0"), func(s *discoveryv1.EndpointSlice) {
		s.Endpoints[0].Addresses[0] = "10.202.0.100"
	})
	expect(t, "changed content is read", importing, want...)
	if reads.Load() == readBefore {
		t.Error("the broker was not read")
	}
}
