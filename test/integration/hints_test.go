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
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/objects"
)

// nobody is the zone of hints for no zone of the cluster's.
const nobody = "nowhere.atoll.dev"

// zoned makes a Node of a zone, that will be deleted afterwards. Nothing runs on it.
func zoned(t *testing.T, cluster, name, zone string) *corev1.Node {
	t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelTopologyZone: zone}}}
	temporary(t, cluster, node)
	return node
}

// sliceIn makes a slice of one ready endpoint in a zone, on node n1.
func sliceIn(namespace, zone, address string) *discoveryv1.EndpointSlice {
	s := slice(namespace, "web-x", "web", address)
	s.Endpoints[0].Zone = &zone
	return s
}

// distributed makes a Service that prefers the own zone and exports it.
func distributed(t *testing.T, cluster, namespace string, distribution string) *corev1.Service {
	t.Helper()
	s := service(namespace, "web", 80)
	s.Spec.TrafficDistribution = &distribution
	create(t, cluster, s, export(namespace, "web"))
	return s
}

// setReady sets the readiness of all of a slice's endpoints.
func setReady(t *testing.T, cluster string, s *discoveryv1.EndpointSlice, ready bool) {
	t.Helper()
	change(t, cluster, s, func(s *discoveryv1.EndpointSlice) {
		for i := range s.Endpoints {
			s.Endpoints[i].Conditions.Ready = &ready
		}
	})
}

// expectHints waits until the imported endpoints of a namespace have just these hints,
// by address: zones with a comma between them, "@" and nodes, "-" where there are none.
func expectHints(t *testing.T, cluster, namespace string, want map[string]string) {
	t.Helper()
	eventually(t, "hints of "+namespace+" in "+cluster, func() error {
		have := map[string]string{}
		for _, s := range slicesOf(t, cluster, namespace) {
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

// Pitfall 14: hints are this cluster's own making. Zones without ready endpoints are
// served by the next that should, at once, and the zone gets its own back.
func TestHintsFollowReadiness(t *testing.T) {
	const ns, own, other = "hints", "10.1.1.1", "10.2.1.1"
	zoned(t, "c1", "hints-a", "a")
	node := zoned(t, "c1", "hints-b", "b")
	namespace(t, ns, "c1", "c2")
	mine := sliceIn(ns, "a", own)
	create(t, "c1", mine)
	theirs := sliceIn(ns, "b", other) // of a zone that is not c1's b
	theirs.Endpoints[0].Hints = &discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: "a"}}}
	create(t, "c2", theirs)
	first := distributed(t, "c1", ns, "PreferSameZone")
	expectImport(t, "c2", ns, "web", from("c1"))
	distributed(t, "c2", ns, "PreferSameZone")

	expectHints(t, "c1", ns, map[string]string{own: "a,b", other: nobody})
	expectHints(t, "c2", ns, map[string]string{own: "-", other: "-"}) // which has no zones

	setReady(t, "c1", mine, false)
	expectHints(t, "c1", ns, map[string]string{own: "-", other: "a,b"})
	setReady(t, "c1", mine, true)
	expectHints(t, "c1", ns, map[string]string{own: "a,b", other: nobody})

	// The cluster's zones are those of its nodes.
	zoned(t, "c1", "hints-c", "c")
	expectHints(t, "c1", ns, map[string]string{own: "a,b,c", other: nobody})
	remove(t, "c1", node)
	expectHints(t, "c1", ns, map[string]string{own: "a,c", other: nobody})

	// What somebody else writes is put right.
	for _, s := range slicesOf(t, "c1", ns) {
		change(t, "c1", &s, func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Hints = nil })
	}
	expectHints(t, "c1", ns, map[string]string{own: "a,c", other: nobody})

	// Preference for the node: only the own cluster's node is one.
	distribution := func(value *string) {
		change(t, "c1", first, func(s *corev1.Service) { s.Spec.TrafficDistribution = value })
	}
	distribution(ptr.To("PreferSameNode"))
	expectHints(t, "c1", ns, map[string]string{own: "a,c@n1", other: nobody + "@" + nobody})

	// The oldest export decides for all.
	distribution(nil)
	expectHints(t, "c1", ns, map[string]string{own: "-", other: "-"})
}

// An agent that starts finds its hints current, and writes none.
func TestHintsOutliveTheAgent(t *testing.T) {
	const ns, own, other = "hints-restart", "10.1.1.1", "10.2.1.1"
	zoned(t, "c1", "hints-a", "a")
	namespace(t, ns, "c1", "c2")
	create(t, "c1", sliceIn(ns, "a", own))
	create(t, "c2", sliceIn(ns, "a", other))
	distributed(t, "c1", ns, "PreferSameZone")
	expectImport(t, "c2", ns, "web", from("c1"))
	distributed(t, "c2", ns, "PreferSameZone")
	for _, cluster := range []string{"c1", "c2"} {
		expectImport(t, cluster, ns, "web", from("c1", "c2"))
	}
	want := map[string]string{own: "a", other: nobody}
	expectHints(t, "c1", ns, want)
	before := sliceVersions(t, "c1", ns)
	noError(t, theLab.Kill(t.Context(), "c1/agent"))
	noError(t, theLab.Start(t.Context(), "c1/agent"))
	// A change of another service shows that the agent is at work, and one of this part
	// that it has the whole service.
	create(t, "c2", service(ns, "new", 80), export(ns, "new"))
	expectImport(t, "c1", ns, "new", from("c2"))
	expectHints(t, "c1", ns, want)
	if after := sliceVersions(t, "c1", ns); !maps.Equal(before, after) {
		t.Errorf("slices were written: %v became %v", before, after)
	}
}

func sliceVersions(t *testing.T, cluster, namespace string) map[string]string {
	t.Helper()
	versions := map[string]string{}
	for _, s := range slicesOf(t, cluster, namespace) {
		versions[s.Name] = s.ResourceVersion
	}
	return versions
}

// Another cluster in the own region comes before those elsewhere, and members may move.
func TestHintsPreferTheRegion(t *testing.T) {
	const ns, near, far = "hints-region", "10.8.1.1", "10.9.1.1"
	zoned(t, "c1", "hints-a", "a")
	namespace(t, ns, "c1")
	member := standIn(t, ns, "near", "r1", near) // as c1 is
	standIn(t, ns, "far", "r9", far)
	expectImport(t, "c1", ns, "web", from("far", "near"))
	expectHints(t, "c1", ns, map[string]string{near: "a", far: nobody})
	change(t, lab.Broker, member, func(m *brokerv1alpha1.MemberCluster) { m.Spec.Region = "r8" })
	expectHints(t, "c1", ns, map[string]string{near: "a", far: "a"})
}

// standIn makes what the broker holds of a member that is not there, and exports a
// Service with one ready endpoint.
func standIn(t *testing.T, namespace, cluster, region, address string) *brokerv1alpha1.MemberCluster {
	t.Helper()
	member := objects.Member(cluster)
	member.Spec.Region = region
	record := objects.Record(cluster, namespace, "web", mcsv1beta1.ServicePort{Name: "p80", Port: 80, Protocol: corev1.ProtocolTCP})
	record.Spec.TrafficDistribution = ptr.To("PreferSameZone")
	temporary(t, lab.Broker, member, record, objects.Published(cluster, namespace, "web-x", "web", address))
	return member
}
