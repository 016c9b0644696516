package loadbalancer

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/hub/loadbalancer"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// Only invalid endpoints of a member are refused. The condition names the cluster, the number
// and the reason, and all other endpoints are backends.
func TestBackendsAreRefused(t *testing.T) {
	const ns = "refused"
	p, _ := providers()
	// The test refuses the addresses of the hub's API server (its Service and its endpoint) and
	// of the hub's node (main_test.go). An API server that listens on a loopback address, as
	// here, writes no EndpointSlice, so the test does.
	api := &corev1.Service{}
	noError(t, hub.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "kubernetes"}, api))
	server := objects.Slice("default", "kubernetes", "kubernetes", "10.8.8.8")
	create(t, server)
	planes.CleanUp(t, hub, server)
	start(t)
	mcs := exposed(t, ns, "web", nil)
	expect(t, mcs, loadbalancer.ConditionAccepted, "True/Accepted")

	hostile := published("c1", ns, "web", "10.1.0.1", "100.100.100.200", "10.9.9.9")
	for _, text := range []string{api.Spec.ClusterIP, server.Endpoints[0].Addresses[0]} {
		if a, err := netip.ParseAddr(text); err != nil || !a.Is4() {
			t.Fatalf("the API server's address is %q", text)
		}
		hostile.Endpoints = append(hostile.Endpoints, discoveryv1.Endpoint{Addresses: []string{text}})
	}
	hostile.Ports = append(hostile.Ports, discoveryv1.EndpointPort{Name: ptr.To("bad"), Port: ptr.To[int32](70000), Protocol: ptr.To(corev1.ProtocolTCP)})
	create(t, hostile)
	create(t, published("c2", ns, "web", "10.2.0.1"))
	eventually(t, "only valid backends", func() error {
		return p.has(nameOf(mcs), "80>c1/10.1.0.1:8080", "80>c2/10.2.0.1:8080")
	})
	c := expect(t, mcs, loadbalancer.ConditionAccepted, "False/Refused")
	if !strings.Contains(c.Message, "(5 in total)") || !strings.Contains(c.Message, "cluster c1: 5 refused (") || strings.Contains(c.Message, "c2") {
		t.Error(c.Message)
	}
	expect(t, mcs, loadbalancer.ConditionReachable, "True/Reachable")
	expectEvent(t, ns, "Refused")

	// Endpoints become backends when they are valid again.
	change(t, hostile, func(s *discoveryv1.EndpointSlice) { s.Endpoints, s.Ports = s.Endpoints[:1], s.Ports[:1] })
	expect(t, mcs, loadbalancer.ConditionAccepted, "True/Accepted")
	eventually(t, "all backends", func() error { return p.has(nameOf(mcs), "80>c1/10.1.0.1:8080", "80>c2/10.2.0.1:8080") })

	// A member with many endpoints does not displace other members' endpoints.
	for part := range 2 {
		many := published("c1", ns, "web")
		source := fmt.Sprintf("web-x-%d", part)
		many.Name, many.Annotations[names.AnnotationSourceSlice] = names.BrokerSlice("c1", ns, source), source
		for i := range 900 {
			many.Endpoints = append(many.Endpoints, discoveryv1.Endpoint{Addresses: []string{fmt.Sprintf("10.1.%d.%d", 8*(part+1)+i/250, i%250+1)}})
		}
		create(t, many)
	}
	eventually(t, "the limit", func() error {
		c := expect(t, mcs, loadbalancer.ConditionAccepted, "False/TooManyBackends")
		if !strings.Contains(c.Message, "port 80/TCP uses 1000 of 1802") {
			return fmt.Errorf("condition Accepted says %s", c.Message)
		}
		return nil
	})
	p.set(func(p *steered) {
		backends := p.balancers[nameOf(mcs)]
		if len(backends) != 1000 || backends[len(backends)-1] != "80>c2/10.2.0.1:8080" {
			t.Errorf("%d backends, the last is %s", len(backends), backends[len(backends)-1])
		}
	})
}

// The hub stores no more of a member's EndpointSlices than its budget and reports this. When
// there is room, it uses the others. Other members are not affected.
func TestMemberOverTheHubsBudget(t *testing.T) {
	const ns = "budget"
	p, _ := providers()
	first, second := published("c1", ns, "web", "10.1.0.1"), published("c1", ns, "more", "10.1.0.2")
	budget = int64(first.Size()) * 2 // fields that the API server sets need a part of the budget
	t.Cleanup(func() { budget = 0 })
	start(t)
	web, more := exposed(t, ns, "web", nil), exposed(t, ns, "more", nil)
	create(t, first)
	eventually(t, "the first is used", func() error { return p.has(nameOf(web), "80>c1/10.1.0.1:8080") })
	create(t, second)
	create(t, published("c2", ns, "more", "10.2.0.1"))
	eventually(t, "the other member's is used", func() error { return p.has(nameOf(more), "80>c2/10.2.0.1:8080") })
	if c := expect(t, more, loadbalancer.ConditionAccepted, "False/Refused"); !strings.Contains(c.Message, "cluster c1: 1 refused (") || !strings.Contains(c.Message, "--member-budget") {
		t.Error(c.Message)
	}
	withdraw(t, first)
	eventually(t, "there is room for the second", func() error { return p.has(nameOf(more), "80>c1/10.1.0.2:8080", "80>c2/10.2.0.1:8080") })
	expect(t, more, loadbalancer.ConditionAccepted, "True/Accepted")
}
