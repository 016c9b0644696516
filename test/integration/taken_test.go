package integration

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/test/objects"
)

// The agent leaves users' objects alone that have the names of an import's objects. The import
// uses other names, works, and reports this.
func TestTakenNamesAreWorkedAround(t *testing.T) {
	const ns = "taken"
	namespace(t, ns, "c1", "c2")
	var theirs []client.Object
	for _, name := range names.DerivedServices("web", false)[:2] {
		theirs = append(theirs, service(ns, name, 1))
	}
	theirs = append(theirs, slice(ns, "web-x.c1", "theirs", "10.9.9.9"))
	create(t, "c2", theirs...)
	for _, name := range []string{"web", "other"} {
		create(t, "c1", service(ns, name, 80), export(ns, name))
	}
	source := slice(ns, "web-x", "web", "10.1.1.1")
	create(t, "c1", source, slice(ns, "other-x", "other", "10.1.1.2"))
	expectImport(t, "c2", ns, "web", from("c1"))
	expectImport(t, "c2", ns, "other", from("c1"))
	expectAddresses(t, "c2", ns, "c1/10.1.1.1", "c1/10.1.1.2")
	expectImport(t, "c2", ns, "web",
		says("another tool or person created Service taken/web-clusterset", "created EndpointSlice taken/web-x.c1", names.OtherImportedSlice("web-x.c1")))
	// The service with alternative names works like any other.
	change(t, "c1", source, func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Addresses = []string{"10.1.1.3"} })
	expectAddresses(t, "c2", ns, "c1/10.1.1.2", "c1/10.1.1.3")
	expectUntouched(t, "c2", theirs...)
	remove(t, "c1", export(ns, "web"))
	expectGone(t, "c2", objects.Import(ns, "web"))
	expectAddresses(t, "c2", ns, "c1/10.1.1.2")
	left := &corev1.ServiceList{}
	if err := on["c2"].List(t.Context(), left, client.InNamespace(ns), client.MatchingLabels{"multicluster.kubernetes.io/service-name": "web"}); err != nil || len(left.Items) > 0 {
		t.Errorf("%d derived Services are left, %v", len(left.Items), err)
	}
}
