package convergence

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	made "github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/simulation"
)

// full is an API server that refuses to create anything of a clusterset while it is full.
type full struct {
	*atomic.Bool
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (f full) RoundTrip(r *http.Request) (*http.Response, error) {
	create := r.Method == http.MethodPost && (strings.HasSuffix(r.URL.Path, "/exportedservices") || strings.HasSuffix(r.URL.Path, "/endpointslices"))
	if create && f.Load() && strings.Contains(r.URL.Path, "/namespaces/"+broker.DefaultNamespace+"/") {
		return refusedBy(r, http.StatusForbidden), nil
	}
	return f.next.RoundTrip(r)
}

// TestWhatIsRefusedForLongIsNotGone has the broker lose all that is published and then refuse it for half an hour, as with a quota that has become smaller.
// Its backends live, so it stays imported; and it ends when its export does, after the broker has accepted it again.
func TestWhatIsRefusedForLongIsNotGone(t *testing.T) {
	inBubble(t, func(ctx context.Context) {
		b, admin, err := simulation.MemoryBroker()
		if err != nil {
			t.Fatal(err)
		}
		var refuses atomic.Bool
		members, err := simulation.JoinAll(ctx, b, 1, 2, simulation.Options{Wrap: func(next http.RoundTripper) http.RoundTripper { return full{&refuses, next} }})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := simulation.StopAll(members); err != nil {
				t.Error(err)
			}
		}()
		do := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		from, to := members[0].Client, members[1].Client
		for _, c := range []client.Client{from, to} {
			do(c.Create(ctx, made.Namespace("shop")))
		}
		export := made.Export("shop", "web")
		for _, o := range []client.Object{made.Service("shop", "web", 80), made.Slice("shop", "web-x", "web", "10.1.1.1"), export} {
			do(from.Create(ctx, o))
		}
		within(t, "the import", func() string { return imported(ctx, to, "10.1.1.1") })
		refuses.Store(true)
		in := client.InNamespace(broker.DefaultNamespace)
		do(admin.DeleteAllOf(ctx, &discoveryv1.EndpointSlice{}, in))
		do(admin.DeleteAllOf(ctx, &brokerv1alpha1.ExportedService{}, in))
		for began := time.Now(); time.Since(began) < 30*time.Minute; <-time.After(5 * time.Second) {
			if problem := imported(ctx, to, "10.1.1.1"); problem != "" {
				t.Fatalf("after %v: %s", time.Since(began), problem)
			}
		}
		refuses.Store(false)
		within(t, "it is published again", func() string {
			list := &discoveryv1.EndpointSliceList{}
			if do(admin.List(ctx, list, in)); len(list.Items) == 0 {
				return "it is not"
			}
			return ""
		})
		do(from.Delete(ctx, export))
		within(t, "the end", func() string { return nothingOf(ctx, admin, from, to) })
	})
}
