package integration

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// allowRanges sets the addresses that members may export. The cleanup permits all addresses.
func allowRanges(t *testing.T, ranges map[string]string) {
	t.Helper()
	data := map[string]string{}
	for id, text := range ranges {
		data["ranges."+id] = text
	}
	permit(t, data)
}

// permit sets the member permissions. The cleanup permits everything.
func permit(t *testing.T, data map[string]string) {
	t.Helper()
	t.Cleanup(func() { planes.Permit(t, on[lab.Broker], nil) })
	planes.Permit(t, on[lab.Broker], data)
}

// Addresses that the broker's owner does not permit are not imported: neither pods nor cluster
// IPs, and not for headless Services either. The import reports them. When the owner permits
// the addresses, they are imported.
func TestAllowedRanges(t *testing.T) {
	const ns = "allowed"
	namespace(t, ns, "c1", "c2")
	allowRanges(t, map[string]string{"c2": "10.9.0.0/16, fd00::/8", "c1": "everything"})
	web, pods := service(ns, "web", 80), service(ns, "pods", 80)
	pods.Spec.ClusterIP = corev1.ClusterIPNone
	create(t, "c2", web, pods)
	several := slice(ns, "web-x", "web", "10.9.9.1", "10.8.8.1", "10.8.8.2")
	create(t, "c2", several, slice(ns, "pods-x", "pods", "10.9.9.3", "10.8.8.3"), export(ns, "web"), export(ns, "pods"))
	// The permission of c1 is invalid, so no address of c1 is permitted.
	share(t, "c1", ns, "web", "10.9.9.4")
	expectImport(t, "c1", ns, "web", from("c1", "c2"))
	expectImport(t, "c1", ns, "pods", isHeadless)
	expectAddresses(t, "c1", ns, "c1/10.9.9.4", "c2/10.9.9.1", "c2/10.9.9.3")
	expectAddresses(t, "c2", ns, "c2/10.9.9.1", "c2/10.8.8.1", "c2/10.8.8.2", "c2/10.9.9.3", "c2/10.8.8.3")
	for _, name := range []string{"web", "pods"} {
		planes.Told(t, on["c1"], ns, "ServiceImport", name, "EndpointsRefused", "")
	}

	// Permissions also apply to a changed slice.
	change(t, "c2", several, func(s *discoveryv1.EndpointSlice) {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{"10.9.9.5"}}, discoveryv1.Endpoint{Addresses: []string{"10.8.8.5"}})
	})
	expectAddresses(t, "c1", ns, "c1/10.9.9.4", "c2/10.9.9.1", "c2/10.9.9.3", "c2/10.9.9.5")

	allowRanges(t, map[string]string{"c2": "10.8.8.0/30"})
	expectAddresses(t, "c1", ns, "c1/10.9.9.4", "c2/10.8.8.1", "c2/10.8.8.2", "c2/10.8.8.3")
	expectAddresses(t, "c2", ns, "c1/10.9.9.4", "c2/10.9.9.1", "c2/10.8.8.2", "c2/10.8.8.1", "c2/10.9.9.3", "c2/10.8.8.3", "c2/10.9.9.5", "c2/10.8.8.5")

	// The permissions hold after they are deleted on the broker.
	remove(t, lab.Broker, objects.Permissions(nil))
	change(t, "c2", several, func(s *discoveryv1.EndpointSlice) { s.Endpoints[1].Addresses = []string{"10.8.8.0"} })
	expectAddresses(t, "c1", ns, "c1/10.9.9.4", "c2/10.8.8.0", "c2/10.8.8.2", "c2/10.8.8.3")

	// For a cluster that advertises cluster IPs, the cluster IPs must be permitted. For
	// headless Services the pods must be permitted, as before.
	advertise(t, "c2", brokerv1alpha1.AdvertiseClusterIP)
	expectAddresses(t, "c1", ns, "c1/10.9.9.4", "c2/10.8.8.3")
	allowRanges(t, map[string]string{"c2": web.Spec.ClusterIP + "/32"})
	expectAddresses(t, "c1", ns, "c1/10.9.9.4", "c2/"+web.Spec.ClusterIP)
	allowRanges(t, nil)
	expectAddresses(t, "c1", ns, "c1/10.9.9.4", "c2/"+web.Spec.ClusterIP, "c2/10.9.9.3", "c2/10.8.8.3")
}

// A member can export only the namespaces that the broker's administrators permit. The agent
// withdraws existing exports of other namespaces, their ServiceExports give the reason, and
// importers ignore a record that was restored from a backup.
func TestPermittedNamespaces(t *testing.T) {
	const mine, theirs = "permitted-mine", "permitted-theirs"
	namespace(t, mine, "c1", "c2")
	namespace(t, theirs, "c1", "c2")
	exports := map[string]*mcsv1beta1.ServiceExport{}
	for ns, address := range map[string]string{mine: "10.9.1.1", theirs: "10.9.2.1"} {
		exports[ns] = share(t, "c2", ns, "web", address)
		expectImport(t, "c1", ns, "web", from("c2"))
		expectAddresses(t, "c1", ns, "c2/"+address)
	}
	restored := objects.Record("c2", theirs, "web")
	planes.Read(t, on[lab.Broker], restored)

	permit(t, map[string]string{"namespaces.c2": "permitted-m*, Not_a_namespace"})
	expectGone(t, "c1", objects.Import(theirs, "web"))
	expectAddresses(t, "c1", theirs)
	expectCondition(t, "c2", exports[theirs], "Valid", metav1.ConditionFalse, "NamespaceNotPermitted")
	expectGone(t, lab.Broker, objects.Record("c2", theirs, "web"))

	// c2's agent is stopped while the record is restored, because it would delete the record at
	// once.
	stop(t, "c2/agent")
	remove(t, lab.Broker, objects.Record("c2", theirs, "web"))
	restored.ObjectMeta = metav1.ObjectMeta{Namespace: restored.Namespace, Name: restored.Name, Labels: restored.Labels, Annotations: restored.Annotations}
	create(t, lab.Broker, restored)
	// A later record of c1 shows that c1 has seen the restored record.
	share(t, "c1", mine, "later", "10.9.3.1")
	expectAggregate(t, mine, "later", "c1")
	planes.Succeeds(t, "a record that was restored is not imported", planes.IsGone(on["c1"].Get(t.Context(), client.ObjectKey{Namespace: theirs, Name: "web"}, objects.Import(theirs, "web"))))
	start(t, "c2/agent")
	expectGone(t, lab.Broker, restored)
	expectImport(t, "c1", mine, "web", from("c2"))

	// A member without its own permission has the default permission: in its own cluster, for
	// other clusters and in the broker's admission policy. c1 has its own permission.
	permit(t, map[string]string{"namespaces": "", "namespaces.c1": "*"})
	expectCondition(t, "c2", exports[mine], "Valid", metav1.ConditionFalse, "NamespaceNotPermitted")
	expectGone(t, "c1", objects.Import(mine, "web"))
	expectAggregate(t, mine, "later", "c1")
	record := objects.Record("c2", mine, "other")
	expectForbidden(t, "a namespace that is not permitted by default", asMember(t, "c2").Create(t.Context(), record), "c2 is not permitted to export namespace "+mine)
	permit(t, map[string]string{"namespaces": "permitted-m*"})
	expectImport(t, "c1", mine, "web", from("c2"))
	noError(t, asMember(t, "c2").Create(t.Context(), record, client.DryRunAll))
	expectCondition(t, "c2", exports[theirs], "Valid", metav1.ConditionFalse, "NamespaceNotPermitted")

	// A namespace that is reserved for c1 is closed to c2, whatever else c2 may export, and open again when c2 is an owner, too.
	permit(t, map[string]string{"namespaces.c2": "*", "namespaces.c1": "*, " + mine, "reserved": mine})
	expectCondition(t, "c2", exports[mine], "Valid", metav1.ConditionFalse, "NamespaceNotPermitted")
	expectGone(t, "c1", objects.Import(mine, "web"))
	expectForbidden(t, "a namespace that another cluster owns", asMember(t, "c2").Create(t.Context(), record), "namespace "+mine+" is reserved, and cluster c2 does not own it")
	noError(t, asMember(t, "c1").Create(t.Context(), objects.Record("c1", mine, "other"), client.DryRunAll))
	permit(t, map[string]string{"namespaces.c2": "*, permitted-mi*", "namespaces.c1": "*, " + mine, "reserved": mine})
	expectImport(t, "c1", mine, "web", from("c2"))
	noError(t, asMember(t, "c2").Create(t.Context(), record, client.DryRunAll))

	permit(t, map[string]string{"namespaces": "", "namespaces.c2": "*"})
	expectImport(t, "c1", theirs, "web", from("c2"))
	expectAddresses(t, "c1", theirs, "c2/10.9.2.1")
	expectCondition(t, "c2", exports[theirs], "Valid", metav1.ConditionTrue, "Valid")
}

// Who deletes the permissions on the broker, or creates them again without content, permits nothing: neither at once nor
// after the agent was restarted. An administrator who writes a key decides again.
func TestPermissionsAreKept(t *testing.T) {
	const ns = "kept"
	namespace(t, ns, "c1", "c2")
	allowRanges(t, map[string]string{"c2": "10.9.0.0/16"})
	web := service(ns, "web", 80)
	several := slice(ns, "web-x", "web", "10.9.9.1", "10.8.8.1")
	create(t, "c2", web, several, export(ns, "web"))
	expectImport(t, "c1", ns, "web", from("c2"))
	expectAddresses(t, "c1", ns, "c2/10.9.9.1")
	// stays changes what c2 exports, so that c1 has decided again.
	next := 1
	stays := func() {
		t.Helper()
		next++
		good := fmt.Sprintf("10.9.9.%d", next)
		change(t, "c2", several, func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Addresses = []string{good} })
		expectAddresses(t, "c1", ns, "c2/"+good)
	}
	restart := func() {
		t.Helper()
		noError(t, theLab.Kill(t.Context(), "c1/agent"))
		start(t, "c1/agent")
	}
	eventually(t, "c1 remembers the permissions", func() error { // it writes them every few seconds only
		remembered := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: names.SystemNamespace, Name: names.RememberedMembers}}
		if planes.Read(t, on["c1"], remembered); !strings.Contains(fmt.Sprint(remembered.Data), "10.9.0.0/16") {
			return fmt.Errorf("it remembers %v", remembered.Data)
		}
		return nil
	})
	remove(t, lab.Broker, objects.Permissions(nil))
	stays()
	restart()
	stays()
	create(t, lab.Broker, objects.Permissions(nil))
	stays()
	restart()
	stays()
	allowRanges(t, map[string]string{"c1": "10.0.0.0/8"}) // says nothing about c2
	expectAddresses(t, "c1", ns, fmt.Sprintf("c2/10.9.9.%d", next), "c2/10.8.8.1")
}
