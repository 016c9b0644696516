package integration

import (
	"errors"
	"fmt"
	"maps"
	"slices"
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
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

func TestExportIsImportedEverywhereAndUnexportLeavesNothing(t *testing.T) {
	const ns = "basic"
	namespace(t, ns, "c1", "c2")
	create(t, "c1", service(ns, "web", 80))
	source := slice(ns, "web-x", "web", "10.1.1.1")
	create(t, "c1", source)
	e := export(ns, "web")
	create(t, "c1", e)

	for _, cluster := range []string{"c1", "c2"} {
		imp := expectImport(t, cluster, ns, "web", from("c1"))
		derived := &corev1.Service{}
		key := client.ObjectKey{Namespace: ns, Name: imp.Annotations["multicluster.kubernetes.io/derived-service"]}
		noError(t, on[cluster].Get(t.Context(), key, derived))
		if derived.Spec.ClusterIP != imp.Spec.IPs[0] || len(derived.Spec.Selector) > 0 {
			t.Errorf("%s: derived Service %+v, import %+v", cluster, derived.Spec, imp.Spec)
		}
		if imp.Spec.Type != mcsv1beta1.ClusterSetIP || imp.Status.EndpointSliceObjects != mcsv1beta1.EndpointSliceObjectsPresent {
			t.Errorf("%s: import %+v", cluster, imp)
		}
		expectAddresses(t, cluster, ns, "c1/10.1.1.1")
	}
	for _, s := range slicesOf(t, "c2", ns) {
		if s.Labels[discoveryv1.LabelServiceName] != "web-clusterset" || s.Endpoints[0].NodeName != nil {
			t.Errorf("imported slice %+v", s)
		}
	}
	expectCondition(t, "c1", e, "Valid", metav1.ConditionTrue, "Valid")
	expectCondition(t, "c1", e, "Ready", metav1.ConditionTrue, "Exported")
	expectCondition(t, "c1", e, "Conflict", metav1.ConditionFalse, "NoConflicts")

	change(t, "c1", source, func(s *discoveryv1.EndpointSlice) {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{"10.1.1.2"}})
	})
	expectAddresses(t, "c2", ns, "c1/10.1.1.1", "c1/10.1.1.2")
	expectAddresses(t, "c1", ns, "c1/10.1.1.1", "c1/10.1.1.2")

	remove(t, "c1", e)
	for _, cluster := range []string{"c1", "c2"} {
		expectGone(t, cluster, objects.Import(ns, "web"))
		expectGone(t, cluster, service(ns, "web-clusterset"))
		expectAddresses(t, cluster, ns)
	}
	expectBrokerEmpty(t, ns)
	planes.Succeeds(t, "the user's own slice", on["c1"].Get(t.Context(), client.ObjectKeyFromObject(source), source))
}

// expectBrokerEmpty waits until the broker holds nothing of a namespace's services.
func expectBrokerEmpty(t *testing.T, namespace string) {
	t.Helper()
	eventually(t, "the broker has nothing of "+namespace, func() error {
		of := client.MatchingLabels{"atoll.dev/service-namespace": namespace}
		for _, list := range []client.ObjectList{&brokerv1alpha1.ExportedServiceList{}, &discoveryv1.EndpointSliceList{}, &mcsv1beta1.ServiceImportList{}} {
			if err := on[lab.Broker].List(t.Context(), list, of); err != nil {
				return err
			}
			left, err := meta.ExtractList(list)
			if err != nil {
				return err
			}
			left = slices.DeleteFunc(left, func(o runtime.Object) bool { return layout.Withdrawn(o.(client.Object)) }) // which stays for a while
			if len(left) > 0 {
				return fmt.Errorf("%d left in %T", len(left), list)
			}
		}
		return nil
	})
}

// Pitfall 6: a conflict is stated by all who take part in it, and it is over when it is.
func TestConflictIsOnAllExportsAndTrafficOnlyToWinners(t *testing.T) {
	const ns = "conflict"
	namespace(t, ns, "c1", "c2")
	first := share(t, "c1", ns, "web", "10.1.1.1")
	expectCondition(t, "c1", first, "Conflict", metav1.ConditionFalse, "NoConflicts")
	// The younger export's port p80 has another number, and it has one more.
	loser := service(ns, "web", 80, 81)
	loser.Spec.Ports[0].Port = 8080
	create(t, "c2", loser, slice(ns, "web-x", "web", "10.2.1.1"))
	second := export(ns, "web")
	// Creation times have a resolution of a second; at equal ones the cluster id decides,
	// for c1 as well.
	create(t, "c2", second)
	want := `Conflicting ports. Using "p80 80/TCP" from oldest service export in "c1" and "p81 81/TCP" from service export in "c2". 2/2 clusters disagree.`
	for cluster, e := range map[string]*mcsv1beta1.ServiceExport{"c1": first, "c2": second} {
		if got := expectCondition(t, cluster, e, "Conflict", metav1.ConditionTrue, "PortConflict").Message; got != want {
			t.Errorf("%s: message %q, want %q", cluster, got, want)
		}
		expectCondition(t, cluster, e, "Valid", metav1.ConditionTrue, "Valid")
	}
	eventually(t, "c2's slice without the port that lost", func() error {
		for _, s := range slicesOf(t, "c1", ns) {
			if s.Labels["multicluster.kubernetes.io/source-cluster"] == "c2" {
				if len(s.Ports) == 0 {
					return nil
				}
				return fmt.Errorf("ports %v", s.Ports)
			}
		}
		return errors.New("there is none")
	})
	change(t, "c2", loser, func(s *corev1.Service) { s.Spec.Ports = service(ns, "web", 80).Spec.Ports })
	for cluster, e := range map[string]*mcsv1beta1.ServiceExport{"c1": first, "c2": second} {
		expectCondition(t, cluster, e, "Conflict", metav1.ConditionFalse, "NoConflicts")
	}
}

func TestServiceThatComesLaterOrIsInvalid(t *testing.T) {
	const ns = "invalid"
	namespace(t, ns, "c1", "c2")
	e := export(ns, "web")
	create(t, "c1", e)
	expectCondition(t, "c1", e, "Valid", metav1.ConditionFalse, "NoService")
	expectCondition(t, "c1", e, "Ready", metav1.ConditionFalse, "Pending")
	s := service(ns, "web", 80)
	create(t, "c1", s)
	expectCondition(t, "c1", e, "Valid", metav1.ConditionTrue, "Valid")
	expectImport(t, "c2", ns, "web", from("c1"))
	remove(t, "c1", s)
	expectCondition(t, "c1", e, "Valid", metav1.ConditionFalse, "NoService")
	expectGone(t, "c2", objects.Import(ns, "web"))
	create(t, "c1", objects.ExternalName(ns, "web"))
	expectCondition(t, "c1", e, "Valid", metav1.ConditionFalse, "InvalidServiceType")
}

func TestForeignServiceImportIsLeftAlone(t *testing.T) {
	const ns = "foreign"
	namespace(t, ns, "c1", "c2")
	foreign := &mcsv1beta1.ServiceImport{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"},
		Spec:       mcsv1beta1.ServiceImportSpec{Type: mcsv1beta1.Headless, Ports: []mcsv1beta1.ServicePort{}},
	}
	create(t, "c2", foreign)
	create(t, "c1", service(ns, "web", 80), export(ns, "web"))
	expectImport(t, "c1", ns, "web", from("c1"))
	eventually(t, "an Event about it", func() error {
		events := &corev1.EventList{}
		if err := on["c2"].List(t.Context(), events, client.InNamespace(ns)); err != nil {
			return err
		}
		for _, e := range events.Items {
			if e.Reason == "ForeignServiceImport" && e.InvolvedObject.Name == "web" {
				return nil
			}
		}
		return fmt.Errorf("%d others", len(events.Items))
	})
	expectUntouched(t, "c2", foreign)
	remove(t, "c2", foreign)
	expectImport(t, "c2", ns, "web", from("c1"))
}

// What another implementation has imported is taken over when somebody labels it so: the object stays, with all that is
// not Atoll's to say, and has an address of this cluster's instead of theirs. Their slices are left alone, and nothing of
// theirs is exported.
func TestForeignServiceImportIsTakenOver(t *testing.T) {
	const ns = "takeover"
	namespace(t, ns, "c1", "c2")
	theirs := &mcsv1beta1.ServiceImport{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web", Labels: map[string]string{"their": "label"}, Annotations: map[string]string{"their": "note"}},
		Spec: mcsv1beta1.ServiceImportSpec{
			Type: mcsv1beta1.ClusterSetIP, IPs: []string{"243.0.0.1"},
			Ports: []mcsv1beta1.ServicePort{{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP}},
		},
	}
	create(t, "c2", theirs)
	theirs.Status.Clusters = []mcsv1beta1.ClusterStatus{{Cluster: "east"}}
	noError(t, on["c2"].Status().Update(t.Context(), theirs))
	// Theirs of c1's service in c2, and of a third cluster's in c1, for the Service itself, as Karmada adds them.
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
			t.Errorf("it was written before: %+v", imp)
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
		t.Errorf("it became %+v", imp)
	}
	for _, cluster := range []string{"c1", "c2"} {
		expectAddresses(t, cluster, ns, "c1/10.1.1.1")
	}
	expectUntouched(t, "c2", ofTheirs)
	expectUntouched(t, "c1", added)
}

// Pitfall 32: what was un-exported while the agent was down goes when it is back. Pitfall
// 30: nothing else is written. Pitfall 16: not the derived Services either.
func TestAgentRestart(t *testing.T) {
	const ns = "restart"
	namespace(t, ns, "c1", "c2")
	exports := exportTwo(t, ns)
	for _, cluster := range []string{"c1", "c2"} {
		expectAddresses(t, cluster, ns, "c1/10.1.1.0", "c1/10.1.1.1")
	}
	for _, cluster := range []string{"c1", "c2"} {
		noError(t, theLab.Kill(t.Context(), cluster+"/agent"))
	}
	remove(t, "c1", exports["gone"])
	before := versions(t, ns)
	for _, cluster := range []string{"c1", "c2"} {
		noError(t, theLab.Start(t.Context(), cluster+"/agent"))
	}
	for _, cluster := range []string{"c1", "c2"} {
		expectGone(t, cluster, objects.Import(ns, "gone"))
		expectAddresses(t, cluster, ns, "c1/10.1.1.1")
		expectGone(t, cluster, service(ns, "gone-clusterset"))
	}
	// A change that comes through shows that the agents have done what they had to.
	create(t, "c1", service(ns, "new", 80), export(ns, "new"))
	expectImport(t, "c2", ns, "new", from("c1"))
	after := versions(t, ns)
	maps.DeleteFunc(before, func(key, _ string) bool { return strings.Contains(key, "gone") })
	for key, version := range before {
		if after[key] != version {
			t.Errorf("%s was written: version %s became %q", key, version, after[key])
		}
	}
}

// exportTwo has c1 export the Services gone and kept, and returns when nothing is left to be written for them: the catalogue's entry, of
// which the status is a write of its own, comes last.
func exportTwo(t *testing.T, ns string) map[string]*mcsv1beta1.ServiceExport {
	t.Helper()
	exports := map[string]*mcsv1beta1.ServiceExport{}
	for i, name := range []string{"gone", "kept"} {
		exports[name] = share(t, "c1", ns, name, fmt.Sprintf("10.1.1.%d", i))
		for _, cluster := range []string{"c1", "c2"} {
			expectImport(t, cluster, ns, name, from("c1"))
		}
		expectCondition(t, "c1", exports[name], "Ready", metav1.ConditionTrue, "Exported")
		expectCondition(t, "c1", exports[name], "Conflict", metav1.ConditionFalse, "NoConflicts")
		expectAggregate(t, ns, name, "c1")
	}
	return exports
}

// versions returns the resource versions of everything of a namespace's, in all clusters.
func versions(t *testing.T, namespace string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, cluster := range []string{"c1", "c2"} {
		for _, list := range []client.ObjectList{
			&corev1.ServiceList{}, &discoveryv1.EndpointSliceList{}, &mcsv1beta1.ServiceImportList{}, &mcsv1beta1.ServiceExportList{},
		} {
			noError(t, on[cluster].List(t.Context(), list, client.InNamespace(namespace)))
			collect(t, all, cluster, list)
		}
	}
	for _, list := range []client.ObjectList{&brokerv1alpha1.ExportedServiceList{}, &discoveryv1.EndpointSliceList{}, &mcsv1beta1.ServiceImportList{}} {
		noError(t, on[lab.Broker].List(t.Context(), list, client.MatchingLabels{"atoll.dev/service-namespace": namespace}))
		collect(t, all, lab.Broker, list)
	}
	return all
}

func collect(t *testing.T, into map[string]string, cluster string, list client.ObjectList) {
	t.Helper()
	objects, err := meta.ExtractList(list)
	noError(t, err)
	for _, o := range objects {
		accessor := o.(client.Object)
		into[fmt.Sprintf("%s %T %s", cluster, o, accessor.GetName())] = accessor.GetResourceVersion()
	}
}

// asMember returns a client with the credentials of a cluster's agent on the broker.
func asMember(t *testing.T, cluster string) client.Client {
	t.Helper()
	m, _ := planes.Membership(t, on[cluster])
	return planes.AsMember(t, m)
}
