package loadbalancer

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/border"
	"github.com/atoll-mcs/atoll/internal/broker/permissions"
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
	budget.Endpoints = int64(len(first.Endpoints))
	t.Cleanup(func() { budget = border.Limits{} })
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

// permit replaces the address ranges that the broker permits for a member, until the test ends; ""
// for none.
func permit(t *testing.T, member, ranges string) {
	t.Helper()
	key := permissions.RangesPrefix + member
	replace := func(ranges string) (before string) {
		t.Helper()
		eventually(t, "the ranges are permitted", func() error {
			config := &corev1.ConfigMap{}
			if err := hub.Get(context.Background(), client.ObjectKey{Namespace: clusterset, Name: names.MemberPermissions}, config); err != nil {
				return err
			}
			before = config.Data[key]
			if config.Data[key] = ranges; ranges == "" {
				delete(config.Data, key)
			}
			return hub.Update(context.Background(), config)
		})
		return before
	}
	before := replace(ranges)
	t.Cleanup(func() { replace(before) })
}

// A member cannot reach the pods, Services and nodes of the hub's own cluster through the hub,
// not even as a liar that claims to be that cluster. The member that is the cluster can.
func TestBackendsInTheHubsCluster(t *testing.T) {
	const ns = "own-cluster"
	node := func(name, address, pods string) *corev1.Node {
		n := &corev1.Node{ObjectMeta: objects.Meta("", name), Spec: corev1.NodeSpec{PodCIDR: pods, PodCIDRs: []string{pods}}}
		n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}, {Type: corev1.NodeHostName, Address: name}}
		return n
	}
	create(t, objects.Namespace(ns))
	first, secret := node("own-1", "10.30.0.1", "10.20.1.0/24"), objects.Service(ns, "secret", 80)
	create(t, first, secret)
	planes.CleanUp(t, hub, first)
	kubeSystem := &corev1.Namespace{}
	noError(t, hub.Get(t.Context(), client.ObjectKey{Name: "kube-system"}, kubeSystem))
	p, _ := providers()
	start(t)
	mcs := exposed(t, ns, "web", nil)
	refused := func(when string, total int) {
		t.Helper()
		eventually(t, when, func() error {
			if err := p.has(nameOf(mcs), "80>c1/10.1.0.1:8080"); err != nil {
				return err
			}
			if c := expect(t, mcs, loadbalancer.ConditionAccepted, "False/Refused"); !strings.Contains(c.Message, fmt.Sprintf("(%d in total)", total)) {
				return fmt.Errorf("condition Accepted says %s", c.Message)
			}
			return nil
		})
	}
	hostile := published("c1", ns, "web", "10.1.0.1", "10.20.1.7", "10.30.0.1", secret.Spec.ClusterIP)
	create(t, hostile)
	refused("a pod, a node and a Service are refused", 3)

	// A node that joins is protected at once.
	second := node("own-2", "10.30.0.2", "10.20.2.0/24")
	change(t, hostile, func(s *discoveryv1.EndpointSlice) {
		s.Endpoints[1].Addresses, s.Endpoints[2].Addresses = []string{"10.20.2.7"}, []string{"10.30.0.2"}
	})
	eventually(t, "addresses outside the cluster are backends", func() error {
		return p.has(nameOf(mcs), "80>c1/10.1.0.1:8080", "80>c1/10.20.2.7:8080", "80>c1/10.30.0.2:8080")
	})
	create(t, second)
	planes.CleanUp(t, hub, second)
	refused("addresses of a new node are refused", 3)

	// c1 claims to be the cluster. Its permitted ranges still apply, and without ranges it does not count
	// as the cluster.
	liar := objects.Member("c1")
	liar.Spec.ClusterUID = string(kubeSystem.UID)
	permit(t, "c1", "10.1.0.0/16")
	create(t, liar)
	planes.CleanUp(t, hub, liar)
	refused("a member with another cluster's UID stays in its ranges", 3)

	// The member that is the cluster publishes its own pods.
	own := objects.Member("c2")
	own.Spec.ClusterUID = string(kubeSystem.UID)
	create(t, own, published("c2", ns, "web", "10.20.1.8"))
	planes.CleanUp(t, hub, own)
	eventually(t, "its pod is a backend", func() error { return p.has(nameOf(mcs), "80>c1/10.1.0.1:8080", "80>c2/10.20.1.8:8080") })

	// When its UID changes, it is a member like others.
	change(t, own, func(m *brokerv1alpha1.MemberCluster) { m.Spec.ClusterUID = "u-c2" })
	refused("the pod is refused", 4)
}

// The hub uses no endpoints of a member without permitted ranges, unless its administrator
// allows it. The condition has the command that permits ranges.
func TestMembersWithoutRanges(t *testing.T) {
	const ns = "rangeless"
	p, _ := providers()
	stop := start(t)
	mcs := exposed(t, ns, "web", nil)
	create(t, published("c1", ns, "web", "10.1.0.1"), published("c5", ns, "web", "10.5.0.1"))
	c := expect(t, mcs, loadbalancer.ConditionAccepted, "False/RangesNotSet")
	for _, want := range []string{"no address ranges for them: c5.", "atoll broker members set c5 --ranges RANGES_OF_PODS --clusterset atoll-clusterset --context CONTEXT_OF_BROKER."} {
		if !strings.Contains(c.Message, want) {
			t.Errorf("the message lacks %q: %s", want, c.Message)
		}
	}
	eventually(t, "only c1 is used", func() error { return p.has(nameOf(mcs), "80>c1/10.1.0.1:8080") })
	expectEvent(t, ns, "RangesNotSet")

	permit(t, "c5", "10.6.0.0/16")
	expect(t, mcs, loadbalancer.ConditionAccepted, "False/Refused")
	permit(t, "c5", "10.5.0.0/16")
	expect(t, mcs, loadbalancer.ConditionAccepted, "True/Accepted")
	both := func() error { return p.has(nameOf(mcs), "80>c1/10.1.0.1:8080", "80>c5/10.5.0.1:8080") }
	eventually(t, "both are used", both)
	permit(t, "c5", "")
	eventually(t, "c5 is refused at once", func() error { return p.has(nameOf(mcs), "80>c1/10.1.0.1:8080") })

	stop()
	allowUnsetRanges = true
	t.Cleanup(func() { allowUnsetRanges = false })
	start(t)
	expect(t, mcs, loadbalancer.ConditionAccepted, "True/Accepted")
	eventually(t, "both are used", both)
}
