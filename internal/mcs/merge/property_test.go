package merge

import (
	"math/rand"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

// drawExport draws from few values, so that exports often agree and often conflict. Its ports
// are valid, as the API server ensures.
func drawExport(t *rapid.T, cluster string) Export {
	e := export(cluster, rapid.IntRange(0, 2).Draw(t, "second"))
	e.Type = rapid.SampledFrom([]mcsv1beta1.ServiceImportType{mcsv1beta1.ClusterSetIP, mcsv1beta1.Headless}).Draw(t, "type")
	e.Ports = nil
	for range rapid.IntRange(0, 4).Draw(t, "ports") {
		p := mcsv1beta1.ServicePort{
			Name:     rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "name"),
			Port:     rapid.Int32Range(1, 3).Draw(t, "number"),
			Protocol: rapid.SampledFrom([]corev1.Protocol{"", corev1.ProtocolTCP, corev1.ProtocolUDP}).Draw(t, "protocol"),
		}
		p.AppProtocol = rapid.Ptr(rapid.SampledFrom([]string{"http", "h2c"}), true).Draw(t, "application")
		if !contradicts(e.Ports, p) {
			e.Ports = append(e.Ports, p)
		}
	}
	e.SessionAffinity = rapid.SampledFrom([]corev1.ServiceAffinity{"", corev1.ServiceAffinityNone, corev1.ServiceAffinityClientIP}).Draw(t, "affinity")
	if e.SessionAffinity == corev1.ServiceAffinityClientIP {
		timeout := rapid.Ptr(rapid.SampledFrom([]int32{1, corev1.DefaultClientIPServiceAffinitySeconds}), true).Draw(t, "timeout")
		e.SessionAffinityConfig = rapid.SampledFrom([]*corev1.SessionAffinityConfig{
			nil, {}, {ClientIP: &corev1.ClientIPConfig{}}, {ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: timeout}},
		}).Draw(t, "affinity config")
	}
	e.InternalTrafficPolicy = rapid.Ptr(rapid.SampledFrom([]corev1.ServiceInternalTrafficPolicy{
		corev1.ServiceInternalTrafficPolicyCluster, corev1.ServiceInternalTrafficPolicyLocal,
	}), true).Draw(t, "internal traffic policy")
	e.TrafficDistribution = rapid.Ptr(rapid.SampledFrom([]string{"PreferSameZone", "PreferClose", "PreferSameNode"}), true).Draw(t, "distribution")
	e.IPFamilies = rapid.SampledFrom([][]corev1.IPFamily{
		{corev1.IPv4Protocol}, {corev1.IPv6Protocol}, {corev1.IPv4Protocol, corev1.IPv6Protocol}, {corev1.IPv6Protocol, corev1.IPv4Protocol},
	}).Draw(t, "families")
	e.ExportedLabels = rapid.MapOfN(rapid.SampledFrom([]string{"x", "y"}), rapid.SampledFrom([]string{"1", "2"}), 0, 2).Draw(t, "labels")
	e.ExportedAnnotations = rapid.MapOfN(rapid.SampledFrom([]string{"x", "y"}), rapid.SampledFrom([]string{"1", "2"}), 0, 2).Draw(t, "annotations")
	return e
}

// contradicts implements the Service rule independently of the code under test.
func contradicts(ports []mcsv1beta1.ServicePort, p mcsv1beta1.ServicePort) bool {
	protocol := func(p mcsv1beta1.ServicePort) corev1.Protocol {
		if p.Protocol == "" {
			return corev1.ProtocolTCP
		}
		return p.Protocol
	}
	for _, q := range ports {
		if q.Name == p.Name || (protocol(q) == protocol(p) && q.Port == p.Port) {
			return true
		}
	}
	return false
}

func drawExports(t *rapid.T) []Export {
	var exports []Export
	for _, cluster := range []string{"c1", "c2", "c3.eu", "c4"}[:rapid.IntRange(1, 4).Draw(t, "clusters")] {
		exports = append(exports, drawExport(t, cluster))
	}
	return exports
}

var same = cmpopts.EquateEmpty()

// Pitfall 7: the order of arrival does not decide which export is the oldest.
func TestOrderOfArrivalDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		exports := drawExports(t)
		want := Resolve(exports)
		shuffled := append([]Export(nil), exports...)
		rand.New(rand.NewSource(rapid.Int64().Draw(t, "seed"))).Shuffle(len(shuffled), func(i, j int) {
			shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
		})
		if diff := cmp.Diff(want, Resolve(shuffled)); diff != "" {
			t.Fatalf("another order changes the result:\n%s", diff)
		}
	})
}

func TestMergingIsIdempotent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		exports := drawExports(t)
		merged := Resolve(exports)
		for i := range exports { // every cluster adopts the merged properties
			exports[i].Type = merged.Spec.Type
			exports[i].Ports = merged.Spec.Ports
			exports[i].IPFamilies = merged.Spec.IPFamilies
			exports[i].SessionAffinity = merged.Spec.SessionAffinity
			exports[i].SessionAffinityConfig = merged.Spec.SessionAffinityConfig
			exports[i].InternalTrafficPolicy = merged.Spec.InternalTrafficPolicy
			exports[i].TrafficDistribution = merged.Spec.TrafficDistribution
			exports[i].ExportedLabels, exports[i].ExportedAnnotations = merged.Labels, merged.Annotations
		}
		want := merged
		want.Conflicts = nil
		if diff := cmp.Diff(want, Resolve(exports), same); diff != "" {
			t.Fatalf("merging the merged properties changes them:\n%s", diff)
		}
	})
}

// Pitfall 2: no two ports of the union have the same name, or the same protocol and number, and
// no port is dropped without a conflict.
func TestUnionOfPortsObeysTheServiceRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		exports := drawExports(t)
		union := Resolve(exports).Spec.Ports
		for i, p := range union {
			if contradicts(union[:i], p) {
				t.Fatalf("port %v can't stand beside %v", p, union[:i])
			}
		}
		for _, e := range exports {
			for _, p := range e.Ports {
				if !contradicts(union, p) {
					t.Fatalf("port %v of %s got lost from %v", p, e.ClusterID, union)
				}
			}
		}
		for _, p := range union {
			served := false
			for _, e := range exports {
				served = served || slices.ContainsFunc(e.Ports, func(q mcsv1beta1.ServicePort) bool { return SameNumber(p, q) })
			}
			if !served {
				t.Fatalf("no cluster serves port %v", p)
			}
		}
	})
}

// Pitfall 3: clusters may list their ports in any order.
func TestOrderOfPortsIsNoConflict(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		exports := drawExports(t)
		if rapid.Bool().Draw(t, "all have the same ports") {
			for i := range exports {
				exports[i].Ports = exports[0].Ports
			}
		}
		before := Resolve(exports)
		for i := range exports {
			exports[i].Ports = rapid.Permutation(exports[i].Ports).Draw(t, "order")
		}
		after := Resolve(exports)
		reasons := func(r Resolution) (all []mcsv1beta1.ServiceExportConditionReason) {
			for _, c := range r.Conflicts {
				all = append(all, c.Reason)
			}
			return all
		}
		if diff := cmp.Diff(reasons(before), reasons(after)); diff != "" {
			t.Fatalf("another order of ports changes the conflicts:\n%s", diff)
		}
		if len(before.Spec.Ports) != len(after.Spec.Ports) || !samePorts(before.Spec.Ports, after.Spec.Ports) {
			t.Fatalf("another order of ports changes %v to %v", before.Spec.Ports, after.Spec.Ports)
		}
	})
}

func TestAYoungerExportNeverChangesWhatIsDecided(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		exports := drawExports(t)
		before := Resolve(exports).Spec
		younger := drawExport(t, "c9")
		younger.ExportedAt = export("c9", 10).ExportedAt
		after := Resolve(append(exports, younger)).Spec
		if len(after.Ports) < len(before.Ports) || len(after.IPFamilies) < len(before.IPFamilies) {
			t.Fatalf("a younger export took away from %v: %v", before, after)
		}
		after.Ports = after.Ports[:len(before.Ports)]
		after.IPFamilies = after.IPFamilies[:len(before.IPFamilies)]
		if diff := cmp.Diff(before, after, same); diff != "" {
			t.Fatalf("a younger export changed:\n%s", diff)
		}
	})
}

// writtenOut returns a spec with the API's defaults filled in.
func writtenOut(spec mcsv1beta1.ServiceImportSpec) mcsv1beta1.ServiceImportSpec {
	if spec.SessionAffinity == corev1.ServiceAffinityClientIP {
		timeout := corev1.DefaultClientIPServiceAffinitySeconds
		if c := spec.SessionAffinityConfig; c != nil && c.ClientIP != nil && c.ClientIP.TimeoutSeconds != nil {
			timeout = *c.ClientIP.TimeoutSeconds
		}
		spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: &timeout}}
	}
	if spec.InternalTrafficPolicy == nil {
		spec.InternalTrafficPolicy = ptr.To(corev1.ServiceInternalTrafficPolicyCluster)
	}
	if d := spec.TrafficDistribution; d != nil && *d == "PreferClose" { // its older name
		spec.TrafficDistribution = ptr.To("PreferSameZone")
	}
	return spec
}

func TestConflictsExactlyWhenExportsDiffer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		exports := drawExports(t)
		alike := true
		for _, e := range exports[1:] {
			a, b := Resolve(exports[:1]), Resolve([]Export{e})
			ignoreOrder := cmpopts.SortSlices(func(x, y mcsv1beta1.ServicePort) bool {
				return x.Name+string(x.Protocol)+string(rune(x.Port)) < y.Name+string(y.Protocol)+string(rune(y.Port))
			})
			ignoreFamilyOrder := cmpopts.SortSlices(func(x, y corev1.IPFamily) bool { return x < y })
			alike = alike && cmp.Equal(writtenOut(a.Spec), writtenOut(b.Spec), same, ignoreOrder, ignoreFamilyOrder) &&
				cmp.Equal(a.Labels, b.Labels, same) && cmp.Equal(a.Annotations, b.Annotations, same)
		}
		if conflicts := Resolve(exports).Conflicts; (len(conflicts) == 0) != alike {
			t.Fatalf("exports alike: %v, conflicts %v", alike, conflicts)
		}
	})
}
