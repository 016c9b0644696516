package integration

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// A cluster does not trust the addresses that another member exports. It does not import its
// own addresses or addresses outside unicast ranges; the import reports them, and other
// endpoints are imported. A cluster trusts its own endpoints.
func TestStrangeAddressesAreRefused(t *testing.T) {
	const ns = "strangers"
	namespace(t, ns, "c1", "c2")
	create(t, "c2", service(ns, "web", 80))
	// 10.101.0.1 is the API server's Service in c1, and 239.1.1.1 a multicast address.
	source := slice(ns, "web-x", "web", "10.9.9.9", "10.101.0.1", "239.1.1.1")
	create(t, "c2", source, export(ns, "web"))
	expectImport(t, "c1", ns, "web", from("c2"))
	expectAddresses(t, "c1", ns, "c2/10.9.9.9")
	expectAddresses(t, "c2", ns, "c2/10.101.0.1", "c2/10.9.9.9") // a multicast address is never imported
	planes.Told(t, on["c1"], ns, "ServiceImport", "web", "EndpointsRefused", "")

	// The check also applies to a changed slice.
	change(t, "c2", source, func(s *discoveryv1.EndpointSlice) {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{"10.9.9.10"}}, discoveryv1.Endpoint{Addresses: []string{"10.101.7.7"}})
	})
	expectAddresses(t, "c1", ns, "c2/10.9.9.10", "c2/10.9.9.9")

	// The check also applies to slices that existed before a node got the address, until the
	// node is deleted.
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "stranger"}}
	create(t, "c1", node)
	named := client.MergeFrom(node.DeepCopy()) // controllers write nodes too
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "stranger"}, {Type: corev1.NodeInternalIP, Address: "10.9.9.10"}}
	noError(t, on["c1"].Status().Patch(t.Context(), node, named))
	expectAddresses(t, "c1", ns, "c2/10.9.9.9")
	remove(t, "c1", node)
	expectAddresses(t, "c1", ns, "c2/10.9.9.10", "c2/10.9.9.9")
}

// A cluster does not import services into a system namespace until an administrator allows it.
// An Event on the namespace reports the refused exports.
func TestSystemNamespacesAreClosed(t *testing.T) {
	const ns = "default"
	label := func(cluster, value string) {
		t.Helper()
		mark(t, cluster, ns, "labels", names.LabelExports, value)
	}
	label("c2", "allowed")
	create(t, "c2", service(ns, "closed", 80), slice(ns, "closed-x", "closed", "10.9.9.9"))
	e := export(ns, "closed")
	eventually(t, "the namespace is open to exports", func() error { return on["c2"].Create(t.Context(), e) })
	planes.CleanUp(t, on["c2"], e)
	expectImport(t, "c2", ns, "closed", from("c2"))
	if e := planes.Told(t, on["c1"], ns, "Namespace", ns, "SystemNamespace", "The export of Service closed from cluster"); e.Related.Name != "closed" {
		t.Errorf("the Event is about %v", e.Related)
	}
	planes.Succeeds(t, "the import", planes.IsGone(on["c1"].Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "closed"}, objects.Import(ns, "closed"))))
	label("c1", "allowed")
	expectImport(t, "c1", ns, "closed", from("c2"))
	expectAddresses(t, "c1", ns, "c2/10.9.9.9")

	// If the cluster itself exports the service, as each cluster exports its DNS, the endpoints
	// of other clusters follow the label too.
	own := share(t, "c1", ns, "closed", "10.9.9.8")
	expectImport(t, "c1", ns, "closed", from("c1", "c2"))
	expectAddresses(t, "c1", ns, "c1/10.9.9.8", "c2/10.9.9.9")
	label("c1", "refused")
	expectImport(t, "c1", ns, "closed", from("c1"))
	expectAddresses(t, "c1", ns, "c1/10.9.9.8")
	label("c1", "allowed")
	expectImport(t, "c1", ns, "closed", from("c1", "c2"))
	expectAddresses(t, "c1", ns, "c1/10.9.9.8", "c2/10.9.9.9")

	// An export that is not imported does not cause conflicts with the cluster's own export.
	create(t, "c2", service(ns, "other", 8080), export(ns, "other"))
	other := exportFrom(t, "c1", ns, "other", 80)
	expectCondition(t, "c1", other, "Conflict", metav1.ConditionTrue, "PortConflict")
	label("c1", "refused")
	expectCondition(t, "c1", other, "Conflict", metav1.ConditionFalse, "NoConflicts")
	label("c1", "allowed")
	expectCondition(t, "c1", other, "Conflict", metav1.ConditionTrue, "PortConflict")

	remove(t, "c1", own)
	expectImport(t, "c1", ns, "closed", from("c2"))

	label("c1", "refused")
	expectGone(t, "c1", objects.Import(ns, "closed"))
}
