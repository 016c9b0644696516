package integration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// expectAggregate waits until the broker shows the service once, as exported by these
// clusters. It returns the entry.
func expectAggregate(t *testing.T, namespace, name string, clusters ...string) *mcsv1beta1.ServiceImport {
	t.Helper()
	var entry *mcsv1beta1.ServiceImport
	eventually(t, "the aggregate of "+namespace+"/"+name, func() error {
		list := &mcsv1beta1.ServiceImportList{}
		if err := on[lab.Broker].List(t.Context(), list, client.InNamespace(broker.DefaultNamespace), client.MatchingLabels{
			"atoll.dev/service-namespace": namespace, "multicluster.kubernetes.io/service-name": name,
		}); err != nil {
			return err
		}
		if len(list.Items) != 1 {
			return fmt.Errorf("there are %d", len(list.Items))
		}
		entry = &list.Items[0]
		var have []string
		for _, c := range entry.Status.Clusters {
			have = append(have, c.Cluster)
		}
		if !slices.Equal(have, clusters) {
			return fmt.Errorf("it has %v, want %v", have, clusters)
		}
		return nil
	})
	return entry
}

// wrote tells whether a cluster has written an entry, as its managed fields have it.
func wrote(entry *mcsv1beta1.ServiceImport, cluster string) bool {
	return slices.ContainsFunc(entry.ManagedFields, func(f metav1.ManagedFieldsEntry) bool {
		return f.Manager == "atoll-aggregate-"+cluster
	})
}

// exportFrom makes a Service and its export, the cluster's first of that name.
func exportFrom(t *testing.T, cluster, namespace, name string, ports ...int32) *mcsv1beta1.ServiceExport {
	t.Helper()
	create(t, cluster, service(namespace, name, ports...))
	e := export(namespace, name)
	create(t, cluster, e)
	return e
}

func TestAggregateShowsAServiceOnceWithItsExporters(t *testing.T) {
	const ns = "aggregate"
	namespace(t, ns, "c1", "c2")
	first := exportFrom(t, "c1", ns, "web", 80)
	entry := expectAggregate(t, ns, "web", "c1")
	if entry.Name != "web.aggregate" || len(entry.Spec.IPs) > 0 {
		t.Errorf("the entry is %+v", entry)
	}
	// In the same second the cluster id decides, so c1 stays the writer anyhow.
	second := exportFrom(t, "c2", ns, "web", 80, 81)
	entry = expectAggregate(t, ns, "web", "c1", "c2")
	if entry.Labels["atoll.dev/clusters"] != "c1_c2" || entry.Annotations["atoll.dev/clusters"] != "c1,c2" {
		t.Errorf("the clusters do not show in %v, %v", entry.Labels, entry.Annotations)
	}
	if len(entry.Spec.Ports) != 2 {
		t.Errorf("the ports are %v", entry.Spec.Ports)
	}
	if !wrote(entry, "c1") || wrote(entry, "c2") {
		t.Errorf("it was written by %v", entry.ManagedFields)
	}
	uid := entry.UID
	// The writer leaves, and the other one goes on.
	remove(t, "c1", first)
	entry = expectAggregate(t, ns, "web", "c2")
	if entry.UID != uid || !wrote(entry, "c2") {
		t.Errorf("it was written by %v", entry.ManagedFields)
	}
	remove(t, "c2", second)
	expectBrokerEmpty(t, ns)
}

// Pitfall 29: the place of a writer that is dead is taken by the next. Its export stays
// in the catalogue, for it alone can withdraw it.
func TestAggregateOfADeadWriter(t *testing.T) {
	const ns = "deadwriter"
	namespace(t, ns, "c1", "c2")
	exports := map[string]*mcsv1beta1.ServiceExport{}
	for _, cluster := range []string{"c1", "c2"} {
		exports[cluster] = exportFrom(t, cluster, ns, "web", 80)
	}
	entry := expectAggregate(t, ns, "web", "c1", "c2")
	killAgent(t, "c1")
	remove(t, lab.Broker, entry)
	again := expectAggregate(t, ns, "web", "c1", "c2")
	if again.UID == entry.UID || !wrote(again, "c2") || wrote(again, "c1") {
		t.Errorf("it was written by %v", again.ManagedFields)
	}
	change(t, "c2", service(ns, "web"), func(s *corev1.Service) { s.Spec.Ports = service(ns, "web", 80, 81).Spec.Ports })
	expectPorts(t, ns, "web", 80, 81)

	// Pitfall 32: what is un-exported while nobody is there leaves no entry behind.
	killAgent(t, "c2")
	remove(t, "c1", exports["c1"])
	remove(t, "c2", exports["c2"])
	for _, cluster := range []string{"c2", "c1"} {
		noError(t, theLab.Start(t.Context(), cluster+"/agent"))
	}
	expectBrokerEmpty(t, ns)
}

// expectPorts waits until an entry has these ports.
func expectPorts(t *testing.T, namespace, name string, want ...int32) {
	t.Helper()
	eventually(t, "ports of the aggregate of "+namespace+"/"+name, func() error {
		entry := objects.Entry(namespace, name, "", "")
		if err := on[lab.Broker].Get(t.Context(), client.ObjectKeyFromObject(entry), entry); err != nil {
			return err
		}
		var have []int32
		for _, p := range entry.Spec.Ports {
			have = append(have, p.Port)
		}
		if !slices.Equal(have, want) {
			return fmt.Errorf("have %v, want %v", have, want)
		}
		return nil
	})
}

// killAgent kills a cluster's agent, and has it started again after the test.
func killAgent(t *testing.T, cluster string) {
	t.Helper()
	noError(t, theLab.Kill(t.Context(), cluster+"/agent"))
	t.Cleanup(func() {
		noError(t, theLab.Start(context.Background(), cluster+"/agent"))
	})
}

func TestAggregateIsPutRight(t *testing.T) {
	const ns = "putright"
	namespace(t, ns, "c1", "c2")
	// Of services that nobody exports, whether those that they name live or not.
	for name, cluster := range map[string]string{"alive": "c2", "dead": "c9"} {
		create(t, lab.Broker, objects.Entry(ns, name, cluster, cluster))
	}
	create(t, lab.Broker, objects.Entry(ns, "nobody", "", ""))
	// Somebody else's object of that name is left alone.
	foreign := &mcsv1beta1.ServiceImport{
		ObjectMeta: metav1.ObjectMeta{Namespace: broker.DefaultNamespace, Name: "api." + ns},
		Spec:       mcsv1beta1.ServiceImportSpec{Type: mcsv1beta1.Headless, Ports: []mcsv1beta1.ServicePort{}},
	}
	temporary(t, lab.Broker, foreign)
	exportFrom(t, "c1", ns, "api", 80)
	exportFrom(t, "c1", ns, "web", 80)

	entry := expectAggregate(t, ns, "web", "c1")
	change(t, lab.Broker, entry, func(e *mcsv1beta1.ServiceImport) {
		e.Spec.Ports = []mcsv1beta1.ServicePort{}
		e.Spec.Type = mcsv1beta1.Headless
		e.Finalizers = []string{"example.org/keep"}
		e.Labels["more"] = "x"
	})
	expectPorts(t, ns, "web", 80)
	planes.Until(t, "the rest is put right too", on[lab.Broker], entry, func() error {
		if entry.Spec.Type != mcsv1beta1.ClusterSetIP || len(entry.Finalizers) > 0 || entry.Labels["more"] != "" {
			return fmt.Errorf("it is %+v", entry)
		}
		return nil
	})
	for _, name := range []string{"alive", "dead", "nobody"} {
		expectGone(t, lab.Broker, objects.Entry(ns, name, "", ""))
	}
	expectUntouched(t, lab.Broker, foreign)
	remove(t, lab.Broker, foreign)
	expectAggregate(t, ns, "api", "c1")
}

// Pitfall 35: what a member can do to the one kind that several write.
func TestMemberMayWriteOnlyAggregatesThatNameIt(t *testing.T) {
	const ns = "catalogue"
	ctx := t.Context()
	namespace(t, ns, "c1")
	exportFrom(t, "c1", ns, "web", 80)
	entry := expectAggregate(t, ns, "web", "c1")
	killAgent(t, "c2")
	member := asMember(t, "c2")
	foreign := &mcsv1beta1.ServiceImport{
		ObjectMeta: metav1.ObjectMeta{Namespace: broker.DefaultNamespace, Name: "foreign." + ns},
		Spec:       mcsv1beta1.ServiceImportSpec{Type: mcsv1beta1.Headless, Ports: []mcsv1beta1.ServicePort{}},
	}
	temporary(t, lab.Broker, foreign)

	const naming = "annotation atoll.dev/clusters must name c2"
	// made tries to create an entry that is right but for one change.
	made := func(change func(*mcsv1beta1.ServiceImport)) error {
		e := objects.Entry(ns, "made", "c2", "c2")
		change(e)
		return member.Create(ctx, e)
	}
	// joined tries to change c1's entry to one that names c2 too, but for one change.
	joined := func(object *mcsv1beta1.ServiceImport, change func(*mcsv1beta1.ServiceImport)) error {
		e := object.DeepCopy()
		e.Labels, e.Annotations = objects.Entry(ns, "web", "c1_c2", "c1,c2").Labels, objects.Entry(ns, "web", "c1_c2", "c1,c2").Annotations
		change(e)
		return member.Update(ctx, e)
	}
	for _, tt := range []struct {
		what  string
		words string
		err   error
	}{
		{"an entry that names others only", naming, made(func(e *mcsv1beta1.ServiceImport) {
			e.Labels["atoll.dev/clusters"], e.Annotations["atoll.dev/clusters"] = "c1", "c1"
		})},
		{"an entry that names nobody", naming, made(func(e *mcsv1beta1.ServiceImport) { e.Annotations = nil })},
		{"an entry whose label says something else", "label atoll.dev/clusters", made(func(e *mcsv1beta1.ServiceImport) {
			e.Labels["atoll.dev/clusters"] = "c1"
		})},
		{"an entry under another service's name", "the name must be", made(func(e *mcsv1beta1.ServiceImport) { e.Name = "web." + ns })},
		{"an entry of an ambiguous name", "the name must be", made(func(e *mcsv1beta1.ServiceImport) {
			e.Name = "a.b.c"
			e.Labels["multicluster.kubernetes.io/service-name"], e.Labels["atoll.dev/service-namespace"] = "a.b", "c"
		})},
		{"a ServiceImport that is no entry", "members write aggregates only", made(func(e *mcsv1beta1.ServiceImport) { delete(e.Labels, "atoll.dev/managed-by") })},
		{"an entry that can't be deleted", "no finalizers", made(func(e *mcsv1beta1.ServiceImport) { e.Finalizers = []string{"example.org/keep"} })},
		{"an entry with an owner", "no owners", made(func(e *mcsv1beta1.ServiceImport) {
			e.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "y"}}
		})},
		{"an entry with an address", "no addresses", made(func(e *mcsv1beta1.ServiceImport) { e.Spec.IPs = []string{"10.1.2.3"} })},
		{"changing another's entry", naming, joined(entry, func(e *mcsv1beta1.ServiceImport) { e.Annotations = entry.Annotations })},
		{"making another's entry something else", "members write aggregates only", joined(entry, func(e *mcsv1beta1.ServiceImport) { delete(e.Labels, "atoll.dev/managed-by") })},
		{"another's entry with an address", "no addresses", joined(entry, func(e *mcsv1beta1.ServiceImport) { e.Spec.IPs = []string{"10.1.2.3"} })},
		{"the status of another's entry", naming, func() error {
			e := entry.DeepCopy()
			e.Status.Clusters = []mcsv1beta1.ClusterStatus{{Cluster: "c2"}}
			return member.Status().Update(ctx, e)
		}()},
		{"deleting another's entry", naming, member.Delete(ctx, entry.DeepCopy())},
		{"deleting all entries", "", member.DeleteAllOf(ctx, &mcsv1beta1.ServiceImport{}, client.InNamespace(broker.DefaultNamespace))},
		{"taking over somebody else's object", "members write aggregates only", joined(foreign, func(e *mcsv1beta1.ServiceImport) {
			e.Labels["multicluster.kubernetes.io/service-name"] = "foreign"
		})},
		{"deleting somebody else's object", "members write aggregates only", member.Delete(ctx, foreign.DeepCopy())},
		{"an entry elsewhere", "", made(func(e *mcsv1beta1.ServiceImport) { e.Namespace = "default" })},
	} {
		expectForbidden(t, tt.what, tt.err, tt.words)
	}
	// What it can do is name itself, and that does not last.
	create2 := objects.Entry(ns, "made", "c2", "c2")
	if err := member.Create(ctx, create2); err != nil {
		t.Fatalf("an entry that names it: %v", err)
	}
	create2.Status.Clusters = []mcsv1beta1.ClusterStatus{{Cluster: "c1"}, {Cluster: "c2"}}
	if err := member.Status().Update(ctx, create2); err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("a status that names others than the entry: %v", err)
	}
	if err := joined(entry, func(e *mcsv1beta1.ServiceImport) { e.Spec.Ports = []mcsv1beta1.ServicePort{} }); err != nil {
		t.Fatalf("joining an entry: %v", err)
	}
	expectGone(t, lab.Broker, create2)
	expectPorts(t, ns, "web", 80)
	if entry = expectAggregate(t, ns, "web", "c1"); entry.Annotations["atoll.dev/clusters"] != "c1" {
		t.Errorf("it is still on %v", entry.Annotations)
	}
}
