package serviceimport

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/agent/local"
	"github.com/atoll-mcs/atoll/internal/mcs/derived"
	"github.com/atoll-mcs/atoll/internal/mcs/merge"
	"github.com/atoll-mcs/atoll/internal/mcs/metadata"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// want returns the ServiceImport for a resolution. It keeps the fields of have that others own; have is empty for a new
// import. services are the existing derived Services; the key is true for the headless one.
func want(have *mcsv1beta1.ServiceImport, service types.NamespacedName, resolution merge.Resolution, network local.ServiceNetwork, services map[bool]*corev1.Service) *mcsv1beta1.ServiceImport {
	imp := &mcsv1beta1.ServiceImport{
		ObjectMeta: metav1.ObjectMeta{Namespace: service.Namespace, Name: service.Name, Labels: have.Labels, Annotations: have.Annotations},
		Spec:       resolution.Spec,
	}
	metadata.Apply(&imp.ObjectMeta, resolution.Exported())
	imp.Labels[names.LabelManagedBy] = names.AgentManager
	imp.Spec.IPFamilies = network.Supported(resolution.Spec.IPFamilies)
	if imp.Spec.Ports == nil {
		imp.Spec.Ports = []mcsv1beta1.ServicePort{} // required by the API, even if empty
	}
	if !hasService(imp) {
		delete(imp.Annotations, names.AnnotationDerivedService)
		return imp
	}
	headless := imp.Spec.Type == mcsv1beta1.Headless
	if !headless {
		imp.Spec.IPs = have.Spec.IPs // the Service is about to be re-created with these
	}
	if !slices.Contains(names.DerivedServices(service.Name, headless), imp.Annotations[names.AnnotationDerivedService]) {
		delete(imp.Annotations, names.AnnotationDerivedService) // the type has changed
	}
	if s := services[headless]; s != nil && !derived.MustReplace(s, headless) {
		imp.Spec.IPs = derived.ClustersetIPs(s, imp.Spec.IPFamilies)
		imp.Annotations[names.AnnotationDerivedService] = s.Name
	}
	return imp
}

// added returns have with only the additions of want: some exports are unknown, so nothing may be removed.
func added(have, want *mcsv1beta1.ServiceImport) *mcsv1beta1.ServiceImport {
	kept := have.DeepCopy()
	for _, port := range want.Spec.Ports {
		if !slices.ContainsFunc(kept.Spec.Ports, func(p mcsv1beta1.ServicePort) bool {
			return p.Name == port.Name || p.Port == port.Port && p.Protocol == port.Protocol
		}) {
			kept.Spec.Ports = append(kept.Spec.Ports, port)
		}
	}
	if kept.Spec.Type == want.Spec.Type {
		kept.Spec.IPs = want.Spec.IPs
		kept.Annotations[names.AnnotationDerivedService] = want.Annotations[names.AnnotationDerivedService]
	}
	return kept
}

// applied formats the revisions of the merged exports. Of awaited clusters, the last ones stay.
func applied(exported local.Exported, last map[names.ClusterID]int64) string {
	revisions := maps.Clone(exported.Revisions)
	for _, id := range exported.Awaited {
		revisions[id] = last[id]
	}
	var all []string
	for _, id := range slices.Sorted(maps.Keys(revisions)) {
		all = append(all, fmt.Sprintf("%s=%d", id, revisions[id]))
	}
	return strings.Join(all, ",")
}

// hasService reports whether an import has a derived Service: it needs a port, and an IP family of this cluster.
func hasService(imp *mcsv1beta1.ServiceImport) bool {
	return len(imp.Spec.IPFamilies) > 0 && !derived.Portless(imp)
}
