package membership

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/hub"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/lab/audit"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// late counts writes that failed because another controller had changed the object. There
// should be few.
const late = "too late"

// hundreds creates MultiClusterServices of both types, each with its own Service and address.
type hundreds struct {
	*testing.T
	ns  string
	n   int
	log *audit.Log // of the broker's API server
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

// addresses waits until all MultiClusterServices have all conditions and an address, and
// returns the addresses by name.
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

// quiet waits until the hub has not written for a while, and returns its writes since the last
// call, by verb and resource. Events, which report changed conditions, and Leases, which the
// hub renews at intervals, do not count.
func (h *hundreds) quiet(calm time.Duration) map[string]int {
	h.Helper()
	ctx, cancel := context.WithTimeout(h.Context(), time.Minute)
	defer cancel()
	hubs := fmt.Sprintf("system:serviceaccount:%s:%s", names.HubNamespace, names.HubAccount)
	written, err := h.log.Quiet(ctx, calm, func(w audit.Write) bool { return w.User == hubs && w.Resource != "events" && w.Resource != "leases" })
	noError(h.T, err)
	count := map[string]int{}
	for _, w := range written {
		switch {
		case !w.Succeeded():
			count[late]++
		case w.Subresource != "":
			count[w.Verb+" "+w.Resource+"/"+w.Subresource]++
		default:
			count[w.Verb+" "+w.Resource]++
		}
	}
	return count
}

// The cost of an event does not depend on the number of MultiClusterServices: the test counts
// the hub's writes. A hub that restarts does not write unchanged objects, and no address
// changes.
func TestHundredsOfMultiClusterServices(t *testing.T) {
	log, err := audit.Open(theLab.AuditLog(lab.Broker))
	noError(t, err)
	h := &hundreds{T: t, ns: "hundreds", n: 40, log: log}
	if planes.Nightly() {
		h.n = 200
	}
	deployBroker(t)
	restart := deployHub(t, "", func(o *hub.Options) {
		o.Addresses = []string{fmt.Sprintf("127.%d.%d.0/24", 1+rand.N(250), rand.N(250))}
		o.ProviderOptions, o.AllowUnsetRanges = []string{"drain=100ms"}, true
	})
	create(t, lab.Broker, namespace(h.ns))
	h.each(func(i int) error {
		s := service(h.ns, h.mcs(i).Name)
		s.Spec.Ports[0].Port = 18080
		return on[lab.Broker].Create(t.Context(), s)
	})
	h.quiet(time.Second)
	eventually(t, "the broker accepts the MultiClusterService", func() error { return on[lab.Broker].Create(t.Context(), h.mcs(0)) })
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
	h.expect("each that is created", h.quiet(time.Second), h.n, map[string]int{
		"create servicepolicies": 1, "patch multiclusterservices": 1, "patch multiclusterservices/status": 2, late: 3,
	})

	create(t, lab.Broker, objects.Record("c1", h.ns, "web-7", objects.Port(80)), objects.Published("c1", h.ns, "web-7-x", "web-7", "203.0.113.1"))
	m := h.mcs(7)
	planes.Until(t, "backends are noticed", on[lab.Broker], m, func() error {
		if c := meta.FindStatusCondition(m.Status.Conditions, "BackendsReachable"); c == nil || c.Reason == "NoBackends" {
			return errors.New("they are not")
		}
		return nil
	})
	// Whether that address answers depends on the machine's network. The hub reports the result
	// after two attempts of 2 s each.
	h.expect("one whose backends change", h.quiet(8*time.Second), 1, map[string]int{"patch multiclusterservices/status": 2, late: 1})

	create(t, lab.Broker, objects.Member("c9"))
	h.expect("a member more, that no object names", h.quiet(time.Second), 1, nil)

	planes.Change(t, on[lab.Broker], h.mcs(7), func(m *networkingv1alpha1.MultiClusterService) {
		m.Spec.ProviderClusters = []networkingv1alpha1.ClusterSelector{{Name: "c9"}}
	})
	policy := &brokerv1alpha1.ServicePolicy{ObjectMeta: objects.Meta(place, "web-7."+h.ns)}
	planes.Until(t, "its policy changes", on[lab.Broker], policy, func() error {
		if len(policy.Spec.Providers) != 1 {
			return fmt.Errorf("the policy has the providers %v", policy.Spec.Providers)
		}
		return nil
	})
	h.expect("one that is changed", h.quiet(time.Second), 1, map[string]int{"update servicepolicies": 1, "patch multiclusterservices/status": 2, late: 3})

	restart()
	h.addresses()
	h.expect("a hub that starts", h.quiet(time.Second), 1, nil)
	if after := h.addresses(); !maps.Equal(before, after) {
		t.Errorf("addresses have moved: %v, and were %v", after, before)
	}

	planes.Delete(t, on[lab.Broker], h.mcs(9))
	expectGone(t, lab.Broker, &brokerv1alpha1.ServicePolicy{ObjectMeta: objects.Meta(place, "web-9."+h.ns)}) // or withdrawn
	// The finalizer may still be present in the cache.
	h.expect("one that is deleted", h.quiet(time.Second), 1, map[string]int{"update servicepolicies": 1, "patch multiclusterservices": 1, late: 1})
}

// expect checks that n events caused at most n times the given number of writes.
func (h *hundreds) expect(what string, got map[string]int, n int, each map[string]int) {
	h.Helper()
	h.Logf("%s: %d times, %v", what, n, got)
	for key, writes := range got {
		if writes > n*each[key] {
			h.Errorf("%s, %d times: %d of %s, at most %d each", what, n, writes, key, each[key])
		}
	}
}
