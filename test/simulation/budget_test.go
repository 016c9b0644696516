package simulation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/mcs/share"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// TestMemberOverBudget lets a member publish more than another member's budget for it. The
// importer imports as much as fits and refuses the rest with a condition. Both sides report the
// refusal until the member publishes less; then the rest is imported. The first report to the
// broker is lost: the importer repeats the report, but not the Event.
func TestMemberOverBudget(t *testing.T) {
	t.Parallel()
	const n = 8
	var lostReport atomic.Bool
	loseReport := func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/memberclusters/sim1") && !lostReport.Load() {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					return nil, err
				}
				if bytes.Contains(body, []byte("overBudget")) && lostReport.CompareAndSwap(false, true) {
					return nil, errors.New("the connection breaks")
				}
				r = r.Clone(r.Context())
				r.Body = io.NopCloser(bytes.NewReader(body))
			}
			return next.RoundTrip(r)
		})
	}
	b, members := joinAll(t, 2, Options{Wrap: loseReport, Args: []string{"--lease-timeout=3s", "--member-budget=0.00002"}}) // three endpoints, one in a namespace
	importing, over := members[0], members[1]
	here, there := listen(t, importing), listen(t, over)
	shop(t, members...)
	address := func(i int) string { return fmt.Sprintf("10.202.0.%d", i+1) }
	for i := range n {
		export(t, over, fmt.Sprint("web-", i), address(i), "")
	}
	namesOverBudget(t, b, importing, over.ID.String())
	if !lostReport.Load() {
		t.Fatal("no report was lost")
	}
	here.expect(t, 1, "MemberOverBudget", "atoll-agent")
	there.expect(t, 1, "OverBudget", "atoll-agent")
	var fit, rest []int
	planes.Eventually(t, "each service has endpoints, or a condition that says why not", func() error {
		fit, rest = nil, nil
		var want []string
		for i := range n {
			imp := objects.Import("shop", fmt.Sprint("web-", i))
			if err := importing.Client.Get(t.Context(), client.ObjectKeyFromObject(imp), imp); err != nil {
				return err
			}
			ready := meta.FindStatusCondition(imp.Status.Conditions, "Ready")
			switch {
			case ready == nil:
				return fmt.Errorf("%s has no condition", imp.Name)
			case strings.Contains(ready.Message, "per-member budget"):
				rest = append(rest, i)
			case ready.Status != metav1.ConditionTrue:
				return fmt.Errorf("%s is not ready: %s", imp.Name, ready.Message)
			default: // also while its endpoints are on the way
				fit, want = append(fit, i), append(want, address(i))
			}
		}
		have, err := planes.Endpoints(t.Context(), importing.Client)
		if err == nil && !slices.Equal(have, want) {
			err = fmt.Errorf("services %v seem to fit, and the endpoints are %v", fit, have)
		}
		return err
	})
	if len(fit) == 0 || len(rest) < 2 {
		t.Fatalf("%v fit, and %v do not", fit, rest)
	}
	last := rest[len(rest)-1]
	for i := range n {
		if i != last {
			planes.Delete(t, over.Client, objects.Export("shop", fmt.Sprint("web-", i)))
		}
	}
	expect(t, "there is room for the one that is left", importing, address(last))
	namesOverBudget(t, b, importing)
}

// namesOverBudget waits until a member's MemberCluster names these members as over its budget.
func namesOverBudget(t *testing.T, b *Broker, importing *Member, want ...string) {
	t.Helper()
	m := objects.Member(importing.ID.String())
	planes.Until(t, fmt.Sprintf("the importing cluster names %v", want), b.Admin, m, func() error {
		if !slices.Equal(m.Spec.OverBudget, want) {
			return fmt.Errorf("it reports over-budget members %v", m.Spec.OverBudget)
		}
		return nil
	})
}

// TestNewNamespace lets a member publish slices of a namespace that an importer lacks. When the
// namespace is created there, the importer reads each slice once. Later changes arrive through
// the watch, with content.
func TestNewNamespace(t *testing.T) {
	t.Parallel()
	const n = 8
	var reads atomic.Int64
	count := func(next http.RoundTripper) http.RoundTripper {
		return roundTripperFunc(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/namespaces/"+broker.DefaultNamespace+"/endpointslices/") {
				reads.Add(1)
			}
			return next.RoundTrip(r)
		})
	}
	b, members := joinAll(t, 2, Options{Wrap: count})
	importing, exporting := members[0], members[1]
	shop(t, exporting)
	var want []string
	for i := range n {
		want = append(want, fmt.Sprintf("10.202.0.%d", i+1))
		export(t, exporting, fmt.Sprint("web-", i), want[i], "")
	}
	published := &discoveryv1.EndpointSliceList{}
	planes.Eventually(t, "all slices are on the broker", func() error {
		if err := b.Admin.List(t.Context(), published, client.InNamespace(broker.DefaultNamespace)); err != nil || len(published.Items) < n {
			return fmt.Errorf("%d are, %w", len(published.Items), err)
		}
		return nil
	})
	shop(t, importing)
	expect(t, "everything is imported", importing, want...)
	if got := reads.Load(); got > n {
		t.Errorf("%d slices were read %d times", n, got)
	}
	before := reads.Load()
	want[0] = "10.202.0.100"
	slices.Sort(want)
	planes.Change(t, exporting.Client, objects.Slice("shop", "web-0-1", "web-0"), func(s *discoveryv1.EndpointSlice) {
		s.Endpoints[0].Addresses[0] = "10.202.0.100"
	})
	expect(t, "changed content is imported", importing, want...)
	if got := reads.Load(); got > before {
		t.Errorf("the importer read the broker %d times after a change, want 0", got-before)
	}
}

// TestTooManyRecords lets a member have one record more on the broker than count. All clusters leave out the youngest, until
// there are not too many.
func TestTooManyRecords(t *testing.T) {
	t.Parallel()
	b, members := joinAll(t, 2, Options{})
	importing, over := members[0], members[1]
	shop(t, importing)
	here := listen(t, importing)
	planes.NoError(t, over.Stop())
	record := func(namespace, name string, age time.Duration) *brokerv1alpha1.ExportedService {
		r := objects.Record(over.ID.String(), namespace, name, objects.Port(80))
		r.Spec.ExportedAt = metav1.NewTime(time.Now().Add(-age))
		return r
	}
	imported := func(want ...string) {
		t.Helper()
		planes.Eventually(t, fmt.Sprintf("%v are imported", want), func() error {
			list := &mcsv1beta1.ServiceImportList{}
			if err := importing.Client.List(t.Context(), list, client.InNamespace("shop")); err != nil {
				return err
			}
			var got []string
			for _, imp := range list.Items {
				got = append(got, imp.Name)
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				return fmt.Errorf("the imports are %v", got)
			}
			return nil
		})
	}
	planes.Create(t, b.Admin, record("shop", "old", 3*time.Hour))
	young := record("shop", "young", time.Hour)
	planes.Create(t, b.Admin, young)
	imported("old", "young")
	planes.Create(t, b.Admin, record("elsewhere", "web", 2*time.Hour))
	for i := range share.Records - 2 {
		planes.Create(t, b.Admin, record("elsewhere", fmt.Sprint("web-", i), 2*time.Hour))
	}
	imported("old")
	here.expect(t, 1, "MemberOverBudget", "atoll-agent")
	planes.Delete(t, b.Admin, young)
	planes.Create(t, b.Admin, record("shop", "oldest", 4*time.Hour))
	imported("old", "oldest")
}

// New imports of one member come at its rate, and delay nobody else's.
func TestNewImportsArePaced(t *testing.T) {
	t.Parallel()
	const perSecond, burst, services = 100, 1000, 1300 // the pace of members' changes
	b, members := joinAll(t, 3, Options{})
	importing, greedy, other := members[0], members[1], members[2]
	shop(t, importing, other)
	planes.NoError(t, greedy.Stop())
	began := time.Now()
	for i := range services {
		planes.Create(t, b.Admin, objects.Record(greedy.ID.String(), "shop", fmt.Sprint("web-", i), objects.Port(80)))
	}
	have := func(ctx context.Context) (n int, db bool, err error) {
		list := &mcsv1beta1.ServiceImportList{}
		err = importing.Client.List(ctx, list, client.InNamespace("shop"))
		for _, imp := range list.Items {
			db = db || imp.Name == "db"
		}
		return len(list.Items), db, err
	}
	export(t, other, "db", "10.203.0.1", "")
	eventually(t, "the other member's service is imported", func(ctx context.Context) error {
		n, db, err := have(ctx)
		if err == nil && !db {
			err = fmt.Errorf("%d others are", n)
		}
		return err
	})
	eventually(t, "all are imported", func(ctx context.Context) error {
		n, _, err := have(ctx)
		if err == nil && n <= services {
			err = fmt.Errorf("%d are", n)
		}
		return err
	})
	if took, least := time.Since(began), (services-burst)*time.Second/perSecond; took < least {
		t.Errorf("%d new imports took %v, want %v at least", services, took, least)
	}
}
