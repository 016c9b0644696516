package loadbalancer

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/cloudprovider"
	"github.com/atoll-mcs/atoll/internal/hub/loadbalancer"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// Pitfall 38: after its Service is deleted, a load balancer uses the last known Service and
// follows all other changes: it closes ports that are no longer exposed and updates backends. A
// hub that has never seen the Service does not change the load balancer.
func TestFollowedWithoutService(t *testing.T) {
	const ns = "gone"
	p, _ := providers()
	stop := start(t)
	mcs := exposed(t, ns, "web", nil)
	name := nameOf(mcs)
	service := objects.Service(ns, "web")
	change(t, service, func(s *corev1.Service) {
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "admin", Port: 81})
	})
	c1, c2 := published("c1", ns, "web", "10.1.0.1"), published("c2", ns, "web", "10.2.0.1")
	for _, s := range []*discoveryv1.EndpointSlice{c1, c2} {
		s.Ports = append(s.Ports, discoveryv1.EndpointPort{Name: ptr.To("admin"), Port: ptr.To[int32](9090), Protocol: ptr.To(corev1.ProtocolTCP)})
		create(t, s)
	}
	has := func(when string, backends ...string) {
		t.Helper()
		eventually(t, when, func() error { return p.has(name, backends...) })
	}
	has("two ports, two clusters", "80>c1/10.1.0.1:8080", "80>c2/10.2.0.1:8080", "81>c1/10.1.0.1:9090", "81>c2/10.2.0.1:9090")
	planes.Delete(t, hub, service.DeepCopy())
	expect(t, mcs, loadbalancer.ConditionReady, "False/ServiceNotFound")
	move(t, c1, "10.1.0.2")
	has("pods roll", "80>c1/10.1.0.2:8080", "80>c2/10.2.0.1:8080", "81>c1/10.1.0.2:9090", "81>c2/10.2.0.1:9090")
	change(t, mcs, func(m *networkingv1alpha1.MultiClusterService) {
		m.Spec.Ports = []networkingv1alpha1.ExposurePort{{Port: 80}}
	})
	has("a port is exposed no more", "80>c1/10.1.0.2:8080", "80>c2/10.2.0.1:8080")
	withdraw(t, c2)
	has("a cluster is none any more", "80>c1/10.1.0.2:8080")
	expect(t, mcs, loadbalancer.ConditionReachable, "True/Reachable")
	if c := expect(t, mcs, loadbalancer.ConditionReady, "False/ServiceNotFound"); len(mcs.Status.LoadBalancer.Ingress) != 1 ||
		!strings.Contains(c.Message, "keeps its ports and backends") {
		t.Errorf("%s: %+v", c.Message, mcs.Status.LoadBalancer)
	}

	// A Service of a type that cannot be forwarded counts as missing.
	create(t, objects.ExternalName(ns, "web"))
	expect(t, mcs, loadbalancer.ConditionReady, "False/InvalidServiceType")
	change(t, mcs, func(m *networkingv1alpha1.MultiClusterService) {
		m.Spec.Ports[0] = networkingv1alpha1.ExposurePort{Port: 81}
	})
	has("another port", "81>c1/10.1.0.2:9090")

	stop()
	move(t, c1, "10.1.0.3")
	start(t)
	eventually(t, "the condition reports the problem", func() error {
		if c := expect(t, mcs, loadbalancer.ConditionReady, "False/InvalidServiceType"); len(mcs.Status.LoadBalancer.Ingress) != 1 ||
			!strings.Contains(c.Message, "does not change an existing load balancer") {
			return fmt.Errorf("%s: %+v", c.Message, mcs.Status.LoadBalancer)
		}
		return nil
	})
	has("nothing changes", "81>c1/10.1.0.2:9090")
	change(t, service, func(s *corev1.Service) {
		s.Spec = corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "admin", Port: 81}}}
	})
	has("the Service is back", "81>c1/10.1.0.3:9090")
	expect(t, mcs, loadbalancer.ConditionReady, "False/PortsNotCarried")
}

// If the new provider of a load balancer is not available, the former provider keeps following
// all changes.
func TestFollowedByTheFormerProvider(t *testing.T) {
	const ns = "former"
	p, q := providers()
	q.set(func(q *steered) { q.broken = errors.New("its folder is read-only") })
	start(t)
	mcs := exposed(t, ns, "web", nil)
	name := nameOf(mcs)
	c1 := published("c1", ns, "web", "10.1.0.1")
	create(t, c1)
	rolls := func(address string) {
		t.Helper()
		move(t, c1, address)
		eventually(t, "the backend "+address, func() error { return p.has(name, "80>c1/"+address+":8080") })
	}
	expect(t, mcs, loadbalancer.ConditionReachable, "True/Reachable")
	annotate(t, mcs, cloudprovider.AnnotationProvider, "nobody")
	expect(t, mcs, loadbalancer.ConditionReady, "False/NoSuchProvider")
	rolls("10.1.0.2")
	if c := expect(t, mcs, loadbalancer.ConditionReady, "False/NoSuchProvider"); !strings.Contains(c.Message, "Provider steered still forwards traffic") {
		t.Error(c.Message)
	}
	expect(t, mcs, loadbalancer.ConditionReachable, "True/Reachable")
	annotate(t, mcs, cloudprovider.AnnotationProvider, "other")
	expect(t, mcs, loadbalancer.ConditionReady, "False/ProviderFailed")
	rolls("10.1.0.3")
	change(t, objects.Service(ns, "web"), func(s *corev1.Service) {
		s.Spec.Ports = append([]corev1.ServicePort{{Name: "more", Port: 82}}, s.Spec.Ports...)
	})
	rolls("10.1.0.4")
	if q.has(name, "none") != nil {
		t.Error("the provider that is not available has a load balancer")
	}
	q.set(func(q *steered) { q.broken = nil })
	// The hub retries at least every 30 s, and at each change.
	move(t, c1, "10.1.0.5")
	eventually(t, "the move", func() error { return errors.Join(p.has(name, "none"), q.has(name, "80>c1/10.1.0.5:8080")) })
}
