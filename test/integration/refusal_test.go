package integration

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// The owner of an importing namespace can refuse clusters at any time. The exports of a refused
// cluster do not count in this cluster until the owner removes the refusal. Other clusters and
// their conflict conditions do not change.
func TestOwnerRefusesImports(t *testing.T) {
	const ns = "refusing"
	namespace(t, ns, "c1", "c2")
	exports := map[string]*mcsv1beta1.ServiceExport{}
	for i, cluster := range []string{"c1", "c2"} {
		s := service(ns, "web", int32(80+i)) // each cluster has a different port
		create(t, cluster, s)
		source := slice(ns, "web-x", "web", fmt.Sprintf("10.%d.1.1", i+1))
		source.Ports[0].Name = &s.Spec.Ports[0].Name
		create(t, cluster, source)
		exports[cluster] = export(ns, "web")
		create(t, cluster, exports[cluster])
		if cluster == "c1" {
			expectImport(t, "c2", ns, "web", from("c1"))
		}
	}
	refuse := func(value string) {
		t.Helper()
		mark(t, "c2", ns, "annotations", "atoll.dev/refuse-imports", value)
	}
	before := expectImport(t, "c2", ns, "web", withPorts(from("c1", "c2"), 80, 81))
	expectAddresses(t, "c2", ns, "c1/10.1.1.1", "c2/10.2.1.1")
	conflict := expectCondition(t, "c2", exports["c2"], "Conflict", metav1.ConditionTrue, "PortConflict")

	refuse("c9, c1")
	imp := expectImport(t, "c2", ns, "web", withPorts(from("c2"), 81))
	expectAddresses(t, "c2", ns, "c2/10.2.1.1")
	if imp.Spec.IPs[0] != before.Spec.IPs[0] {
		t.Errorf("the clusterset IP became %s", imp.Spec.IPs[0])
	}
	expectImport(t, "c2", ns, "web", says(`The export from "c1" is not imported: annotation atoll.dev/refuse-imports of namespace refusing refuses imports from the exporting cluster.`))
	expectImport(t, "c1", ns, "web", withPorts(from("c1", "c2"), 80, 81))
	if now := expectCondition(t, "c2", exports["c2"], "Conflict", metav1.ConditionTrue, "PortConflict"); now.Message != conflict.Message {
		t.Errorf("the conflict became %q", now.Message)
	}

	refuse("*")
	remove(t, "c2", exports["c2"])
	expectGone(t, "c2", objects.Import(ns, "web"))
	expectAddresses(t, "c2", ns)
	planes.Told(t, on["c2"], ns, "Namespace", ns, "RefusedByNamespace", `The export of Service web from cluster "c1" is not imported`)

	refuse("")
	expectImport(t, "c2", ns, "web", withPorts(from("c1"), 80))
	expectAddresses(t, "c2", ns, "c1/10.1.1.1")

	// The valid entries of a malformed annotation apply, and an Event reports the invalid
	// entries.
	refuse("C_1,c1,")
	expectGone(t, "c2", objects.Import(ns, "web"))
	planes.Told(t, on["c2"], ns, "Namespace", ns, "MalformedRefusal", `"C_1" is not a cluster id, an entry is empty`)
	refuse("C_1")
	expectImport(t, "c2", ns, "web", withPorts(from("c1"), 80))
}
