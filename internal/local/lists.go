package local

import (
	"context"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// SliceIndex is the name of the cache index of imported EndpointSlices: by their
// multi-cluster service, with and without their source cluster, and with the slice there
// that they were made from.
const SliceIndex = "atoll-service"

// IndexSlice is the function of SliceIndex.
func IndexSlice(object client.Object) []string {
	labels := object.GetLabels()
	service, cluster := labels[names.LabelServiceName], names.ClusterID(labels[names.LabelSourceCluster])
	keys := []string{importedKey(service, ""), importedKey(service, cluster)}
	if source := object.GetAnnotations()[names.AnnotationSourceSlice]; source != "" {
		keys = append(keys, sourceKey(service, cluster, source))
	}
	return keys
}

func importedKey(service string, cluster names.ClusterID) string {
	return service + "/" + cluster.String()
}

func sourceKey(service string, cluster names.ClusterID, source string) string {
	return importedKey(service, cluster) + "/" + source
}

// ImportedSlices returns the EndpointSlices that Atoll keeps for an imported service
// and one source cluster.
func ImportedSlices(ctx context.Context, r client.Reader, service types.NamespacedName, cluster names.ClusterID) ([]*discoveryv1.EndpointSlice, error) {
	return listSlices(ctx, r, service.Namespace, importedKey(service.Name, cluster))
}

// ImportedFrom returns those of them that were made from one slice of the source cluster's.
func ImportedFrom(ctx context.Context, r client.Reader, service types.NamespacedName, cluster names.ClusterID, source string) ([]*discoveryv1.EndpointSlice, error) {
	return listSlices(ctx, r, service.Namespace, sourceKey(service.Name, cluster, source))
}

// allImportedSlices returns those that Atoll keeps for an imported service, of all
// source clusters.
func allImportedSlices(ctx context.Context, r client.Reader, service types.NamespacedName) ([]*discoveryv1.EndpointSlice, error) {
	return listSlices(ctx, r, service.Namespace, importedKey(service.Name, ""))
}

// SourceClusters returns the source clusters of which there are imported slices of a
// service.
func SourceClusters(ctx context.Context, r client.Reader, service types.NamespacedName) ([]names.ClusterID, error) {
	imported, err := allImportedSlices(ctx, r, service)
	if err != nil {
		return nil, err
	}
	var clusters []names.ClusterID
	for _, s := range imported {
		if id := names.ClusterID(s.Labels[names.LabelSourceCluster]); !slices.Contains(clusters, id) {
			clusters = append(clusters, id)
		}
	}
	return clusters, nil
}

// ImportedFromCluster returns the EndpointSlices that Atoll keeps for one source cluster.
func ImportedFromCluster(ctx context.Context, r client.Reader, cluster names.ClusterID) ([]*discoveryv1.EndpointSlice, error) {
	return slicesOf(ctx, r, client.MatchingLabels{names.LabelSourceCluster: cluster.String()})
}

func listSlices(ctx context.Context, r client.Reader, namespace, key string) ([]*discoveryv1.EndpointSlice, error) {
	return slicesOf(ctx, r, client.InNamespace(namespace), client.MatchingFields{SliceIndex: key})
}

func slicesOf(ctx context.Context, r client.Reader, opts ...client.ListOption) ([]*discoveryv1.EndpointSlice, error) {
	list := &discoveryv1.EndpointSliceList{}
	if err := r.List(ctx, list, append(opts, client.UnsafeDisableDeepCopy)...); err != nil {
		return nil, err
	}
	found := make([]*discoveryv1.EndpointSlice, 0, len(list.Items))
	for i := range list.Items {
		found = append(found, &list.Items[i])
	}
	return found, nil
}

// ServiceExports returns a request for every ServiceExport that opts select.
func ServiceExports(ctx context.Context, r client.Reader, opts ...client.ListOption) ([]reconcile.Request, error) {
	exports := &mcsv1beta1.ServiceExportList{}
	if err := r.List(ctx, exports, append(opts, client.UnsafeDisableDeepCopy)...); err != nil {
		return nil, err
	}
	requests := make([]reconcile.Request, 0, len(exports.Items))
	for i := range exports.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&exports.Items[i])})
	}
	return requests, nil
}

// ServiceImports returns a request for every ServiceImport that opts select.
func ServiceImports(ctx context.Context, r client.Reader, opts ...client.ListOption) ([]reconcile.Request, error) {
	imports := &mcsv1beta1.ServiceImportList{}
	if err := r.List(ctx, imports, append(opts, client.UnsafeDisableDeepCopy)...); err != nil {
		return nil, err
	}
	requests := make([]reconcile.Request, 0, len(imports.Items))
	for i := range imports.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&imports.Items[i])})
	}
	return requests, nil
}

// ImportedServices returns the services that this cluster has imported, by the clusters that it
// has imported them from.
func ImportedServices(ctx context.Context, r client.Reader) (map[names.ClusterID][]types.NamespacedName, error) {
	imports := &mcsv1beta1.ServiceImportList{}
	if err := r.List(ctx, imports, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	imported := map[names.ClusterID][]types.NamespacedName{}
	for i := range imports.Items {
		imp := &imports.Items[i]
		if !Managed(imp) {
			continue
		}
		for _, c := range imp.Status.Clusters {
			imported[names.ClusterID(c.Cluster)] = append(imported[names.ClusterID(c.Cluster)], client.ObjectKeyFromObject(imp))
		}
	}
	return imported, nil
}

// Managed tells whether a ServiceImport is one of Atoll's.
func Managed(imp *mcsv1beta1.ServiceImport) bool {
	return imp.Labels[names.LabelManagedBy] == names.AgentManager
}
