package kit

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/atoll-mcs/atoll/internal/mcs/contribution"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// StripService reduces a cached Service to the fields of a contribution. Derived Services are written back, so they
// stay whole.
func StripService(object any) (any, error) {
	service, ok := object.(*corev1.Service)
	if !ok {
		return object, nil // a tombstone (cache.DeletedFinalStateUnknown)
	}
	service.ManagedFields = nil
	if contribution.IsDerived(service) || service.Labels[names.LabelManagedBy] != "" {
		return object, nil
	}
	service.ObjectMeta = identity(&service.ObjectMeta)
	service.Status = corev1.ServiceStatus{}
	service.Spec.Selector, service.Spec.ExternalIPs = nil, nil // the hub uses the source ranges
	return object, nil
}

// StripNamespace reduces a cached Namespace to its identity and its import settings.
func StripNamespace(object any) (any, error) {
	namespace, ok := object.(*corev1.Namespace)
	if !ok {
		return object, nil
	}
	exports, labelled := namespace.Labels[names.LabelExports]
	annotations := namespace.Annotations
	namespace.ObjectMeta = identity(&namespace.ObjectMeta)
	if labelled {
		namespace.Labels = map[string]string{names.LabelExports: exports}
	}
	for _, key := range []string{names.AnnotationRefuseImports, names.AnnotationServiceMetadata, names.AnnotationDrained, names.AnnotationAcceptWeights} {
		if value, found := annotations[key]; found {
			metav1.SetMetaDataAnnotation(&namespace.ObjectMeta, key, value)
		}
	}
	namespace.Spec, namespace.Status = corev1.NamespaceSpec{}, corev1.NamespaceStatus{}
	return object, nil
}

// identity is the metadata that every cached, read-only object needs.
func identity(meta *metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: meta.Namespace, Name: meta.Name, UID: meta.UID,
		ResourceVersion: meta.ResourceVersion, Generation: meta.Generation,
		CreationTimestamp: meta.CreationTimestamp, DeletionTimestamp: meta.DeletionTimestamp,
		OwnerReferences: meta.OwnerReferences,
	}
}
