package broker

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/informers"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Services returns the services of which there is any record, also of members that may not export them.
func (v *View) Services() []types.NamespacedName {
	return servicesIn(v.exports)
}

// PublishedServices returns the services of which the member has slices.
func (v *View) PublishedServices() []types.NamespacedName { return servicesIn(v.published) }

// servicesIn returns the services that an informer's objects belong to.
func servicesIn(informer cache.SharedIndexInformer) []types.NamespacedName {
	var services []types.NamespacedName
	for _, key := range informer.GetIndexer().ListIndexFuncValues(byService) {
		services = append(services, splitKey(key))
	}
	return services
}

// ExportedServices returns the services of which there is any export in a namespace.
func (v *View) ExportedServices(namespace string) []types.NamespacedName {
	found := map[types.NamespacedName]bool{}
	for _, e := range v.exportsIn(namespace) {
		found[e.Spec.Service()] = true
	}
	return slices.Collect(maps.Keys(found))
}

// ImportsFrom tells whether there is any export of another member's in a namespace.
func (v *View) ImportsFrom(namespace string) bool {
	return slices.ContainsFunc(v.exportsIn(namespace), func(e *brokerv1alpha1.ExportedService) bool { return e.Spec.ClusterID != v.Self.String() })
}

func (v *View) exportsIn(namespace string) []*brokerv1alpha1.ExportedService {
	return v.acceptedRecords(informers.Indexed[*brokerv1alpha1.ExportedService](v.exports, byNamespace, namespace))
}

// ServicesOf returns the services that a cluster exports, as far as it may.
func (v *View) ServicesOf(cluster names.ClusterID) []types.NamespacedName {
	var services []types.NamespacedName
	for _, object := range v.exports.GetStore().List() {
		if spec := object.(*brokerv1alpha1.ExportedService).Spec; spec.ClusterID == cluster.String() && v.accepts(cluster, spec.ServiceNamespace) {
			services = append(services, spec.Service())
		}
	}
	return services
}
