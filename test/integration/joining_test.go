package integration

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// richExport creates a Service and a ServiceExport with every property that is merged.
func richExport(t *testing.T, cluster, namespace, name string) *mcsv1beta1.ServiceExport {
	t.Helper()
	s := service(namespace, name, 80, 81, 82)
	s.Spec.SessionAffinity = corev1.ServiceAffinityClientIP
	s.Spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: ptr.To(int32(60))}}
	s.Spec.InternalTrafficPolicy = ptr.To(corev1.ServiceInternalTrafficPolicyLocal)
	s.Spec.TrafficDistribution = ptr.To("PreferSameZone")
	create(t, cluster, s)
	e := export(namespace, name)
	e.Spec.ExportedLabels, e.Spec.ExportedAnnotations = map[string]string{"a": "b"}, map[string]string{"c": "d"}
	create(t, cluster, e)
	return e
}

// conditionsSeen watches the conditions of a namespace's ServiceExports or ServiceImports in a
// cluster. The returned function ends the watch and returns the sequence of values of each
// condition, by name/type: status, reason and transition time.
func conditionsSeen(t *testing.T, cluster, namespace string, list client.ObjectList) func() map[string][]string {
	t.Helper()
	seen := map[string][]string{}
	end := eventNotes(t, cluster, list, []client.ListOption{client.InNamespace(namespace)}, func(event watch.Event) string {
		object, ok := event.Object.(client.Object)
		if !ok { // an error of the watch
			return ""
		}
		for _, c := range planes.Conditions(object) {
			key, now := object.GetName()+"/"+c.Type, fmt.Sprintf("%s/%s since %s", c.Status, c.Reason, c.LastTransitionTime.UTC())
			if had := seen[key]; len(had) == 0 || had[len(had)-1] != now {
				seen[key] = append(had, now)
			}
		}
		return ""
	})
	return func() map[string][]string {
		end()
		return seen
	}
}

// Pitfall 8: while a second cluster joins with equal exports, no export is ever in conflict.
// Conditions change only to their final value, and transition times do not change.
func TestNoFalseConflictWhileAnotherClusterJoins(t *testing.T) {
	const ns, services = "joins", 20
	namespace(t, ns, "c1", "c2")
	seen := map[string]func() map[string][]string{}
	for _, cluster := range []string{"c1", "c2"} {
		seen[cluster+"'s export"] = conditionsSeen(t, cluster, ns, &mcsv1beta1.ServiceExportList{})
		seen[cluster+"'s import"] = conditionsSeen(t, cluster, ns, &mcsv1beta1.ServiceImportList{})
	}
	exports := map[string][]*mcsv1beta1.ServiceExport{}
	for _, cluster := range []string{"c1", "c2"} {
		for i := range services {
			exports[cluster] = append(exports[cluster], richExport(t, cluster, ns, fmt.Sprintf("web-%d", i)))
		}
		if cluster == "c1" { // is there alone, with all of its conditions
			for _, e := range exports[cluster] {
				expectCondition(t, cluster, e, "Ready", metav1.ConditionTrue, "Exported")
				expectCondition(t, cluster, e, "Conflict", metav1.ConditionFalse, "NoConflicts")
			}
		}
	}
	for _, cluster := range []string{"c1", "c2"} {
		for _, e := range exports[cluster] {
			expectImport(t, cluster, ns, e.Name, from("c1", "c2"))
			expectCondition(t, cluster, e, "Ready", metav1.ConditionTrue, "Exported")
			expectCondition(t, cluster, e, "Conflict", metav1.ConditionFalse, "NoConflicts")
		}
	}
	for whose, end := range seen {
		conditions := end()
		if len(conditions) < services {
			t.Errorf("%s: only %d conditions were seen", whose, len(conditions))
		}
		for key, had := range conditions {
			// Ready may be Pending until the record is written and until an import exists.
			if strings.HasSuffix(key, "/Ready") && len(had) == 2 && strings.Contains(had[0], "/Pending") {
				had = had[1:]
			}
			if len(had) != 1 || strings.HasPrefix(had[0], "True") == strings.HasSuffix(key, "/Conflict") {
				t.Errorf("%s %s was %s", whose, key, strings.Join(had, ", then "))
			}
		}
	}
	for _, cluster := range []string{"c1", "c2"} {
		events := &corev1.EventList{}
		noError(t, on[cluster].List(t.Context(), events, client.InNamespace(ns)))
		for _, e := range events.Items {
			// The API server may send a Warning too while it checks its addresses.
			if e.Type == corev1.EventTypeWarning && e.ReportingController == "atoll-agent" {
				t.Errorf("%s: unexpected Event about %s: %s %s", cluster, e.InvolvedObject.Name, e.Reason, e.Message)
			}
		}
	}
}

// Pitfall 8: an export that is created right after its Service was repaired is validated
// against the repaired Service. It is never invalid or in conflict.
func TestNewExportIsJudgedByItsServiceAsItIs(t *testing.T) {
	const ns, services = "at-once", 40
	namespace(t, ns, "c1", "c2")
	seen := map[string]func() map[string][]string{}
	for _, cluster := range []string{"c1", "c2"} {
		seen[cluster] = conditionsSeen(t, cluster, ns, &mcsv1beta1.ServiceExportList{})
	}
	wrong := map[string]*corev1.Service{}
	for i := range services {
		name := fmt.Sprintf("web-%d", i)
		e := exportFrom(t, "c1", ns, name, 80)
		expectCondition(t, "c1", e, "Conflict", metav1.ConditionFalse, "NoConflicts")
		wrong[name] = service(ns, name, 81)
		if i%2 == 0 {
			wrong[name].Spec = objects.ExternalName(ns, name).Spec
		}
		create(t, "c2", wrong[name])
	}
	exports := map[string]*mcsv1beta1.ServiceExport{}
	for name, s := range wrong {
		s.Spec.Type, s.Spec.ExternalName, s.Spec.Ports = corev1.ServiceTypeClusterIP, "", service(ns, name, 80).Spec.Ports
		exports[name] = export(ns, name)
		noError(t, on["c2"].Update(t.Context(), s))
		create(t, "c2", exports[name])
	}
	for name, e := range exports {
		expectImport(t, "c1", ns, name, from("c1", "c2"))
		expectCondition(t, "c2", e, "Valid", metav1.ConditionTrue, "Valid")
		expectCondition(t, "c2", e, "Conflict", metav1.ConditionFalse, "NoConflicts")
	}
	for cluster, end := range seen {
		for key, had := range end() {
			if len(had) != 1 && !strings.HasSuffix(key, "/Ready") {
				t.Errorf("%s: %s was %s", cluster, key, strings.Join(had, ", then "))
			}
		}
	}
}
