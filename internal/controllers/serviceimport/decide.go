package serviceimport

import (
	"maps"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/local"
	"github.com/atoll-mcs/atoll/internal/merge"
	"github.com/atoll-mcs/atoll/internal/names"
)

// Managed tells whether a ServiceImport is one of Atoll's.
func Managed(imp *mcsv1beta1.ServiceImport) bool {
	return imp.Labels[names.LabelManagedBy] == names.AgentManager
}

// want is the ServiceImport that a resolution amounts to in a cluster with the given
// Service network.
func want(service types.NamespacedName, resolution merge.Resolution, network local.ServiceNetwork) *mcsv1beta1.ServiceImport {
	imp := &mcsv1beta1.ServiceImport{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   service.Namespace,
			Name:        service.Name,
			Labels:      exported(resolution.Labels, validLabel),
			Annotations: exported(resolution.Annotations, validAnnotation),
		},
		Spec: resolution.Spec,
		Status: mcsv1beta1.ServiceImportStatus{
			EndpointSliceObjects: mcsv1beta1.EndpointSliceObjectsPresent,
		},
	}
	imp.Labels[names.LabelManagedBy] = names.AgentManager
	imp.Spec.IPFamilies = network.Supported(resolution.Spec.IPFamilies)
	if len(imp.Spec.IPFamilies) == 0 { // nothing of it can be used here
		imp.Status.EndpointSliceObjects = mcsv1beta1.EndpointSliceObjectsAbsent
	}
	if imp.Spec.Ports == nil {
		imp.Spec.Ports = []mcsv1beta1.ServicePort{} // required by the API, if empty
	}
	for _, cluster := range resolution.Clusters {
		imp.Status.Clusters = append(imp.Status.Clusters, mcsv1beta1.ClusterStatus{Cluster: cluster})
	}
	return imp
}

// exported copies exported labels or annotations without those that have a meaning
// to the controllers themselves: nobody may set these from elsewhere. What the API server
// would refuse is left out too: an exporter that lets it pass must not stop the others.
func exported(from map[string]string, valid func(key, value string) bool) map[string]string {
	kept := maps.Clone(from)
	if kept == nil {
		kept = map[string]string{}
	}
	maps.DeleteFunc(kept, func(key, value string) bool {
		prefix, _, _ := strings.Cut(key, "/")
		return prefix == "atoll.dev" || prefix == "multicluster.kubernetes.io" || !valid(key, value)
	})
	return kept
}

func validLabel(key, value string) bool {
	return len(validation.IsQualifiedName(key))+len(validation.IsValidLabelValue(value)) == 0
}

// maxAnnotation keeps some annotations of this length together below the API's limit of
// 256 KiB.
const maxAnnotation = 64 << 10

func validAnnotation(key, value string) bool {
	return len(validation.IsQualifiedName(strings.ToLower(key))) == 0 && len(value) <= maxAnnotation
}

// keepOthers copies into want what other controllers own of the import.
func keepOthers(have, want *mcsv1beta1.ServiceImport) {
	want.Spec.IPs = have.Spec.IPs
	for _, key := range []string{names.AnnotationDerivedService, names.AnnotationClustersetIPs} {
		if value, ok := have.Annotations[key]; ok {
			want.Annotations[key] = value
		}
	}
}
