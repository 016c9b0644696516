package catalogue

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/merge"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Writer returns the cluster that keeps a service's entry: the first exporter in precedence order that is in members.
// If no cluster exports the service, it is the first cluster of the entry, or else the first member. It returns "" if
// there is none.
func Writer(exports []merge.Export, have *mcsv1beta1.ServiceImport, members []names.ClusterID) names.ClusterID {
	candidates := merge.Precedence(exports)
	if len(exports) == 0 && have != nil {
		candidates = Clusters(have)
		for _, m := range members {
			candidates = append(candidates, m.String())
		}
	}
	for _, id := range candidates {
		if slices.Contains(members, names.ClusterID(id)) {
			return names.ClusterID(id)
		}
	}
	return ""
}

// Clusters returns the clusters that an entry names.
func Clusters(imp *mcsv1beta1.ServiceImport) []string {
	list := imp.Annotations[names.AnnotationClusters]
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}

// Want returns the entry for a service's exports. It does not name its writer, so two members that write at once write
// the same. It omits exported labels and annotations, because controllers of the broker's cluster could act on them.
func Want(broker string, service types.NamespacedName, exports []merge.Export) *mcsv1beta1.ServiceImport {
	resolution := merge.Resolve(exports)
	imp := &mcsv1beta1.ServiceImport{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: broker,
			Name:      names.CatalogueEntry(service.Namespace, service.Name),
			Labels: map[string]string{
				names.LabelManagedBy:        names.AggregateManager,
				names.LabelServiceNamespace: service.Namespace,
				names.LabelServiceName:      service.Name,
				names.LabelClusters:         names.ClustersLabel(resolution.Clusters),
			},
			Annotations: map[string]string{names.AnnotationClusters: strings.Join(resolution.Clusters, ",")},
		},
		Spec: resolution.Spec,
	}
	if imp.Spec.Ports == nil {
		imp.Spec.Ports = []mcsv1beta1.ServicePort{} // required by the API, even if empty
	}
	for _, cluster := range resolution.Clusters {
		imp.Status.Clusters = append(imp.Status.Clusters, mcsv1beta1.ClusterStatus{Cluster: cluster})
	}
	return imp
}
