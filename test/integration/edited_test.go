package integration

import (
	"errors"
	"fmt"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/test/planes"
)

// If a user removes the labels of an imported slice, the agent restores them and updates the
// slice again. Otherwise the slice would send traffic to deleted pods.
func TestImportedSliceIsTakenBack(t *testing.T) {
	const ns = "unmarked"
	namespace(t, ns, "c1", "c2")
	share(t, "c1", ns, "web", "10.1.1.1")
	source := slice(ns, "web-x", "web")
	expectAddresses(t, "c2", ns, "c1/10.1.1.1")
	imported := slicesOf(t, "c2", ns)[0].DeepCopy()
	uid := imported.UID
	for i, edit := range []func(map[string]string){
		func(labels map[string]string) { delete(labels, discoveryv1.LabelManagedBy) },
		func(labels map[string]string) { labels["atoll.dev/service-namespace"] = ns },
		func(labels map[string]string) { delete(labels, discoveryv1.LabelServiceName) },
	} {
		change(t, "c2", imported, func(s *discoveryv1.EndpointSlice) { edit(s.Labels) })
		address := fmt.Sprintf("10.1.1.%d", i+2)
		change(t, "c1", source, func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Addresses = []string{address} })
		planes.Until(t, "the slice is repaired", on["c2"], imported, func() error {
			labels := imported.Labels
			if labels[discoveryv1.LabelManagedBy] != "agent.atoll.dev" || labels["atoll.dev/service-namespace"] != "" || labels[discoveryv1.LabelServiceName] != "web-clusterset" {
				return fmt.Errorf("labels %v", labels)
			}
			if imported.UID != uid || imported.Endpoints[0].Addresses[0] != address {
				return fmt.Errorf("the slice has UID %s and endpoints %v", imported.UID, imported.Endpoints)
			}
			return nil
		})
	}
	// If a user edits the source cluster of a slice, the agent deletes the slice and re-creates
	// it.
	change(t, "c2", imported, func(s *discoveryv1.EndpointSlice) { s.Labels[names.LabelSourceCluster] = "c9" })
	expectAddresses(t, "c2", ns, "c1/10.1.1.4")
}

// Agents keep conditions of other controllers on a ServiceImport.
func TestOthersConditionsStay(t *testing.T) {
	const ns = "others-say"
	namespace(t, ns, "c1", "c2")
	create(t, "c1", service(ns, "web", 80), export(ns, "web"))
	imp := expectImport(t, "c2", ns, "web", from("c1"))
	before := imp.DeepCopy()
	meta.SetStatusCondition(&imp.Status.Conditions, metav1.Condition{Type: "Theirs", Status: metav1.ConditionTrue, Reason: "So"})
	noError(t, on["c2"].Status().Patch(t.Context(), imp, client.MergeFrom(before)))
	quota := limit(t, "c2", ns, "count/endpointslices.discovery.k8s.io", "0")
	create(t, "c1", slice(ns, "web-x", "web", "10.1.1.1"))
	both := func(ready metav1.ConditionStatus) func(*mcsv1beta1.ServiceImport) error {
		return func(imp *mcsv1beta1.ServiceImport) error {
			if !meta.IsStatusConditionTrue(imp.Status.Conditions, "Theirs") {
				t.Fatalf("conditions %+v", imp.Status.Conditions)
			}
			if !meta.IsStatusConditionPresentAndEqual(imp.Status.Conditions, "Ready", ready) {
				return errors.New("condition Ready is not set yet")
			}
			return nil
		}
	}
	expectImport(t, "c2", ns, "web", both(metav1.ConditionFalse))
	remove(t, "c2", quota)
	expectImport(t, "c2", ns, "web", both(metav1.ConditionTrue))
	create(t, "c2", service(ns, "web", 80), export(ns, "web"))
	expectImport(t, "c2", ns, "web", from("c1", "c2"))
	expectImport(t, "c2", ns, "web", both(metav1.ConditionTrue))
}
