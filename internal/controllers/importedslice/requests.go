package importedslice

import (
	"context"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/local"
	"github.com/atoll-mcs/atoll/internal/names"
)

// partsOf maps an import to its parts: those of the exporting clusters, and those of
// which there are slices still.
func (c *Controller) partsOf(ctx context.Context, object client.Object) []Request {
	imp := object.(*mcsv1beta1.ServiceImport)
	service := client.ObjectKeyFromObject(imp)
	requests := []Request{{Service: service, Cluster: c.broker.Self}}
	for _, cluster := range imp.Status.Clusters {
		if id := names.ClusterID(cluster.Cluster); id != c.broker.Self {
			requests = append(requests, Request{Service: service, Cluster: id})
		}
	}
	left, err := local.SourceClusters(ctx, c.local, service)
	if err != nil {
		return requests // the cache is not synced yet; every slice is queued once it is
	}
	for _, id := range left {
		requests = append(requests, Request{Service: service, Cluster: id})
	}
	return requests
}

// partOfSlice maps a slice to the part that it belongs to, imported, or that it is a
// source of.
func (c *Controller) partOfSlice(_ context.Context, object client.Object) []Request {
	labels := object.GetLabels()
	if labels[discoveryv1.LabelManagedBy] == names.AgentManager {
		service := types.NamespacedName{Namespace: object.GetNamespace(), Name: labels[names.LabelServiceName]}
		return []Request{{Service: service, Cluster: names.ClusterID(labels[names.LabelSourceCluster])}}
	}
	if service := labels[discoveryv1.LabelServiceName]; service != "" {
		return []Request{{Service: types.NamespacedName{Namespace: object.GetNamespace(), Name: service}, Cluster: c.broker.Self}}
	}
	return nil
}

// ownPart maps a ServiceExport or a Service to this cluster's part.
func (c *Controller) ownPart(_ context.Context, object client.Object) []Request {
	return []Request{{Service: client.ObjectKeyFromObject(object), Cluster: c.broker.Self}}
}

func (c *Controller) allParts(ctx context.Context) ([]Request, error) {
	imports := &mcsv1beta1.ServiceImportList{}
	if err := c.local.List(ctx, imports); err != nil {
		return nil, err
	}
	var requests []Request
	for i := range imports.Items {
		requests = append(requests, c.partsOf(ctx, &imports.Items[i])...)
	}
	return requests, nil
}

// partsIn returns the parts of which there are imported slices in a namespace.
func (c *Controller) partsIn(ctx context.Context, namespace string) ([]Request, error) {
	slices := &discoveryv1.EndpointSliceList{}
	if err := c.local.List(ctx, slices, client.InNamespace(namespace),
		client.MatchingLabels{discoveryv1.LabelManagedBy: names.AgentManager}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	var requests []Request
	for i := range slices.Items {
		requests = append(requests, c.partOfSlice(ctx, &slices.Items[i])...)
	}
	return requests, nil
}
