package integration

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

// When the oldest export leaves (docs/adr/0011), the next oldest one's values take the place
// of its own in every cluster, at the same address, and the conflict is over. It does not get
// its place back by coming again, and an agent that starts anew finds nothing to change: what
// is imported depends on the exports that there are, and not on those that were.
func TestWhenTheOldestLeaves(t *testing.T) {
	const ns = "oldest"
	namespace(t, ns, "c1", "c2")
	exportOf := func(cluster string) *mcsv1beta1.ServiceExport {
		e := export(ns, "web")
		e.Spec.ExportedLabels = map[string]string{"from": cluster}
		return e
	}
	first := service(ns, "web", 80)
	first.Spec.SessionAffinity = corev1.ServiceAffinityClientIP
	first.Spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: ptr.To(int32(60))}}
	first.Spec.InternalTrafficPolicy = ptr.To(corev1.ServiceInternalTrafficPolicyLocal)
	create(t, "c1", first)
	oldest := exportOf("c1")
	create(t, "c1", oldest)
	expectCondition(t, "c1", oldest, "Conflict", metav1.ConditionFalse, "NoConflicts")
	second := service(ns, "web", 80, 81)
	second.Spec.TrafficDistribution = ptr.To("PreferSameZone")
	create(t, "c2", second)
	next := exportOf("c2") // in the same second the cluster id decides, for c1 as well
	create(t, "c2", next)
	const reasons = "PortConflict,SessionAffinityConflict,InternalTrafficPolicyConflict,TrafficDistributionConflict,LabelsConflict"
	for cluster, e := range map[string]*mcsv1beta1.ServiceExport{"c1": oldest, "c2": next} {
		expectCondition(t, cluster, e, "Conflict", metav1.ConditionTrue, reasons)
	}
	expect := func(want string, clusters ...string) map[string]string {
		t.Helper()
		ips := map[string]string{}
		for _, cluster := range []string{"c1", "c2"} {
			imp := expectImport(t, cluster, ns, "web", func(imp *mcsv1beta1.ServiceImport) error {
				got := fmt.Sprintf("%s, %d ports, %s %s %q", imp.Labels["from"], len(imp.Spec.Ports), imp.Spec.SessionAffinity,
					ptr.Deref(imp.Spec.InternalTrafficPolicy, ""), ptr.Deref(imp.Spec.TrafficDistribution, ""))
				if got != want {
					return fmt.Errorf("it is %s; want %s", got, want)
				}
				return from(clusters...)(imp)
			})
			ips[cluster] = imp.Spec.IPs[0]
		}
		return ips
	}
	const asC1, asC2 = `c1, 2 ports, ClientIP Local ""`, `c2, 2 ports, None Cluster "PreferSameZone"`
	before := expect(asC1, "c1", "c2")

	remove(t, "c1", oldest)
	after := expect(asC2, "c2")
	for cluster, ip := range before {
		if after[cluster] != ip {
			t.Errorf("%s: the address was %s and is %s", cluster, ip, after[cluster])
		}
	}
	expectCondition(t, "c2", next, "Conflict", metav1.ConditionFalse, "NoConflicts")

	// A second later it would be the younger one by its time, too; within the second it is the
	// older one by its id, which this is not about.
	eventually(t, "it is a second later", func() error {
		now := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "now"}}
		create(t, "c1", now)
		remove(t, "c1", now)
		if now.CreationTimestamp.After(next.CreationTimestamp.Time) {
			return nil
		}
		return fmt.Errorf("it is still %s", next.CreationTimestamp)
	})
	oldest = exportOf("c1")
	create(t, "c1", oldest)
	for cluster, e := range map[string]*mcsv1beta1.ServiceExport{"c1": oldest, "c2": next} {
		expectCondition(t, cluster, e, "Conflict", metav1.ConditionTrue, reasons)
	}
	expect(asC2, "c1", "c2")
	expectAggregate(t, ns, "web", "c1", "c2")

	versionsBefore := versions(t, ns)
	for _, do := range []func() error{
		func() error { return theLab.Kill(t.Context(), "c1/agent") },
		func() error { return theLab.Start(t.Context(), "c1/agent") },
	} {
		noError(t, do())
	}
	// A service that comes through shows that the agent has begun its work.
	create(t, "c2", service(ns, "sign", 80), export(ns, "sign"))
	expectImport(t, "c1", ns, "sign", from("c2"))
	expect(asC2, "c1", "c2")
	versionsAfter := versions(t, ns)
	for key, version := range versionsBefore {
		if versionsAfter[key] != version {
			t.Errorf("%s was written: version %s became %q", key, version, versionsAfter[key])
		}
	}
}
