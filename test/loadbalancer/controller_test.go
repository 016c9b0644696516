package loadbalancer

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/cloudprovider"
	"github.com/atoll-mcs/atoll/internal/hub/loadbalancer"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

func TestLifeOfALoadBalancer(t *testing.T) {
	const ns = "life"
	p, _ := providers()
	start(t)
	mcs := exposed(t, ns, "web", nil)
	name := nameOf(mcs)
	expect(t, mcs, loadbalancer.ConditionReady, "False/PortsNotCarried")
	expect(t, mcs, loadbalancer.ConditionReachable, "False/NoBackends")
	if len(mcs.Status.LoadBalancer.Ingress) != 1 || mcs.Status.LoadBalancer.Ingress[0].Hostname != "web.example.com" {
		t.Errorf("status: %+v", mcs.Status.LoadBalancer)
	}
	if ports := mcs.Status.LoadBalancer.Ingress[0].Ports; len(ports) != 1 || ports[0].Port != 53 {
		t.Errorf("ports: %+v", ports)
	}
	expectEvent(t, ns, "PortsNotCarried")

	// The hub must keep conditions of other controllers.
	other := mcs.DeepCopy()
	meta.SetStatusCondition(&other.Status.Conditions, metav1.Condition{Type: "Other", Status: metav1.ConditionTrue, Reason: "X"})
	noError(t, hub.Status().Update(t.Context(), other))

	c1, c2 := published("c1", ns, "web", "10.1.0.1"), published("c2", ns, "web", "10.2.0.1", "10.2.0.2")
	create(t, c1, c2)
	eventually(t, "the backends of two clusters", func() error {
		return p.has(name, "80>c1/10.1.0.1:8080", "80>c2/10.2.0.1:8080", "80>c2/10.2.0.2:8080")
	})
	expect(t, mcs, loadbalancer.ConditionReachable, "True/Reachable")
	p.report(name, netip.MustParseAddrPort("10.2.0.1:8080"))
	if c := expect(t, mcs, loadbalancer.ConditionReachable, "False/SomeUnreachable"); c.Message != "1 of 3 backends do not answer the load balancer, so they get no traffic: 10.2.0.1:8080 in cluster c2." {
		t.Error(c.Message)
	}
	p.report(name)
	expect(t, mcs, loadbalancer.ConditionReachable, "True/Reachable")

	change(t, mcs, func(m *networkingv1alpha1.MultiClusterService) {
		m.Spec.ProviderClusters = []networkingv1alpha1.ClusterSelector{{Name: "c1"}}
	})
	eventually(t, "the backends of one cluster", func() error { return p.has(name, "80>c1/10.1.0.1:8080") })
	// Addresses that the broker's owner does not permit are not backends.
	permit(t, "c1", "10.1.0.8/29")
	eventually(t, "no permitted backends", func() error { return p.has(name) })
	change(t, c1, func(s *discoveryv1.EndpointSlice) {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{"10.1.0.9"}})
	})
	eventually(t, "the permitted backend", func() error { return p.has(name, "80>c1/10.1.0.9:8080") })
	permit(t, "c1", "10.1.0.0/16")
	eventually(t, "both are permitted", func() error { return p.has(name, "80>c1/10.1.0.1:8080", "80>c1/10.1.0.9:8080") })
	change(t, c1, func(s *discoveryv1.EndpointSlice) { s.Endpoints = s.Endpoints[1:] })
	eventually(t, "another backend", func() error { return p.has(name, "80>c1/10.1.0.9:8080") })

	service := objects.Service(ns, "web")
	planes.Delete(t, hub, service)
	expect(t, mcs, loadbalancer.ConditionReady, "False/ServiceNotFound")
	if err := p.has(name, "80>c1/10.1.0.9:8080"); err != nil || len(mcs.Status.LoadBalancer.Ingress) != 1 {
		t.Errorf("without a Service: %v, %+v", err, mcs.Status.LoadBalancer)
	}
	moved := objects.Service(ns, "web", 80)
	moved.Spec.Ports[0].Port = 81
	create(t, moved)
	eventually(t, "another port", func() error { return p.has(name, "81>c1/10.1.0.9:8080") })
	expect(t, mcs, loadbalancer.ConditionReady, "False/PortsNotCarried")

	setType(t, mcs, networkingv1alpha1.ExposureTypeCrossCluster)
	eventually(t, "no load balancer", func() error { return p.has(name, "none") })
	eventually(t, "no status", func() error {
		if err := hub.Get(t.Context(), name, mcs); err != nil {
			return err
		}
		if len(mcs.Finalizers) > 0 || len(mcs.Status.LoadBalancer.Ingress) > 0 || len(mcs.Status.Conditions) != 1 || mcs.Status.Conditions[0].Type != "Other" {
			return fmt.Errorf("%v %+v", mcs.Finalizers, mcs.Status)
		}
		return nil
	})
}

func TestProviderFailsAndRecovers(t *testing.T) {
	const ns = "failing"
	p, _ := providers()
	p.set(func(p *steered) {
		p.refuse["web"] = &cloudprovider.Error{Reason: "QuotaExceeded", Err: errors.New("no more of them")}
	})
	start(t)
	mcs := exposed(t, ns, "web", nil)
	if c := expect(t, mcs, loadbalancer.ConditionReady, "False/QuotaExceeded"); c.Message != "Provider steered failed: no more of them. The hub retries." {
		t.Error(c.Message)
	}
	expectEvent(t, ns, "QuotaExceeded")
	if len(mcs.Status.LoadBalancer.Ingress) > 0 {
		t.Errorf("the status has the load balancer %+v, want none", mcs.Status.LoadBalancer)
	}
	p.set(func(p *steered) { clear(p.refuse) })
	expect(t, mcs, loadbalancer.ConditionReady, "False/PortsNotCarried")
	// An existing load balancer stays in the status while the provider fails.
	p.set(func(p *steered) { p.refuse["web"] = errors.New("away") })
	create(t, published("c1", ns, "web", "10.1.0.1"))
	expect(t, mcs, loadbalancer.ConditionReady, "False/ProviderFailed")
	if len(mcs.Status.LoadBalancer.Ingress) != 1 {
		t.Errorf("the status has the load balancer %+v, want one ingress", mcs.Status.LoadBalancer)
	}
	// The same holds if the provider cannot list its load balancers.
	p.set(func(p *steered) {
		p.mute, p.refuse["web"] = errors.New("away"), &cloudprovider.Error{Reason: "Away", Err: errors.New("away")}
	})
	annotate(t, mcs, "example.org/x", "y")
	expect(t, mcs, loadbalancer.ConditionReady, "False/Away")
	if len(mcs.Status.LoadBalancer.Ingress) != 1 {
		t.Errorf("the status has the load balancer %+v, want one ingress", mcs.Status.LoadBalancer)
	}
	p.set(func(p *steered) { p.mute = nil; clear(p.refuse) })
	expect(t, mcs, loadbalancer.ConditionReady, "False/PortsNotCarried")
	noError(t, p.has(nameOf(mcs), "80>c1/10.1.0.1:8080"))
	// Annotations.
	annotate(t, mcs, cloudprovider.AnnotationProvider, "nobody")
	expect(t, mcs, loadbalancer.ConditionReady, "False/NoSuchProvider")
	if err := p.has(nameOf(mcs), "80>c1/10.1.0.1:8080"); err != nil || len(mcs.Status.LoadBalancer.Ingress) != 1 {
		t.Errorf("the former provider's load balancer must stay in the status: %v, %+v", err, mcs.Status.LoadBalancer)
	}
}

// If a hub cannot create a provider at startup, it sets a condition and deletes nothing that
// the provider may run. When the provider can be created, it receives these addresses. Other
// providers do not wait.
func TestProviderThatCannotBeMade(t *testing.T) {
	const ns = "unmade"
	p, _ := providers()
	stop := start(t)
	old := exposed(t, ns, "old", nil)
	expect(t, old, loadbalancer.ConditionReady, "False/PortsNotCarried")
	stop()
	p.set(func(p *steered) { p.broken = errors.New("its folder is read-only") })
	start(t)
	c := expect(t, old, loadbalancer.ConditionReady, "False/ProviderFailed")
	if !strings.Contains(c.Message, "The state of the provider's load balancers is unknown") || !strings.Contains(c.Message, "its folder is read-only") {
		t.Error(c.Message)
	}
	if len(old.Status.LoadBalancer.Ingress) != 1 || meta.FindStatusCondition(old.Status.Conditions, loadbalancer.ConditionReachable) != nil {
		t.Errorf("the status is %+v", old.Status)
	}
	fresh := exposed(t, ns, "fresh", nil)
	expect(t, fresh, loadbalancer.ConditionReady, "False/ProviderFailed")
	others := exposed(t, ns, "others", map[string]string{cloudprovider.AnnotationProvider: "other"})
	expect(t, others, loadbalancer.ConditionReady, "False/PortsNotCarried")
	p.set(func(p *steered) { p.broken = nil })
	for _, m := range []*networkingv1alpha1.MultiClusterService{fresh, old} {
		expect(t, m, loadbalancer.ConditionReady, "False/PortsNotCarried")
	}
	p.madeWith(t, old)
}

// The controller repairs its fields in the status after another writer changed them.
func TestStatusIsPutRight(t *testing.T) {
	const ns = "edited"
	providers()
	start(t)
	mcs := exposed(t, ns, "web", nil)
	expect(t, mcs, loadbalancer.ConditionReady, "False/PortsNotCarried")
	expect(t, mcs, loadbalancer.ConditionReachable, "False/NoBackends")
	planes.Until(t, "editing", hub, mcs, func() error {
		mcs.Status.LoadBalancer.Ingress[0].Hostname = "elsewhere.example.com"
		meta.SetStatusCondition(&mcs.Status.Conditions, metav1.Condition{Type: loadbalancer.ConditionReady, Status: metav1.ConditionTrue, Reason: "Edited"})
		return hub.Status().Update(t.Context(), mcs)
	})
	expect(t, mcs, loadbalancer.ConditionReady, "False/PortsNotCarried")
	if got := mcs.Status.LoadBalancer.Ingress[0].Hostname; got != "web.example.com" {
		t.Errorf("the hostname is %s, want web.example.com", got)
	}
}

// The hub watches a service's endpoints while the service has a load balancer. Finalizers of
// the current provider are kept, whoever has set them, and foreign finalizers are not touched.
func TestWhatIsLeftBehind(t *testing.T) {
	const ns = "left"
	providers()
	start(t)
	one := exposed(t, ns, "one", nil)
	two := exposed(t, ns, "two", nil)
	for _, m := range []*networkingv1alpha1.MultiClusterService{one, two} {
		expect(t, m, loadbalancer.ConditionReady, "False/PortsNotCarried")
		change(t, m, func(m *networkingv1alpha1.MultiClusterService) { // a user sets the finalizer too
			m.Finalizers = []string{"example.org/others", "lb.atoll.dev/steered"}
		})
	}
	crossed := func(m *networkingv1alpha1.MultiClusterService) {
		t.Helper()
		setType(t, m, networkingv1alpha1.ExposureTypeCrossCluster)
		eventually(t, "the finalizer of others alone", func() error {
			if err := hub.Get(t.Context(), nameOf(m), m); err != nil || !slices.Equal(m.Finalizers, []string{"example.org/others"}) {
				return fmt.Errorf("%v, %w", m.Finalizers, err)
			}
			return nil
		})
	}
	crossed(one)
	crossed(two)
	setType(t, one, networkingv1alpha1.ExposureTypeLoadBalancer)
	create(t, published("c1", ns, "one", "10.1.0.1"))
	eventually(t, "the hub watches the endpoints again", func() error { return provided["steered"].has(nameOf(one), "80>c1/10.1.0.1:8080") })
}

func TestDeleting(t *testing.T) {
	const ns = "deleting"
	p, _ := providers()
	start(t)
	remove := func(mcs *networkingv1alpha1.MultiClusterService) {
		t.Helper()
		expect(t, mcs, loadbalancer.ConditionReady, "False/PortsNotCarried")
		planes.Delete(t, hub, mcs)
	}
	fine := exposed(t, ns, "fine", nil)
	remove(fine)
	expectGone(t, fine)
	noError(t, p.has(nameOf(fine), "none"))

	p.set(func(p *steered) {
		p.keep["kept"], p.keep["told"] = errors.New("it is in use"), errors.New("it is in use")
	})
	told := exposed(t, ns, "told", map[string]string{cloudprovider.AnnotationAbandon: "true"})
	remove(told)
	expectGone(t, told)
	expectEvent(t, ns, "LoadBalancerAbandoned")

	kept := exposed(t, ns, "kept", nil)
	remove(kept)
	expect(t, kept, loadbalancer.ConditionReady, "False/DeletionFailed")
	expectGone(t, kept) // after abandonAfter
	if err := p.has(nameOf(kept)); err != nil {
		t.Errorf("the provider has kept the load balancer and has %v", err)
	}
}

// When a load balancer moves to another provider, the hub first deletes it at the former
// provider.
func TestAnotherProvider(t *testing.T) {
	const ns = "another"
	p, q := providers()
	start(t)
	mcs := exposed(t, ns, "web", nil)
	expect(t, mcs, loadbalancer.ConditionReady, "False/PortsNotCarried")
	annotate(t, mcs, cloudprovider.AnnotationProvider, "other")
	eventually(t, "the move", func() error { return errors.Join(p.has(nameOf(mcs), "none"), q.has(nameOf(mcs))) })
	eventually(t, "the finalizer", func() error {
		if err := hub.Get(t.Context(), nameOf(mcs), mcs); err != nil || !slices.Equal(mcs.Finalizers, []string{"lb.atoll.dev/other"}) {
			return fmt.Errorf("%v, %w", mcs.Finalizers, err)
		}
		return nil
	})
}

// At startup the hub passes the load balancers with addresses to its providers, and deletes
// load balancers whose objects were deleted.
func TestRestart(t *testing.T) {
	const ns = "restart"
	p, _ := providers()
	stop := start(t)
	old, gone := exposed(t, ns, "zz-old", nil), exposed(t, ns, "gone", nil)
	expect(t, old, loadbalancer.ConditionReady, "False/PortsNotCarried")
	expect(t, gone, loadbalancer.ConditionReady, "False/PortsNotCarried")
	stop()
	fresh := exposed(t, ns, "fresh", nil)
	change(t, gone, func(m *networkingv1alpha1.MultiClusterService) { m.Finalizers = nil })
	planes.Delete(t, hub, gone)
	expectGone(t, gone)
	start(t)
	expect(t, fresh, loadbalancer.ConditionReady, "False/PortsNotCarried")
	eventually(t, "the load balancer of the deleted object is deleted", func() error { return p.has(nameOf(gone), "none") })
	p.madeWith(t, old)
}

// An event causes work only for the objects that it concerns.
func TestAnEventConcernsOne(t *testing.T) {
	const ns, n = "many", 50
	p, _ := providers()
	start(t)
	var all []*networkingv1alpha1.MultiClusterService
	for i := range n {
		all = append(all, exposed(t, ns, fmt.Sprintf("web-%d", i), nil))
	}
	for _, m := range all {
		expect(t, m, loadbalancer.ConditionReady, "False/PortsNotCarried")
	}
	p.still()
	p.set(func(p *steered) { clear(p.calls) })
	create(t, published("c1", ns, "web-7", "10.1.0.1"))
	create(t, published("c1", ns, "nobody", "10.1.0.1")) // of a Service without MultiClusterService
	expect(t, all[7], loadbalancer.ConditionReachable, "True/Reachable")
	p.set(func(p *steered) {
		// One update for the slice and one for the status change that follows.
		for name, calls := range p.calls {
			if name != (types.NamespacedName{Namespace: ns, Name: "web-7"}) || calls > 3 {
				t.Errorf("%s was updated %d times", name, calls)
			}
		}
	})
	versions := func() (list []string) {
		found := &networkingv1alpha1.MultiClusterServiceList{}
		noError(t, hub.List(t.Context(), found, client.InNamespace(ns)))
		for _, m := range found.Items {
			list = append(list, m.ResourceVersion)
		}
		return list
	}
	before := versions()
	p.report(nameOf(all[8])) // no change
	create(t, published("c2", ns, "web-9", "10.2.0.1"))
	expect(t, all[9], loadbalancer.ConditionReachable, "True/Reachable")
	changed := 0
	for i, v := range versions() {
		if v != before[i] {
			changed++
		}
	}
	if changed != 1 {
		t.Errorf("%d objects were written, want 1", changed)
	}
}
