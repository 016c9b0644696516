package membership

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/hub"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// writes counts a hub's requests that change something, as far as they are let.
type writes struct {
	mu    sync.Mutex
	count map[string]int // by method and resource
}

// late is the key of writes that were refused, because another controller had written the object meanwhile. There are to be few.
const late = "too late"

type counted struct {
	*writes
	http.RoundTripper
}

func (c counted) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := c.RoundTripper.RoundTrip(r)
	if r.Method != http.MethodGet && err == nil {
		parts := strings.Split(r.URL.Path, "/")
		resource := "" // …/namespaces/NAMESPACE/RESOURCE[/NAME[/SUBRESOURCE]]
		if i := slices.Index(parts, "namespaces"); i > 0 && i+2 < len(parts) {
			resource = parts[i+2]
			if i+4 < len(parts) {
				resource += "/" + parts[i+4]
			}
		}
		key := r.Method + " " + resource
		if response.StatusCode >= http.StatusBadRequest {
			key = late
		}
		c.mu.Lock()
		c.count[key]++
		c.mu.Unlock()
	}
	return response, err
}

// take returns what has been counted, and begins anew.
func (w *writes) take() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken := w.count
	w.count = map[string]int{}
	return taken
}

func sum(counts map[string]int) (n int) {
	for _, each := range counts {
		n += each
	}
	return n
}

// hundreds are MultiClusterServices of both types, on as many Services, each with an address of its own.
type hundreds struct {
	*testing.T
	ns string
	n  int
	*writes
}

func (h *hundreds) each(f func(i int) error) {
	h.Helper()
	var group errgroup.Group
	group.SetLimit(8)
	for i := range h.n {
		group.Go(func() error { return f(i) })
	}
	if err := group.Wait(); err != nil {
		h.Fatal(err)
	}
}

func (h *hundreds) mcs(i int) *networkingv1alpha1.MultiClusterService {
	return objects.Exposed(h.ns, fmt.Sprintf("web-%d", i), networkingv1alpha1.ExposureTypeCrossCluster, networkingv1alpha1.ExposureTypeLoadBalancer)
}

// addresses waits until all have one and all conditions, and returns them by name.
func (h *hundreds) addresses() map[string]string {
	h.Helper()
	found := map[string]string{}
	eventually(h.T, "all being ready", func() error {
		list := &networkingv1alpha1.MultiClusterServiceList{}
		if err := on[lab.Broker].List(h.Context(), list, client.InNamespace(h.ns)); err != nil {
			return err
		}
		for _, m := range list.Items {
			if !meta.IsStatusConditionTrue(m.Status.Conditions, "LoadBalancerReady") || !meta.IsStatusConditionTrue(m.Status.Conditions, "ServiceFound") ||
				len(m.Status.LoadBalancer.Ingress) != 1 {
				return fmt.Errorf("%s has %+v", m.Name, m.Status)
			}
			found[m.Name] = m.Status.LoadBalancer.Ingress[0].IP
		}
		if len(found) != h.n {
			return fmt.Errorf("there are %d", len(found))
		}
		return nil
	})
	return found
}

// quiet waits until the hub has written nothing for a second, and returns what it had written since take.
func (h *hundreds) quiet() map[string]int {
	h.Helper()
	return h.quietFor(time.Second)
}

func (h *hundreds) quietFor(d time.Duration) map[string]int {
	h.Helper()
	tick := time.NewTicker(d)
	defer tick.Stop()
	all := map[string]int{}
	for began, more := time.Now(), 1; more > 0; {
		if time.Since(began) > time.Minute {
			h.Fatalf("it is not quiet after a minute: %v", all)
		}
		<-tick.C // what was seen to be written may not have been counted yet
		written := h.take()
		more = sum(written)
		for key, n := range written {
			all[key] += n
		}
	}
	return all
}

// Each event costs what it is about, however many MultiClusterServices there are: the hub's writes are counted. A hub that
// starts writes nothing that stands, and no address moves.
func TestHundredsOfMultiClusterServices(t *testing.T) {
	h := &hundreds{T: t, ns: "hundreds", n: 40, writes: &writes{count: map[string]int{}}}
	if planes.Nightly() {
		h.n = 200
	}
	deployBroker(t)
	restart := deployHub(t, "", func(o *hub.Options) {
		o.Addresses = []string{fmt.Sprintf("127.%d.%d.0/24", 1+rand.N(250), rand.N(250))}
		o.ProviderOptions = []string{"drain=100ms"}
		o.Config.Wrap(func(next http.RoundTripper) http.RoundTripper { return counted{h.writes, next} })
	})
	create(t, lab.Broker, namespace(h.ns))
	h.each(func(i int) error {
		s := service(h.ns, h.mcs(i).Name)
		s.Spec.Ports[0].Port = 18080
		return on[lab.Broker].Create(t.Context(), s)
	})
	h.quiet()
	eventually(t, "it is taken", func() error { return on[lab.Broker].Create(t.Context(), h.mcs(0)) })
	h.take()
	began := time.Now()
	h.each(func(i int) error {
		if i == 0 {
			return nil
		}
		return on[lab.Broker].Create(t.Context(), h.mcs(i))
	})
	t.Cleanup(func() {
		ctx := context.Background()
		noError(t, on[lab.Broker].DeleteAllOf(ctx, &networkingv1alpha1.MultiClusterService{}, client.InNamespace(h.ns)))
		eventually(t, "all are gone", func() error {
			list := &networkingv1alpha1.MultiClusterServiceList{}
			if err := on[lab.Broker].List(ctx, list, client.InNamespace(h.ns)); err != nil || len(list.Items) > 0 {
				return fmt.Errorf("there are %d: %w", len(list.Items), err)
			}
			return nil
		})
	})
	created := time.Since(began)
	before := h.addresses()
	t.Logf("%d are created after %v, and ready after %v", h.n, created.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
	h.expect("each that is created", h.quiet(), h.n, map[string]int{
		"POST servicepolicies": 1, "PATCH multiclusterservices": 1, "PATCH multiclusterservices/status": 2, late: 3,
	})

	create(t, lab.Broker, objects.Record("c1", h.ns, "web-7", objects.Port(80)), objects.Published("c1", h.ns, "web-7-x", "web-7", "203.0.113.1"))
	eventually(t, "backends are noticed", func() error {
		m := h.mcs(7)
		err := on[lab.Broker].Get(t.Context(), client.ObjectKeyFromObject(m), m)
		if c := meta.FindStatusCondition(m.Status.Conditions, "BackendsReachable"); err == nil && (c == nil || c.Reason == "NoBackends") {
			err = errors.New("they are not")
		}
		return err
	})
	// Whether that address answers depends on the machine's network, and is told when it is known: after two attempts of 2 s each.
	h.expect("one whose backends change", h.quietFor(8*time.Second), 1, map[string]int{"PATCH multiclusterservices/status": 2, late: 1})

	member := objects.Member("c9")
	create(t, lab.Broker, member)
	h.expect("a member more, that no object names", h.quiet(), 1, nil)

	seven := h.mcs(7)
	planes.Read(t, on[lab.Broker], seven)
	seven.Spec.ProviderClusters = []networkingv1alpha1.ClusterSelector{{Name: "c9"}}
	noError(t, on[lab.Broker].Update(t.Context(), seven))
	eventually(t, "its policy changes", func() error {
		policy := &brokerv1alpha1.ServicePolicy{}
		err := on[lab.Broker].Get(t.Context(), client.ObjectKey{Namespace: "atoll-clusterset", Name: "web-7." + h.ns}, policy)
		if err == nil && len(policy.Spec.Providers) != 1 {
			err = fmt.Errorf("it has %v", policy.Spec.Providers)
		}
		return err
	})
	h.expect("one that is changed", h.quiet(), 1, map[string]int{"PUT servicepolicies": 1, "PATCH multiclusterservices/status": 2, late: 3})

	restart()
	h.addresses()
	h.expect("a hub that starts", h.quiet(), 1, nil)
	if after := h.addresses(); !maps.Equal(before, after) {
		t.Errorf("addresses have moved: %v, and were %v", after, before)
	}

	planes.Delete(t, on[lab.Broker], h.mcs(9))
	eventually(t, "its policy is withdrawn", func() error {
		policy := &brokerv1alpha1.ServicePolicy{}
		err := on[lab.Broker].Get(t.Context(), client.ObjectKey{Namespace: "atoll-clusterset", Name: "web-9." + h.ns}, policy)
		if err == nil && !layout.Withdrawn(policy) {
			err = errors.New("it is not")
		}
		return err
	})
	h.expect("one that is deleted", h.quiet(), 1, map[string]int{"PUT servicepolicies": 1, "PATCH multiclusterservices": 1})
}

// expect compares what was written with the most that n events may cost. Not counted are Events, which tell people of conditions that have changed,
// and Leases, which the hub renews as time goes.
func (h *hundreds) expect(what string, got map[string]int, n int, each map[string]int) {
	h.Helper()
	maps.DeleteFunc(got, func(key string, _ int) bool {
		return strings.HasSuffix(key, " events") || strings.HasSuffix(key, " leases")
	})
	h.Logf("%s: %d times, %v", what, n, got)
	for key, writes := range got {
		if writes > n*each[key] {
			h.Errorf("%s, %d times: %d of %s, at most %d each", what, n, writes, key, each[key])
		}
	}
}
