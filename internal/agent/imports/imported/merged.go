package imported

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/agent/inputs"
	"github.com/atoll-mcs/atoll/internal/agent/local"
	"github.com/atoll-mcs/atoll/internal/mcs/derived"
	"github.com/atoll-mcs/atoll/internal/mcs/merge"
	"github.com/atoll-mcs/atoll/internal/mcs/metadata"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Current reads the exports of an import's service, and returns the import as they merge to it. Services and slices are written
// from it, not from the ServiceImport, which people and tools can edit. While the exports are unknown, or have ended, the
// ServiceImport counts as it is.
func Current(ctx context.Context, c *inputs.Cluster, have *mcsv1beta1.ServiceImport) (*mcsv1beta1.ServiceImport, local.Exported, error) {
	exported, err := c.Exports(ctx, client.ObjectKeyFromObject(have))
	if err != nil || !c.View.Known() || len(exported.Imported) == 0 {
		return have, exported, err
	}
	imp := Merged(have, client.ObjectKeyFromObject(have), exported, c.Network, nil)
	imp.UID, imp.CreationTimestamp = have.UID, have.CreationTimestamp
	return imp, exported, nil
}

// Merged returns the ServiceImport that the exports of a service merge to. While exports are unknown, an existing one only gets
// additions. have is empty for a new import; services are the existing derived Services; the key is true for the headless one.
func Merged(have *mcsv1beta1.ServiceImport, service types.NamespacedName, exported local.Exported, network local.ServiceNetwork, services map[bool]*corev1.Service) *mcsv1beta1.ServiceImport {
	want := want(have, service, merge.Resolve(exported.Imported), network, services)
	if len(exported.Awaited) > 0 && have.UID != "" {
		want = added(have, want)
	}
	return want
}

// want returns the ServiceImport for a resolution. It keeps the fields of have that others own.
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
		if have.Annotations[names.AnnotationApplied] == "" {
			imp.Spec.IPs = nil // those of an adopted import are not Atoll's
		}
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
		if service, found := want.Annotations[names.AnnotationDerivedService]; found {
			kept.Annotations[names.AnnotationDerivedService] = service
		}
	}
	return kept
}

// hasService reports whether an import has a derived Service: it needs a port, and an IP family of this cluster.
func hasService(imp *mcsv1beta1.ServiceImport) bool {
	return len(imp.Spec.IPFamilies) > 0 && !derived.Portless(imp)
}
