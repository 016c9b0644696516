package integration

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/objects"
)

// nobody is a zone that no cluster has. Endpoints with this hint get no traffic while others
// are preferred.
const nobody = "nowhere.atoll.dev"

// zoned creates a Node in a zone and deletes it after the test. No pod runs on it.
func zoned(t *testing.T, cluster, name, zone string) *corev1.Node {
	t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelTopologyZone: zone}}}
	temporary(t, cluster, node)
	return node
}

// distributed exports the Service web with a preference for near endpoints, and one endpoint in
// a zone, on node n1.
func distributed(t *testing.T, cluster, namespace, zone, address string) (*corev1.Service, *discoveryv1.EndpointSlice) {
	t.Helper()
	web, source := service(namespace, "web", 80), slice(namespace, "web-x", "web", address)
	web.Spec.TrafficDistribution = ptr.To("PreferSameZone")
	source.Endpoints[0].Zone = &zone
	source.Endpoints[0].Hints = &discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: "a"}}} // other clusters must ignore these hints
	create(t, cluster, web, source, export(namespace, "web"))
	return web, source
}

// expectHints waits until the imported endpoints of a service have exactly these hints, by
// address: zones separated by commas, "@" and nodes, or "-" for no hint.
func expectHints(t *testing.T, cluster, namespace, name string, want map[string]string) {
	t.Helper()
	eventually(t, "hints of "+namespace+" in "+cluster, func() error {
		have := map[string]string{}
		for _, s := range slicesOf(t, cluster, namespace, client.MatchingLabels{names.LabelServiceName: name}) {
			for _, e := range s.Endpoints {
				have[e.Addresses[0]] = written(e.Hints)
			}
		}
		if !maps.Equal(have, want) {
			return fmt.Errorf("have %v, want %v", have, want)
		}
		return nil
	})
}

func written(hints *discoveryv1.EndpointHints) string {
	if hints == nil {
		return "-"
	}
	var zones []string
	for _, z := range hints.ForZones {
		zones = append(zones, z.Name)
	}
	text := strings.Join(zones, ",")
	for _, n := range hints.ForNodes {
		text += "@" + n.Name
	}
	return text
}

// Pitfall 14: each cluster computes its own hints. The next best endpoints serve a zone without
// ready endpoints at once, and the zone's own endpoints serve it again when they are ready.
func TestHintsFollowReadiness(t *testing.T) {
	const ns, own, other = "hints", "10.1.1.1", "10.2.1.1"
	zoned(t, "c1", "hints-a", "a")
	node := zoned(t, "c1", "hints-b", "b")
	namespace(t, ns, "c1", "c2")
	first, mine := distributed(t, "c1", ns, "a", own)
	expectImport(t, "c2", ns, "web", from("c1"))
	distributed(t, "c2", ns, "b", other) // zone b of c2 is not zone b of c1
	expect := func(want map[string]string) {
		t.Helper()
		expectHints(t, "c1", ns, "web", want)
	}
	ready := func(is bool) {
		t.Helper()
		change(t, "c1", mine, func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Conditions.Ready = &is })
	}

	expect(map[string]string{own: "a,b", other: nobody})
	expectHints(t, "c2", ns, "web", map[string]string{own: "-", other: "-"}) // c2 has no zones

	ready(false)
	expect(map[string]string{own: "-", other: "a,b"})
	ready(true)
	expect(map[string]string{own: "a,b", other: nobody})

	// The agent reads the cluster's zones from its nodes.
	zoned(t, "c1", "hints-c", "c")
	expect(map[string]string{own: "a,b,c", other: nobody})
	remove(t, "c1", node)
	expect(map[string]string{own: "a,c", other: nobody})

	// The agent repairs hints that another writer changed.
	for _, s := range slicesOf(t, "c1", ns) {
		change(t, "c1", &s, func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Hints = nil })
	}
	expect(map[string]string{own: "a,c", other: nobody})

	// PreferSameNode applies only to the own cluster's nodes.
	distribution := func(value *string) {
		change(t, "c1", first, func(s *corev1.Service) { s.Spec.TrafficDistribution = value })
	}
	distribution(ptr.To("PreferSameNode"))
	expect(map[string]string{own: "a,c@n1", other: nobody + "@" + nobody})

	// The oldest export decides the traffic distribution for all clusters.
	distribution(nil)
	expect(map[string]string{own: "-", other: "-"})
}

// Endpoints of clusters in the same region are preferred to endpoints of other regions. A
// member may change its region.
func TestHintsPreferTheRegion(t *testing.T) {
	const ns, near, far = "hints-region", "10.8.1.1", "10.9.1.1"
	zoned(t, "c1", "hints-a", "a")
	namespace(t, ns, "c1")
	member := standIn(t, ns, "near", "r1", near) // c1 is in r1 too
	standIn(t, ns, "far", "r9", far)
	expectImport(t, "c1", ns, "web", from("far", "near"))
	expectHints(t, "c1", ns, "web", map[string]string{near: "a", far: nobody})
	change(t, lab.Broker, member, func(m *brokerv1alpha1.MemberCluster) { m.Spec.Region = "r8" })
	expectHints(t, "c1", ns, "web", map[string]string{near: "a", far: "a"})
}

// standIn creates the objects on the broker of a member that does not exist. The member exports
// a Service with one ready endpoint.
func standIn(t *testing.T, namespace, cluster, region, address string) *brokerv1alpha1.MemberCluster {
	t.Helper()
	member := objects.Member(cluster)
	member.Spec.Region = region
	record := objects.Record(cluster, namespace, "web", mcsv1beta1.ServicePort{Name: "p80", Port: 80, Protocol: corev1.ProtocolTCP})
	record.Spec.TrafficDistribution = ptr.To("PreferSameZone")
	temporary(t, lab.Broker, member, record, objects.Published(cluster, namespace, "web-x", "web", address))
	return member
}
