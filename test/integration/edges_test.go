package integration

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// An agent that starts while the broker is down reports only the validity of exports. When the
// broker is back, the agent processes its whole first list: exports that other clusters added
// meanwhile, and its own exports that ended.
func TestAgentThatStartsBeforeItsBroker(t *testing.T) {
	const ns, services = "first-list", 30
	namespace(t, ns, "c1", "c2")
	gone := map[string]*mcsv1beta1.ServiceExport{}
	for i := range services {
		name := fmt.Sprintf("gone-%d", i)
		gone[name] = share(t, "c2", ns, name, fmt.Sprintf("10.2.1.%d", i))
	}
	for name := range gone {
		expectImport(t, "c1", ns, name, from("c2"))
	}
	bereft, lost := export(ns, "bereft"), service(ns, "bereft", 80)
	create(t, "c2", lost, bereft)
	expectCondition(t, "c2", bereft, "Ready", metav1.ConditionTrue, "Exported")
	stop(t, "c2/agent")
	for _, e := range gone {
		remove(t, "c2", e)
	}
	remove(t, "c2", lost)
	for i := range services {
		name := fmt.Sprintf("new-%d", i)
		share(t, "c1", ns, name, fmt.Sprintf("10.1.1.%d", i))
		expectImport(t, "c1", ns, name, from("c1"))
	}
	stop(t, lab.Broker+"/apiserver")
	start(t, "c2/agent")
	expectCondition(t, "c2", bereft, "Valid", metav1.ConditionFalse, "NoService")
	expectCondition(t, "c2", bereft, "Ready", metav1.ConditionTrue, "Exported")
	start(t, lab.Broker+"/apiserver")
	expectCondition(t, "c2", bereft, "Ready", metav1.ConditionFalse, "Pending")

	var want []string
	for i := range services {
		expectImport(t, "c2", ns, fmt.Sprintf("new-%d", i), from("c1"))
		want = append(want, fmt.Sprintf("c1/10.1.1.%d", i))
	}
	expectAddresses(t, "c2", ns, want...)
	for name := range gone {
		expectGone(t, "c1,c2", objects.Import(ns, name))
	}
	expectAddresses(t, "c1", ns, want...)
}

// Pitfall 16: the import keeps its clusterset IP whatever a user does to the derived Service,
// or the exporter to the type, and no object is left behind. An admission policy limits the
// agent to objects with its label, so the agent recognizes an unlabelled Service by its owner
// and name.
func TestClustersetIPSurvives(t *testing.T) {
	const ns = "survives"
	namespace(t, ns, "c1", "c2")
	exported := service(ns, "web", 80)
	create(t, "c1", exported, export(ns, "web"))
	before := expectImport(t, "c2", ns, "web", from("c1")).Spec.IPs[0]
	derived := service(ns, "web-clusterset")
	ready := conditionsSeen(t, "c2", ns, &mcsv1beta1.ServiceImportList{})

	right := func(what string) {
		t.Helper()
		planes.Until(t, what, on["c2"], derived, func() error {
			s := derived.Spec
			if s.Type != corev1.ServiceTypeClusterIP || s.ClusterIP != before || len(derived.OwnerReferences) != 1 ||
				derived.Labels[names.LabelManagedBy] != names.AgentManager || len(s.ExternalIPs)+len(s.LoadBalancerSourceRanges)+len(s.LoadBalancerIP) > 0 {
				return fmt.Errorf("the derived Service is %+v", derived)
			}
			return nil
		})
		services := &corev1.ServiceList{}
		if noError(t, on["c2"].List(t.Context(), services, client.InNamespace(ns))); len(services.Items) != 1 {
			t.Errorf("%s: %d Services, want 1", what, len(services.Items))
		}
	}
	right("to begin with")
	for what, edit := range map[string]func(*corev1.Service){
		"its owner reference was removed":  func(s *corev1.Service) { s.OwnerReferences = nil },
		"its managed-by label was removed": func(s *corev1.Service) { delete(s.Labels, names.LabelManagedBy) },
		"all its labels were removed":      func(s *corev1.Service) { s.Labels = nil },
		"its type became NodePort":         func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeNodePort },
		"its type became ExternalName":     func(s *corev1.Service) { s.Spec = objects.ExternalName(ns, "web").Spec },
		"its type became LoadBalancer": func(s *corev1.Service) {
			s.Spec.Type, s.Spec.LoadBalancerIP, s.Spec.LoadBalancerSourceRanges = corev1.ServiceTypeLoadBalancer, "192.0.2.1", []string{"192.0.2.0/24"}
			s.Spec.AllocateLoadBalancerNodePorts = ptr.To(true)
		},
		"external addresses": func(s *corev1.Service) { s.Spec.ExternalIPs = []string{"192.0.2.1"} },
	} {
		change(t, "c2", derived, edit)
		right(what)
	}
	// The derived Service must be re-created. The API server holds its address as used for a
	// while, so creation fails at first. The agent retries and sends no Event.
	for range 10 {
		uid := derived.UID
		remove(t, "c2", derived)
		planes.Until(t, "the Service is re-created", on["c2"], derived, func() error {
			if derived.UID == uid {
				return errors.New("the old Service still exists")
			}
			return nil
		})
	}
	right("it was deleted several times")
	// On a slow machine, the address is in use for so long that the condition is Unknown for a moment.
	if had := ready()["web/Ready"]; slices.ContainsFunc(had, func(c string) bool { return strings.HasPrefix(c, "False") }) || !strings.HasPrefix(had[len(had)-1], "True") {
		t.Errorf("the import's condition Ready was %s", strings.Join(had, ", then "))
	}
}

// A clusterset IP lives as long as its import (docs/adr), whatever happens to an exporter's
// Service. When the last export ends, the address is released without an Event. A later export
// creates a new import.
func TestAddressLivesAsLongAsTheImport(t *testing.T) {
	const ns = "lives"
	namespace(t, ns, "c1", "c2")
	first := service(ns, "web", 80)
	create(t, "c1", first, export(ns, "web"))
	before := expectImport(t, "c2", ns, "web", from("c1"))
	second := exportFrom(t, "c2", ns, "web", 80)
	expectImport(t, "c2", ns, "web", from("c1", "c2"))

	remove(t, "c1", first)
	expectImport(t, "c2", ns, "web", from("c2"))
	first = service(ns, "web", 80)
	create(t, "c1", first)
	after := expectImport(t, "c2", ns, "web", from("c1", "c2"))
	if after.UID != before.UID || after.Spec.IPs[0] != before.Spec.IPs[0] {
		t.Errorf("import %s at %v became %s at %v", before.UID, before.Spec.IPs, after.UID, after.Spec.IPs)
	}

	remove(t, "c2", second)
	expectImport(t, "c2", ns, "web", from("c1"))
	remove(t, "c1", first)
	expectGone(t, "c2", objects.Import(ns, "web"))
	other := service(ns, "other", 80)
	other.Spec.ClusterIP = before.Spec.IPs[0]
	eventually(t, "the address is free", func() error { return on["c2"].Create(t.Context(), other) })
	create(t, "c1", service(ns, "web", 80))
	after = expectImport(t, "c2", ns, "web", from("c1"))
	if after.UID == before.UID || after.Spec.IPs[0] == before.Spec.IPs[0] {
		t.Errorf("import %s at %v became %s at %v", before.UID, before.Spec.IPs, after.UID, after.Spec.IPs)
	}
	expectSaid(t, "c2", ns, "ServiceImport", "ClusterSetIPLost", 0)
}

// The derived Service keeps its alternative name when the usual name becomes free.
func TestDerivedServiceKeepsItsOtherName(t *testing.T) {
	const ns = "othername"
	namespace(t, ns, "c1", "c2")
	other, exported := service(ns, "web-clusterset", 1), service(ns, "web", 80)
	create(t, "c2", other)
	create(t, "c1", exported, export(ns, "web"))
	before := expectImport(t, "c2", ns, "web", from("c1"))
	remove(t, "c2", other)
	setPorts(t, "c1", exported, 80, 81)
	after := expectImport(t, "c2", ns, "web", withPorts(from("c1"), 80, 81))
	if key := names.AnnotationDerivedService; after.Spec.IPs[0] != before.Spec.IPs[0] || after.Annotations[key] != before.Annotations[key] {
		t.Errorf("%v %s became %v %s", before.Spec.IPs, before.Annotations[key], after.Spec.IPs, after.Annotations[key])
	}
}
