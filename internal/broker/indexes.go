package broker

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/informers"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Indexes of objects on the broker.
const (
	// byService is by the service, in the member clusters, that they belong to.
	byService = "service"
	// byNamespace is by these services' namespace.
	byNamespace = "namespace"
	// byCluster is by service and source cluster.
	byCluster = "cluster"
	// bySource is by service, source cluster and the name that a slice has there.
	bySource = "source"
)

func indexExports(object any) ([]string, error) {
	e := object.(*brokerv1alpha1.ExportedService)
	if e.Spec.ServiceName == "" { // refused as a whole
		return nil, nil
	}
	return []string{key(e.Spec.ServiceNamespace, e.Spec.ServiceName)}, nil
}

func indexNamespaces(object any) ([]string, error) {
	e := object.(*brokerv1alpha1.ExportedService)
	if e.Spec.ServiceName == "" {
		return nil, nil
	}
	return []string{e.Spec.ServiceNamespace}, nil
}

// The following take what they go by from labels and annotations.

func indexLabels(object any) ([]string, error) {
	return []string{labelKey(object)}, nil
}

func indexCluster(object any) ([]string, error) {
	return []string{key(labelKey(object), object.(metav1.Object).GetLabels()[names.LabelSourceCluster])}, nil
}

func indexSource(object any) ([]string, error) {
	o := object.(metav1.Object)
	return []string{key(labelKey(object), o.GetLabels()[names.LabelSourceCluster], o.GetAnnotations()[names.AnnotationSourceSlice])}, nil
}

func labelKey(object any) string {
	labels := object.(metav1.Object).GetLabels()
	return key(labels[names.LabelServiceNamespace], labels[names.LabelServiceName])
}

// key joins what an index is by. Slashes are in none of it.
func key(first string, rest ...string) string {
	for _, r := range rest {
		first += "/" + r
	}
	return first
}

func serviceKey(service types.NamespacedName) string { return key(service.Namespace, service.Name) }

func splitKey(key string) types.NamespacedName {
	namespace, name, _ := cache.SplitMetaNamespaceKey(key)
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// indexed returns the informer's objects of a service.
func indexed[T any](informer cache.SharedIndexInformer, service types.NamespacedName) []T {
	return informers.Indexed[T](informer, byService, serviceKey(service))
}

func notEqual(key, value string) labels.Requirement {
	requirement, err := labels.NewRequirement(key, selection.NotEquals, []string{value})
	if err != nil {
		panic(err) // keys are constants, and values are cluster ids, which are label values
	}
	return *requirement
}
