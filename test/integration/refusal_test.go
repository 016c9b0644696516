package integration

import (
	"fmt"
	"strings"
	"testing"

	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/test/objects"
)

// refuse annotates a namespace as its owner does, "" for no annotation.
func refuse(t *testing.T, cluster, namespace, value string) {
	t.Helper()
	text := "null"
	if value != "" {
		text = fmt.Sprintf("%q", value)
	}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"atoll.dev/refuse-imports":%s}}}`, text)
	noError(t, on[cluster].Patch(t.Context(), objects.Namespace(namespace), client.RawPatch(types.MergePatchType, patch)))
}

// expectNamespaceEvent waits for an Event on a namespace whose note has these words.
func expectNamespaceEvent(t *testing.T, cluster, namespace, reason, words string) {
	t.Helper()
	eventually(t, "Event "+reason, func() error {
		events := &eventsv1.EventList{}
		if err := on[cluster].List(t.Context(), events, client.InNamespace(namespace)); err != nil {
			return err
		}
		for _, e := range events.Items {
			if e.Reason == reason && e.Regarding.Kind == "Namespace" && strings.Contains(e.Note, words) {
				return nil
			}
		}
		return fmt.Errorf("there are %d others", len(events.Items))
	})
}

// The owner of an importing namespace refuses clusters at any time: what these export is as if it were not exported to this
// cluster, and comes back when he takes that back. The other clusters, and the conflicts that they state, do not change.
func TestOwnerRefusesImports(t *testing.T) {
	const ns = "refusing"
	namespace(t, ns, "c1", "c2")
	web := types.NamespacedName{Namespace: ns, Name: "web"}
	exports := map[string]*mcsv1beta1.ServiceExport{}
	for i, cluster := range []string{"c1", "c2"} {
		s := service(ns, "web", int32(80+i)) // each has a port that the other has not
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
	ports := func(n int, clusters ...string) func(*mcsv1beta1.ServiceImport) error {
		return func(imp *mcsv1beta1.ServiceImport) error {
			if len(imp.Spec.Ports) != n {
				return fmt.Errorf("ports %v", imp.Spec.Ports)
			}
			return from(clusters...)(imp)
		}
	}
	before := expectImport(t, "c2", ns, "web", ports(2, "c1", "c2"))
	expectAddresses(t, "c2", ns, "c1/10.1.1.1", "c2/10.2.1.1")
	conflict := expectCondition(t, "c2", exports["c2"], "Conflict", metav1.ConditionTrue, "PortConflict")

	refuse(t, "c2", ns, "c9, c1")
	imp := expectImport(t, "c2", ns, "web", ports(1, "c2"))
	expectAddresses(t, "c2", ns, "c2/10.2.1.1")
	if imp.Spec.IPs[0] != before.Spec.IPs[0] {
		t.Errorf("the clusterset IP became %s", imp.Spec.IPs[0])
	}
	eventually(t, "the import says so", func() error {
		if err := on["c2"].Get(t.Context(), web, imp); err != nil {
			return err
		}
		ready := meta.FindStatusCondition(imp.Status.Conditions, "Ready")
		if ready == nil || !strings.Contains(ready.Message, `Nothing is imported from "c1": namespace refusing refuses its exports (annotation atoll.dev/refuse-imports).`) {
			return fmt.Errorf("it says %+v", ready)
		}
		return nil
	})
	expectImport(t, "c1", ns, "web", ports(2, "c1", "c2"))
	if now := expectCondition(t, "c2", exports["c2"], "Conflict", metav1.ConditionTrue, "PortConflict"); now.Message != conflict.Message {
		t.Errorf("the conflict became %q", now.Message)
	}

	refuse(t, "c2", ns, "*")
	remove(t, "c2", exports["c2"])
	expectGone(t, "c2", objects.Import(ns, "web"))
	expectAddresses(t, "c2", ns)
	expectNamespaceEvent(t, "c2", ns, "RefusedByNamespace", `Cluster "c1" exports web, which is not imported`)

	refuse(t, "c2", ns, "")
	expectImport(t, "c2", ns, "web", ports(1, "c1"))
	expectAddresses(t, "c2", ns, "c1/10.1.1.1")

	// What can be read of a mistake holds, and the rest is said.
	refuse(t, "c2", ns, "C_1,c1,")
	expectGone(t, "c2", objects.Import(ns, "web"))
	expectNamespaceEvent(t, "c2", ns, "MalformedRefusal", `"C_1" is no cluster id, an entry is empty`)
	refuse(t, "c2", ns, "C_1")
	expectImport(t, "c2", ns, "web", ports(1, "c1"))
}
