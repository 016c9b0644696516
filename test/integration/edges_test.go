package integration

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// An agent that starts while the broker is away learns all of its first list when it is back:
// what others exported meanwhile, and what of its own is not exported any more. Until then
// it says what it knows without the broker, whether an export is valid, and nothing else.
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
	do := func(what func() error) {
		t.Helper()
		noError(t, what())
	}
	ctx := t.Context()
	do(func() error { return theLab.Kill(ctx, "c2/agent") })
	for _, e := range gone {
		remove(t, "c2", e)
	}
	remove(t, "c2", lost)
	for i := range services {
		name := fmt.Sprintf("new-%d", i)
		share(t, "c1", ns, name, fmt.Sprintf("10.1.1.%d", i))
		expectImport(t, "c1", ns, name, from("c1"))
	}
	do(func() error { return theLab.Kill(ctx, lab.Broker+"/apiserver") })
	do(func() error { return theLab.Start(ctx, "c2/agent") })
	expectCondition(t, "c2", bereft, "Valid", metav1.ConditionFalse, "NoService")
	expectCondition(t, "c2", bereft, "Ready", metav1.ConditionTrue, "Exported")
	do(func() error { return theLab.Start(ctx, lab.Broker+"/apiserver") })
	expectCondition(t, "c2", bereft, "Ready", metav1.ConditionFalse, "Pending")

	var want []string
	for i := range services {
		expectImport(t, "c2", ns, fmt.Sprintf("new-%d", i), from("c1"))
		want = append(want, fmt.Sprintf("c1/10.1.1.%d", i))
	}
	expectAddresses(t, "c2", ns, want...)
	for name := range gone {
		for _, cluster := range []string{"c1", "c2"} {
			expectGone(t, cluster, objects.Import(ns, name))
		}
	}
	expectAddresses(t, "c1", ns, want...)
}

// Pitfall 16: whatever somebody does to a derived Service, or the exporter to the type, the
// import has its address again in the end, and nothing is left behind.
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
		eventually(t, what, func() error {
			services := &corev1.ServiceList{}
			if err := on["c2"].List(t.Context(), services, client.InNamespace(ns)); err != nil {
				return err
			}
			if len(services.Items) != 1 {
				return fmt.Errorf("there are %d Services", len(services.Items))
			}
			s := services.Items[0]
			if s.Name != derived.Name || s.Spec.Type != corev1.ServiceTypeClusterIP || s.Spec.ClusterIP != before || len(s.OwnerReferences) != 1 {
				return fmt.Errorf("it is %s %s %s %v", s.Name, s.Spec.Type, s.Spec.ClusterIP, s.OwnerReferences)
			}
			return nil
		})
	}
	right("to begin with")
	change(t, "c2", derived, func(s *corev1.Service) { s.OwnerReferences = nil })
	right("its owner is gone")
	change(t, "c2", derived, func(s *corev1.Service) { s.Labels = nil })
	right("its labels are gone")
	change(t, "c2", derived, func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeNodePort })
	right("it became a NodePort")
	change(t, "c2", derived, func(s *corev1.Service) {
		s.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "example.org"}
	})
	right("it became an ExternalName")
	// It has to be made again, which is not possible at once: the API server takes its address
	// for used still. That passes by itself, and nobody is told.
	for range 10 {
		uid := derived.UID
		remove(t, "c2", derived)
		planes.Until(t, "it is made again", on["c2"], derived, func() error {
			if derived.UID == uid {
				return errors.New("it is the old one")
			}
			return nil
		})
	}
	right("it was deleted several times")
	if had := ready()["web/Ready"]; len(had) != 1 || !strings.HasPrefix(had[0], "True") {
		t.Errorf("the import's condition Ready was %s", strings.Join(had, ", then "))
	}
}

// An address lives as long as its import (docs/adr), whatever becomes of one exporter's Service
// meanwhile. When the only one is gone the address is free, and nobody has lost it: what is
// exported then is another import.
func TestAddressLivesAsLongAsTheImport(t *testing.T) {
	const ns = "lives"
	namespace(t, ns, "c1", "c2")
	first := service(ns, "web", 80)
	create(t, "c1", first, export(ns, "web"))
	before := expectImport(t, "c2", ns, "web", from("c1"))
	create(t, "c2", service(ns, "web", 80))
	second := export(ns, "web")
	create(t, "c2", second)
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

// The name of the derived Service stays, whatever becomes of who took the usual one.
func TestDerivedServiceKeepsItsOtherName(t *testing.T) {
	const ns = "othername"
	namespace(t, ns, "c1", "c2")
	other := service(ns, "web-clusterset", 1)
	create(t, "c2", other)
	exported := service(ns, "web", 80)
	create(t, "c1", exported, export(ns, "web"))
	before := expectImport(t, "c2", ns, "web", from("c1"))
	remove(t, "c2", other)
	change(t, "c1", exported, func(s *corev1.Service) { s.Spec.Ports = service(ns, "web", 80, 81).Spec.Ports })
	after := expectImport(t, "c2", ns, "web", func(imp *mcsv1beta1.ServiceImport) error {
		if len(imp.Spec.Ports) != 2 {
			return fmt.Errorf("ports %v", imp.Spec.Ports)
		}
		return hasIP(imp)
	})
	const key = "multicluster.kubernetes.io/derived-service"
	if after.Spec.IPs[0] != before.Spec.IPs[0] || after.Annotations[key] != before.Annotations[key] {
		t.Errorf("%v %s became %v %s", before.Spec.IPs, before.Annotations[key], after.Spec.IPs, after.Annotations[key])
	}
}
