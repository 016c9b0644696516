package integration

import (
	"encoding/json"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// ofImport returns the derived Service and the imported slices of web in c2.
func ofImport(t *testing.T, ns string) (all []client.Object) {
	t.Helper()
	imp := objects.Import(ns, "web")
	planes.Read(t, on["c2"], imp)
	derived := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: imp.Annotations[names.AnnotationDerivedService]}}
	planes.Read(t, on["c2"], derived)
	all = append(all, derived)
	for _, s := range slicesOf(t, "c2", ns) {
		all = append(all, s.DeepCopy())
	}
	return all
}

// A GitOps tool that applies other ports to a ServiceImport, again and again, does not reach the derived Service and the
// imported slices: they follow the exports. The agent reverts each edit.
func TestEditsOfAnImportDoNotReachTraffic(t *testing.T) {
	const ns = "gitops-ports"
	namespace(t, ns, "c1", "c2")
	share(t, "c1", ns, "web", "10.1.1.1")
	imp := expectImport(t, "c2", ns, "web", from("c1"))
	expectAddresses(t, "c2", ns, "c1/10.1.1.1")
	before, want := ofImport(t, ns), imp.Spec.Ports
	for port := range int32(10) {
		applied := objects.Import(ns, "web")
		applied.TypeMeta = metav1.TypeMeta{APIVersion: mcsv1beta1.GroupVersion.String(), Kind: "ServiceImport"}
		applied.Spec = mcsv1beta1.ServiceImportSpec{Type: mcsv1beta1.Headless, Ports: []mcsv1beta1.ServicePort{{Name: "other", Port: 8000 + port, Protocol: corev1.ProtocolTCP}}}
		text, err := json.Marshal(applied)
		noError(t, err)
		noError(t, on["c2"].Patch(t.Context(), applied, client.RawPatch("application/apply-patch+yaml", text), client.ForceOwnership, client.FieldOwner("gitops")))
		expectImport(t, "c2", ns, "web", func(imp *mcsv1beta1.ServiceImport) error {
			if imp.Spec.Type != mcsv1beta1.ClusterSetIP || len(imp.Spec.Ports) != len(want) || imp.Spec.Ports[0].Port != want[0].Port {
				return fmt.Errorf("the spec is %+v", imp.Spec)
			}
			return nil
		})
	}
	expectUntouched(t, "c2", before...)
	// The exports still reach them.
	change(t, "c1", slice(ns, "web-x", "web"), func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Addresses = []string{"10.1.1.2"} })
	expectAddresses(t, "c2", ns, "c1/10.1.1.2")
}

// A ServiceImport of Atoll's stays Atoll's when a person removes its label, or replaces its labels and annotations. The
// Service and the slices stay meanwhile.
func TestImportWithoutLabelIsRepaired(t *testing.T) {
	const ns = "no-label"
	namespace(t, ns, "c1", "c2")
	share(t, "c1", ns, "web", "10.1.1.1")
	imp := expectImport(t, "c2", ns, "web", from("c1"))
	expectAddresses(t, "c2", ns, "c1/10.1.1.1")
	before := ofImport(t, ns)
	for name, edit := range map[string]func(*mcsv1beta1.ServiceImport){
		"the label":  func(imp *mcsv1beta1.ServiceImport) { delete(imp.Labels, names.LabelManagedBy) },
		"everything": func(imp *mcsv1beta1.ServiceImport) { imp.Labels, imp.Annotations = nil, nil },
		"the value":  func(imp *mcsv1beta1.ServiceImport) { imp.Labels[names.LabelManagedBy] = "another" },
	} {
		change(t, "c2", imp, edit)
		expectImport(t, "c2", ns, "web", func(imp *mcsv1beta1.ServiceImport) error {
			if imp.Labels[names.LabelManagedBy] != names.AgentManager || imp.Annotations[names.AnnotationApplied] == "" {
				return fmt.Errorf("without %s: labels %v, annotations %v", name, imp.Labels, imp.Annotations)
			}
			return hasIP(imp)
		})
	}
	for _, o := range before {
		uid := o.GetUID()
		planes.Read(t, on["c2"], o)
		if o.GetDeletionTimestamp() != nil || o.GetUID() != uid {
			t.Errorf("%T %s was deleted", o, o.GetName())
		}
	}
	expectAddresses(t, "c2", ns, "c1/10.1.1.1")
	change(t, "c1", slice(ns, "web-x", "web"), func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Addresses = []string{"10.1.1.2"} })
	expectAddresses(t, "c2", ns, "c1/10.1.1.2")
}

// The agent adopts a ServiceImport that a person or a GitOps tool keeps beside a ServiceExport. It does not adopt one of
// another implementation, and says so in the condition of this cluster's export.
func TestImportsOfPeopleAreAdopted(t *testing.T) {
	const ns = "adopted"
	namespace(t, ns, "c1", "c2")
	described, theirs := objects.Import(ns, "web"), objects.Import(ns, "db")
	described.Labels = map[string]string{"app.kubernetes.io/instance": "shop"}
	described.Spec.Ports = []mcsv1beta1.ServicePort{{Name: "http", Port: 8080, Protocol: corev1.ProtocolTCP}}
	theirs.Labels = map[string]string{"lighthouse.submariner.io/sourceCluster": "c9"}
	create(t, "c2", described, theirs)
	version := theirs.ResourceVersion
	share(t, "c1", ns, "web", "10.1.1.1")
	share(t, "c2", ns, "db", "10.2.1.1")
	imp := expectImport(t, "c2", ns, "web", from("c1"))
	if imp.UID != described.UID || imp.Labels["app.kubernetes.io/instance"] != "shop" {
		t.Errorf("it became %+v", imp)
	}
	expectAddresses(t, "c2", ns, "c1/10.1.1.1")
	planes.Condition(t, on["c2"], export(ns, "db"), "Ready", "True/Exported", "another tool or person created ServiceImport db")
	expectSaid(t, "c2", ns, "ServiceImport", "ForeignServiceImport", 1)
	expectImport(t, "c1", ns, "db", from("c2"))
	planes.Read(t, on["c2"], theirs)
	if theirs.ResourceVersion != version {
		t.Errorf("the agent has written %+v", theirs)
	}
}
