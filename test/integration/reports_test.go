package integration

import (
	"fmt"
	"maps"
	"strings"
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

// The agent reports an obstacle to an export or import once, whatever happens to the service
// afterwards.
func TestReportsAreMadeOnce(t *testing.T) {
	const ns = "once"
	namespace(t, ns, "c1", "c2")
	create(t, "c2", service(ns, "web-clusterset", 1)) // the name of the derived Service
	fqdn := slice(ns, "web-fqdn", "web", "example.org")
	fqdn.AddressType = discoveryv1.AddressTypeFQDN
	create(t, "c1", fqdn)
	foreign := objects.Import(ns, "theirs")
	foreign.Labels = map[string]string{"lighthouse.submariner.io/sourceCluster": "c9"} // else the agent adopts it
	create(t, "c2", foreign)
	web, theirs, pods := service(ns, "web", 80), service(ns, "theirs", 80), slice(ns, "web-x", "web", "10.1.1.1")
	create(t, "c1", web, theirs, pods)
	// No cluster exports the service with that name, so there is no obstacle.
	e := export(ns, "web")
	create(t, "c1", e)
	expectImport(t, "c2", ns, "web", from("c1"))
	expectSaid(t, "c2", ns, "ServiceImport", "ForeignServiceImport", 0)
	create(t, "c1", export(ns, "theirs"))

	expectAll := func() {
		t.Helper()
		expectSaid(t, "c1", ns, "ServiceExport", "UnsupportedAddressType", 1)
		expectSaid(t, "c2", ns, "ServiceImport", "NameTaken", 1)
		expectSaid(t, "c2", ns, "ServiceImport", "ForeignServiceImport", 1)
	}
	expectAll()
	for i := range 3 {
		change(t, "c1", pods, func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Addresses = []string{fmt.Sprintf("10.1.1.%d", 2+i)} })
		expectAddresses(t, "c2", ns, fmt.Sprintf("c1/10.1.1.%d", 2+i))
		for _, s := range []*corev1.Service{web, theirs} {
			setPorts(t, "c1", s, int32(90+i))
		}
		expectImport(t, "c2", ns, "web", withPorts(from("c1"), int32(90+i)))
	}
	expectAll()
	planes.Condition(t, on["c1"], e, "Ready", "True/Exported", "EndpointSlice web-fqdn is not exported")
	// The obstacle disappears: the condition does not mention it. It appears again: the
	// condition does.
	remove(t, "c1", fqdn)
	saysNoMore(t, e, "web-fqdn")
	expectUntouched(t, "c2", foreign)
	remove(t, "c2", foreign)
	expectImport(t, "c2", ns, "theirs", from("c1"))
}

// If all names for a derived Service are taken, a condition names them.
func TestAllNamesTaken(t *testing.T) {
	const ns = "all-taken"
	namespace(t, ns, "c1", "c2")
	var theirs []client.Object
	all := names.DerivedServices("web", false)
	for _, name := range all {
		theirs = append(theirs, service(ns, name, 1))
	}
	create(t, "c2", theirs...)
	create(t, "c1", service(ns, "web", 80), export(ns, "web"))
	planes.Condition(t, on["c2"], objects.Import(ns, "web"), "Ready", "Unknown/Pending", "delete or rename the existing object")
	expectImport(t, "c2", ns, "web", says(all[0]))
	remove(t, "c2", theirs[len(theirs)-1])
	expectImport(t, "c2", ns, "web", from("c1"))
}

// Exported labels and annotations follow the export, on the import and on the derived Service.
// Labels and annotations of other writers stay.
func TestOthersMetadataStays(t *testing.T) {
	const ns = "metadata"
	namespace(t, ns, "c1", "c2")
	change(t, "c2", &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, func(n *corev1.Namespace) {
		metav1.SetMetaDataAnnotation(&n.ObjectMeta, names.AnnotationServiceMetadata, "*") // without it, derived Services get none
	})
	create(t, "c1", service(ns, "web", 80))
	e := export(ns, "web")
	e.Spec.ExportedLabels = map[string]string{"team": "a", "tier": "web", "service.kubernetes.io/service-proxy-name": "none"}
	e.Spec.ExportedAnnotations = map[string]string{"doc": "here"}
	create(t, "c1", e)
	imp := expectImport(t, "c2", ns, "web", from("c1"))
	derived := service(ns, "web-clusterset")
	expectMetadata := func(labels, annotations map[string]string) {
		t.Helper()
		for _, object := range []client.Object{imp, derived} {
			planes.Until(t, fmt.Sprintf("metadata of %T", object), on["c2"], object, func() error {
				for which, both := range map[string][2]map[string]string{
					"labels": {labels, object.GetLabels()}, "annotations": {annotations, object.GetAnnotations()},
				} {
					have := maps.Clone(both[1])
					maps.DeleteFunc(have, func(key, _ string) bool {
						return strings.HasPrefix(key, "atoll.dev/") || strings.HasPrefix(key, "multicluster.kubernetes.io/")
					})
					want := maps.Clone(both[0])
					if object == client.Object(derived) {
						delete(want, "service.kubernetes.io/service-proxy-name")
					}
					if !maps.Equal(want, have) {
						return fmt.Errorf("%s %v, want %v", which, have, want)
					}
				}
				return nil
			})
		}
	}
	expectMetadata(e.Spec.ExportedLabels, e.Spec.ExportedAnnotations)

	// Another writer adds labels and annotations and changes an exported label.
	change(t, "c2", imp, func(imp *mcsv1beta1.ServiceImport) {
		imp.Labels["theirs"], imp.Labels["team"], imp.Annotations["note"] = "x", "spoilt", "y"
	})
	change(t, "c2", derived, func(s *corev1.Service) {
		s.Labels["theirs"], s.Labels["team"] = "x", "spoilt"
		s.Annotations["note"] = "y"
	})
	labels, annotations := maps.Clone(e.Spec.ExportedLabels), maps.Clone(e.Spec.ExportedAnnotations)
	labels["theirs"], annotations["note"] = "x", "y"
	expectMetadata(labels, annotations)

	// The export drops a label, changes a label and adds a label. In the end it drops all.
	change(t, "c1", e, func(e *mcsv1beta1.ServiceExport) {
		e.Spec.ExportedLabels = map[string]string{"team": "b", "new": "c"}
		e.Spec.ExportedAnnotations = nil
	})
	expectMetadata(map[string]string{"team": "b", "new": "c", "theirs": "x"}, map[string]string{"note": "y"})
	change(t, "c1", e, func(e *mcsv1beta1.ServiceExport) { e.Spec.ExportedLabels = nil })
	expectMetadata(map[string]string{"theirs": "x"}, map[string]string{"note": "y"})
	if imp = expectImport(t, "c2", ns, "web", from("c1")); imp.Annotations["atoll.dev/exported-metadata"] != "" {
		t.Errorf("the annotation for exported metadata was not removed: %v", imp.Annotations)
	}
}

// A Service whose only slices are marked as imported exports no endpoint, and the ServiceExport
// gives the reason, even if the Service had its own slices before.
func TestForeignEndpointsAreReported(t *testing.T) {
	const ns = "foreign-endpoints"
	namespace(t, ns, "c1", "c2")
	create(t, "c1", service(ns, "web", 80))
	marked, own := slice(ns, "web-marked", "web", "10.1.1.1"), slice(ns, "web-own", "web", "10.1.1.2")
	marked.Labels[names.LabelSourceCluster] = "c9"
	create(t, "c1", marked, own)
	e := export(ns, "web")
	create(t, "c1", e)
	expectAddresses(t, "c2", ns, "c1/10.1.1.2")
	expectSaid(t, "c1", ns, "ServiceExport", "ForeignEndpoints", 0)
	remove(t, "c1", own)
	expectAddresses(t, "c2", ns)
	expectSaid(t, "c1", ns, "ServiceExport", "ForeignEndpoints", 1)
	// Without the label, the slice is exported and the condition does not mention it.
	change(t, "c1", marked, func(s *discoveryv1.EndpointSlice) { delete(s.Labels, names.LabelSourceCluster) })
	expectAddresses(t, "c2", ns, "c1/10.1.1.1")
	saysNoMore(t, e, "web-marked")
}

// The real mirroring controller mirrors 1,000 addresses of an Endpoints object. The remaining
// addresses are not exported, and the ServiceExport reports this.
func TestTruncatedEndpointsAreReported(t *testing.T) {
	const ns = "truncated"
	namespace(t, ns, "c1", "c2")
	e := exportFrom(t, "c1", ns, "web", 80)
	//lint:ignore SA1019 the mirroring controller is about nothing else
	endpoints := &corev1.Endpoints{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"},
	}
	fill := func(n int) {
		//lint:ignore SA1019 as above
		endpoints.Subsets = make([]corev1.EndpointSubset, 2)
		for i := range n {
			subset := &endpoints.Subsets[i%2]
			subset.Ports = []corev1.EndpointPort{{Name: "p80", Port: 8080}}
			subset.Addresses = append(subset.Addresses, corev1.EndpointAddress{IP: fmt.Sprintf("10.1.%d.%d", i/250, 1+i%250)})
		}
	}
	fill(1100)
	create(t, "c1", endpoints)
	expectCount := func(n int) {
		t.Helper()
		eventually(t, fmt.Sprintf("%d endpoints in c2", n), func() error {
			have := 0
			for _, s := range slicesOf(t, "c2", ns) {
				have += len(s.Endpoints)
			}
			if have != n {
				return fmt.Errorf("there are %d", have)
			}
			return nil
		})
	}
	expectCount(1000)
	expectSaid(t, "c1", ns, "ServiceExport", "EndpointsTruncated", 1)
	const message = "The Endpoints object has reached the maximum of 1000 addresses that Kubernetes copies to EndpointSlices"
	planes.Condition(t, on["c1"], e, "Ready", "True/Exported", message)
	fill(900)
	noError(t, on["c1"].Update(t.Context(), endpoints))
	expectCount(900)
	saysNoMore(t, e, message)
	expectSaid(t, "c1", ns, "ServiceExport", "EndpointsTruncated", 1)
}
