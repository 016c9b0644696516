package integration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// expectAggregate waits until the catalogue entry names exactly these clusters, and returns the
// entry.
func expectAggregate(t *testing.T, namespace, name string, clusters ...string) *mcsv1beta1.ServiceImport {
	t.Helper()
	entry := objects.Entry(namespace, name, "", "")
	planes.Until(t, "the aggregate of "+namespace+"/"+name, on[lab.Broker], entry, func() error {
		if have := planes.Exporters(entry); !slices.Equal(have, clusters) {
			return fmt.Errorf("the entry names %v, want %v", have, clusters)
		}
		return nil
	})
	return entry
}

// exportFrom creates a Service and its ServiceExport.
func exportFrom(t *testing.T, cluster, namespace, name string, ports ...int32) *mcsv1beta1.ServiceExport {
	t.Helper()
	create(t, cluster, service(namespace, name, ports...))
	e := export(namespace, name)
	create(t, cluster, e)
	return e
}

// expectPorts waits until an entry has these ports.
func expectPorts(t *testing.T, namespace, name string, want ...int32) {
	t.Helper()
	entry := objects.Entry(namespace, name, "", "")
	planes.Until(t, "ports of the aggregate of "+namespace+"/"+name, on[lab.Broker], entry, func() error {
		if have := numbers(entry.Spec.Ports); !slices.Equal(have, want) {
			return fmt.Errorf("have %v, want %v", have, want)
		}
		return nil
	})
}

func TestAggregateIsPutRight(t *testing.T) {
	const ns = "putright"
	namespace(t, ns, "c1", "c2")
	// These entries belong to services that no cluster exports. They name live or lost
	// clusters.
	for name, cluster := range map[string]string{"alive": "c2", "dead": "c9"} {
		create(t, lab.Broker, objects.Entry(ns, name, cluster, cluster))
	}
	create(t, lab.Broker, objects.Entry(ns, "nobody", "", ""))
	// Agents leave a foreign object with the name of an entry alone.
	foreign := objects.Import(broker.DefaultNamespace, "api."+ns)
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
	planes.Until(t, "the other fields are repaired too", on[lab.Broker], entry, func() error {
		if entry.Spec.Type != mcsv1beta1.ClusterSetIP || len(entry.Finalizers) > 0 || entry.Labels["more"] != "" {
			return fmt.Errorf("the entry is %+v", entry)
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

// Pitfall 35: the damage that a member can do to catalogue entries, the only kind with several
// writers.
func TestMemberMayWriteOnlyAggregatesThatNameIt(t *testing.T) {
	const ns = "catalogue"
	ctx := t.Context()
	namespace(t, ns, "c1")
	exportFrom(t, "c1", ns, "web", 80)
	entry := expectAggregate(t, ns, "web", "c1")
	stop(t, "c2/agent")
	member := asMember(t, "c2")
	foreign := objects.Import(broker.DefaultNamespace, "foreign."+ns)
	temporary(t, lab.Broker, foreign)

	const naming = "annotation atoll.dev/clusters must name c2"
	// made tries to create a valid entry with one change.
	made := func(change func(*mcsv1beta1.ServiceImport)) error {
		e := objects.Entry(ns, "made", "c2", "c2")
		change(e)
		return member.Create(ctx, e)
	}
	// joined tries to add c2 to c1's entry, with one more change.
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
		{"an entry without clusters", naming, made(func(e *mcsv1beta1.ServiceImport) { e.Annotations = nil })},
		{"an entry whose label and annotation differ", "label atoll.dev/clusters", made(func(e *mcsv1beta1.ServiceImport) {
			e.Labels["atoll.dev/clusters"] = "c1"
		})},
		{"an entry under another service's name", "the name must be", made(func(e *mcsv1beta1.ServiceImport) { e.Name = "web." + ns })},
		{"an entry of an ambiguous name", "the name must be", made(func(e *mcsv1beta1.ServiceImport) {
			e.Name = "a.b.c"
			e.Labels["multicluster.kubernetes.io/service-name"], e.Labels["atoll.dev/service-namespace"] = "a.b", "c"
		})},
		{"a ServiceImport that is no entry", "a member may write only aggregated ServiceImports", made(func(e *mcsv1beta1.ServiceImport) { delete(e.Labels, "atoll.dev/managed-by") })},
		{"an entry that can't be deleted", "must not have finalizers", made(func(e *mcsv1beta1.ServiceImport) { e.Finalizers = []string{"example.org/keep"} })},
		{"an entry with an owner", "owner references", made(func(e *mcsv1beta1.ServiceImport) {
			e.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "y"}}
		})},
		{"an entry with an address", "or addresses", made(func(e *mcsv1beta1.ServiceImport) { e.Spec.IPs = []string{"10.1.2.3"} })},
		{"an exported label", "must not have other labels and annotations", made(func(e *mcsv1beta1.ServiceImport) { e.Labels["team"] = "a" })},
		{"an exported annotation", "must not have other labels and annotations", joined(entry, func(e *mcsv1beta1.ServiceImport) { e.Annotations["note"] = "x" })},
		{"changing another's entry", naming, joined(entry, func(e *mcsv1beta1.ServiceImport) { e.Annotations = entry.Annotations })},
		{"making another's entry something else", "a member may write only aggregated ServiceImports", joined(entry, func(e *mcsv1beta1.ServiceImport) { delete(e.Labels, "atoll.dev/managed-by") })},
		{"another's entry with an address", "or addresses", joined(entry, func(e *mcsv1beta1.ServiceImport) { e.Spec.IPs = []string{"10.1.2.3"} })},
		{"the status of another's entry", naming, func() error {
			e := entry.DeepCopy()
			e.Status.Clusters = []mcsv1beta1.ClusterStatus{{Cluster: "c2"}}
			return member.Status().Update(ctx, e)
		}()},
		{"deleting all entries", "", member.DeleteAllOf(ctx, &mcsv1beta1.ServiceImport{}, client.InNamespace(broker.DefaultNamespace))},
		{"taking over a foreign object", "a member may write only aggregated ServiceImports", joined(foreign, func(e *mcsv1beta1.ServiceImport) {
			e.Labels["multicluster.kubernetes.io/service-name"] = "foreign"
		})},
		{"deleting a foreign object", "a member may write only aggregated ServiceImports", member.Delete(ctx, foreign.DeepCopy())},
		{"an entry elsewhere", "", made(func(e *mcsv1beta1.ServiceImport) { e.Namespace = "default" })},
	} {
		expectForbidden(t, tt.what, tt.err, tt.words)
	}
	// A member can name itself in an entry, but the entry is deleted soon.
	create2 := objects.Entry(ns, "made", "c2", "c2")
	if err := member.Create(ctx, create2); err != nil {
		t.Fatalf("creating an entry that names the member: %v", err)
	}
	create2.Status.Clusters = []mcsv1beta1.ClusterStatus{{Cluster: "c1"}, {Cluster: "c2"}}
	if err := member.Status().Update(ctx, create2); err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("a status that names other clusters than the entry: %v", err)
	}
	if err := joined(entry, func(e *mcsv1beta1.ServiceImport) { e.Spec.Ports = []mcsv1beta1.ServicePort{} }); err != nil {
		t.Fatalf("joining an entry: %v", err)
	}
	expectGone(t, lab.Broker, create2)
	expectPorts(t, ns, "web", 80)
	if entry = expectAggregate(t, ns, "web", "c1"); entry.Annotations["atoll.dev/clusters"] != "c1" {
		t.Errorf("the entry still names %v", entry.Annotations)
	}
	// A member can delete another's entry, but the exporter creates the entry again.
	if err := member.Delete(ctx, entry); err != nil {
		t.Fatalf("deleting another's entry: %v", err)
	}
	uid := entry.UID
	planes.Until(t, "the entry is created again", on[lab.Broker], entry, func() error {
		if entry.UID == uid {
			return errors.New("it is the old one")
		}
		return nil
	})
}
