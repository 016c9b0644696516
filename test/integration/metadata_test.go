package integration

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/test/planes"
)

// If a valid export has an invalid label, the label is not exported and a condition names it.
// The service and its address stay. The same holds for annotations that exceed the size limit
// of an import, and for the catalogue entry.
func TestInvalidMetadataIsLeftOut(t *testing.T) {
	const ns = "left-out"
	namespace(t, ns, "c1", "c2")
	create(t, "c1", service(ns, "web", 80), slice(ns, "web-x", "web", "10.1.1.1"))
	e := export(ns, "web")
	e.Spec.ExportedLabels = map[string]string{"team": "a", "tier": "web"}
	create(t, "c1", e)
	before := expectImport(t, "c2", ns, "web", from("c1"))
	expectCondition(t, "c1", e, "Ready", metav1.ConditionTrue, "Exported")
	seen := conditionsSeen(t, "c1", ns, &mcsv1beta1.ServiceExportList{})

	big := strings.Repeat("x", 40<<10)
	change(t, "c1", e, func(e *mcsv1beta1.ServiceExport) {
		e.Spec.ExportedLabels = map[string]string{"team": strings.Repeat("a", 64), "tier": "database"}
		e.Spec.ExportedAnnotations = map[string]string{"a": big, "b": big, "c": "fits"}
	})
	after := expectImport(t, "c2", ns, "web", func(imp *mcsv1beta1.ServiceImport) error {
		_, team := imp.Labels["team"]
		_, b := imp.Annotations["b"]
		if imp.Labels["tier"] != "database" || team || imp.Annotations["c"] != "fits" || len(imp.Annotations["a"]) != len(big) || b {
			return fmt.Errorf("labels %v, %d annotations", imp.Labels, len(imp.Annotations))
		}
		return from("c1")(imp)
	})
	if after.UID != before.UID || after.Spec.IPs[0] != before.Spec.IPs[0] {
		t.Errorf("import %s at %v became %s at %v", before.UID, before.Spec.IPs, after.UID, after.Spec.IPs)
	}
	expectAddresses(t, "c2", ns, "c1/10.1.1.1")
	expectAggregate(t, ns, "web", "c1")
	const words = `Some parts of the Service or its ServiceExport are not exported: exported label "team": must be no more than 63`
	planes.Condition(t, on["c1"], e, "Ready", "True/Exported", words)
	expectSaid(t, "c1", ns, "ServiceExport", "PartsInvalid", 1)

	change(t, "c1", e, func(e *mcsv1beta1.ServiceExport) {
		e.Spec.ExportedLabels, e.Spec.ExportedAnnotations = map[string]string{"team": "b"}, nil
	})
	expectImport(t, "c2", ns, "web", func(imp *mcsv1beta1.ServiceImport) error {
		if imp.Labels["team"] != "b" {
			return fmt.Errorf("labels %v", imp.Labels)
		}
		return nil
	})
	saysNoMore(t, e, "Left out")
	for key, had := range seen() {
		if len(had) != 1 {
			t.Errorf("%s was %s", key, strings.Join(had, ", then "))
		}
	}
}

// If a quota refuses a ServiceImport, the agent reports it once: on the cluster's own export of
// the service, or else on the namespace. Other imports do not wait.
func TestRefusedServiceImportIsReported(t *testing.T) {
	const ns, other = "no-imports", "imports"
	namespace(t, ns, "c1", "c2")
	namespace(t, other, "c1", "c2")
	quota := limit(t, "c2", ns, "count/serviceimports.multicluster.x-k8s.io", "0")
	for _, name := range []string{"web", "db"} {
		create(t, "c1", service(ns, name, 80), export(ns, name))
	}
	create(t, "c1", service(other, "web", 80), export(other, "web"))
	expectImport(t, "c2", other, "web", from("c1"))
	expectSaid(t, "c2", ns, "Namespace", "ImportRefused", 2) // one Event for each service
	for line, want := range map[string]string{"explain no-imports/web": "import: ", "status": "import no-imports/db: "} {
		r := planes.Atoll("", line+" --context c2 --kubeconfig "+theLab.Kubeconfig())
		if at := strings.Index(r.Stdout, want+"This cluster has no ServiceImport of the service."); at < 0 || !strings.Contains(r.Stdout[at:], "is forbidden: ") {
			t.Errorf("atoll %s does not show the API server's message:\n%s%s", line, r.Stdout, r.Stderr)
		}
	}
	own := export(ns, "web")
	create(t, "c2", service(ns, "web", 80), own)
	expectCondition(t, "c2", own, "Ready", metav1.ConditionTrue, "Exported")
	expectSaid(t, "c2", ns, "ServiceExport", "ImportRefused", 1)
	expectSaid(t, "c2", ns, "Namespace", "ImportRefused", 2)

	remove(t, "c2", quota)
	expectImport(t, "c2", ns, "web", from("c1", "c2"))
	expectImport(t, "c2", ns, "db", from("c1"))
	expectSaid(t, "c2", ns, "ServiceExport", "ImportRefused", 1)
}
