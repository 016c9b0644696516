package integration

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// expectBrokerEmpty waits until the broker holds no object for a namespace's services, except
// withdrawn objects.
func expectBrokerEmpty(t *testing.T, namespace string) {
	t.Helper()
	eventually(t, "the broker has nothing of "+namespace, func() error {
		of := client.MatchingLabels{"atoll.dev/service-namespace": namespace}
		for _, list := range []client.ObjectList{&brokerv1alpha1.ExportedServiceList{}, &discoveryv1.EndpointSliceList{}, &mcsv1beta1.ServiceImportList{}} {
			if err := on[lab.Broker].List(t.Context(), list, of); err != nil {
				return err
			}
			if err := meta.EachListItem(list, func(o runtime.Object) error {
				if !layout.Withdrawn(o.(client.Object)) { // a withdrawn object stays for a while
					return fmt.Errorf("%T %s is left", o, o.(client.Object).GetName())
				}
				return nil
			}); err != nil {
				return err
			}
		}
		return nil
	})
}

// When a user labels a ServiceImport of another implementation for Atoll, the agent takes it
// over. The object and all fields that Atoll does not own stay; the clusterset IP becomes this
// cluster's. The agent does not touch the other implementation's slices and does not export its
// endpoints.
func TestForeignServiceImportIsTakenOver(t *testing.T) {
	const ns = "takeover"
	namespace(t, ns, "c1", "c2")
	theirs := objects.Import(ns, "web")
	theirs.Labels, theirs.Annotations = map[string]string{"their": "label"}, map[string]string{"their": "note"}
	theirs.Spec.IPs = []string{"243.0.0.1"}
	theirs.Spec.Ports = []mcsv1beta1.ServicePort{{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP}}
	create(t, "c2", theirs)
	theirs.Status.Clusters = []mcsv1beta1.ClusterStatus{{Cluster: "east"}}
	noError(t, on["c2"].Status().Update(t.Context(), theirs))
	// The other implementation has two slices: one in c2 for c1's service, and one in c1 with a
	// third cluster's endpoint for the Service itself, as Karmada adds them.
	ofTheirs := slice(ns, "web-"+ns+"-c1", "unused", "10.101.0.80")
	ofTheirs.Labels = map[string]string{
		discoveryv1.LabelManagedBy: "lighthouse-agent.submariner.io", "multicluster.kubernetes.io/service-name": "web", "multicluster.kubernetes.io/source-cluster": "c1",
	}
	create(t, "c2", ofTheirs)
	added := slice(ns, "c3-web-x", "web", "10.3.1.1")
	added.Labels[discoveryv1.LabelManagedBy] = "endpointslice-dispatch-controller.karmada.io"
	create(t, "c1", added)
	share(t, "c1", ns, "web", "10.1.1.1")
	expectSaid(t, "c2", ns, "ServiceImport", "ForeignServiceImport", 1)
	version := theirs.ResourceVersion

	uid := theirs.UID
	change(t, "c2", theirs, func(imp *mcsv1beta1.ServiceImport) {
		if imp.ResourceVersion != version {
			t.Errorf("the import was written before the label was set: %+v", imp)
		}
		imp.Labels["atoll.dev/managed-by"] = "agent.atoll.dev"
	})
	imp := expectImport(t, "c2", ns, "web", func(imp *mcsv1beta1.ServiceImport) error {
		if len(imp.Spec.IPs) != 1 || !strings.HasPrefix(imp.Spec.IPs[0], "10.102.") {
			return fmt.Errorf("addresses %v", imp.Spec.IPs)
		}
		return from("c1")(imp)
	})
	if imp.UID != uid || imp.Labels["their"] != "label" || imp.Annotations["their"] != "note" {
		t.Errorf("the import became %+v", imp)
	}
	expectAddresses(t, "c1,c2", ns, "c1/10.1.1.1")
	expectUntouched(t, "c2", ofTheirs)
	expectUntouched(t, "c1", added)
}

// Pitfall 32: when an agent restarts, it withdraws exports that ended while it was down.
// Pitfall 30: it writes nothing else, not even hints. Pitfall 16: it does not write the derived
// Services either.
func TestAgentRestart(t *testing.T) {
	const ns, own, other = "restart", "10.1.1.1", "10.2.1.1"
	zoned(t, "c1", "hints-a", "a")
	namespace(t, ns, "c1", "c2")
	gone := share(t, "c1", ns, "gone", "10.1.1.0")
	distributed(t, "c1", ns, "a", own)
	expectImport(t, "c2", ns, "web", from("c1"))
	distributed(t, "c2", ns, "a", other)
	// All writes for these services are done when the catalogue entries are written: their
	// status is the last write.
	expectImport(t, "c1,c2", ns, "gone", from("c1"))
	expectImport(t, "c1,c2", ns, "web", from("c1", "c2"))
	expectAddresses(t, "c1,c2", ns, "c1/10.1.1.0", "c1/"+own, "c2/"+other)
	expectCondition(t, "c1,c2", export(ns, "web"), "Ready", metav1.ConditionTrue, "Exported")
	expectCondition(t, "c1,c2", export(ns, "web"), "Conflict", metav1.ConditionFalse, "NoConflicts")
	expectAggregate(t, ns, "gone", "c1")
	expectAggregate(t, ns, "web", "c1", "c2")
	hints := map[string]string{own: "a", other: nobody}
	expectHints(t, "c1", ns, "web", hints)
	for _, cluster := range []string{"c1", "c2"} {
		noError(t, theLab.Kill(t.Context(), cluster+"/agent"))
	}
	remove(t, "c1", gone)
	before := everything(t, ns)
	start(t, "c1/agent", "c2/agent")
	expectGone(t, "c1,c2", objects.Import(ns, "gone"), service(ns, "gone-clusterset"))
	expectAddresses(t, "c1,c2", ns, "c1/"+own, "c2/"+other)
	// A new export that arrives shows that the agents have processed everything before it.
	create(t, "c1", service(ns, "new", 80), export(ns, "new"))
	expectImport(t, "c2", ns, "new", from("c1"))
	expectHints(t, "c1", ns, "web", hints)
	maps.DeleteFunc(before, func(key string, _ client.Object) bool { return strings.Contains(key, "gone") })
	expectVersions(t, ns, before)
}

// expectVersions checks that no program has written the namespace's objects since before was
// read.
func expectVersions(t *testing.T, namespace string, before map[string]client.Object) {
	t.Helper()
	after := everything(t, namespace)
	for key, object := range before {
		switch now := after[key]; {
		case now == nil:
			t.Errorf("%s was deleted", key)
		default:
			expectUnwritten(t, key, object, now)
		}
	}
}

// everything returns all objects of a namespace, in all clusters.
func everything(t *testing.T, namespace string) map[string]client.Object {
	t.Helper()
	all := map[string]client.Object{}
	for cluster, c := range on {
		of := client.ListOption(client.InNamespace(namespace))
		lists := []client.ObjectList{&corev1.ServiceList{}, &mcsv1beta1.ServiceExportList{}}
		if cluster == lab.Broker {
			of, lists = client.MatchingLabels{names.LabelServiceNamespace: namespace}, []client.ObjectList{&brokerv1alpha1.ExportedServiceList{}}
		}
		for _, list := range append(lists, &discoveryv1.EndpointSliceList{}, &mcsv1beta1.ServiceImportList{}) {
			noError(t, c.List(t.Context(), list, of))
			noError(t, meta.EachListItem(list, func(o runtime.Object) error {
				object := o.(client.Object)
				all[fmt.Sprintf("%s %T %s", cluster, o, object.GetName())] = object
				return nil
			}))
		}
	}
	return all
}

// asMember returns a client with the credentials of a cluster's agent on the broker.
func asMember(t *testing.T, cluster string) client.Client {
	t.Helper()
	m, _ := planes.Membership(t, on[cluster])
	return planes.AsMember(t, m)
}
