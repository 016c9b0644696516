package kit

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/atoll-mcs/atoll/internal/mcs/contribution"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// StripService leaves of a Service in a cache what a contribution is made of. Derived
// Services, which are written back, stay as they are.
func StripService(object any) (any, error) {
	service, ok := object.(*corev1.Service)
	if !ok {
		return object, nil // a note that one was deleted
	}
	service.ManagedFields = nil
	if contribution.IsDerived(service) || service.Labels[names.LabelManagedBy] != "" {
		return object, nil
	}
	service.ObjectMeta = identity(&service.ObjectMeta)
	service.Status = corev1.ServiceStatus{}
	service.Spec.Selector, service.Spec.ExternalIPs = nil, nil // the source ranges are of use to the hub
	return object, nil
}

// StripNamespace leaves of a Namespace in a cache that it is there, and from whom it may have imports.
func StripNamespace(object any) (any, error) {
	namespace, ok := object.(*corev1.Namespace)
	if !ok {
		return object, nil
	}
	exports, labelled := namespace.Labels[names.LabelExports]
	refuses, annotated := namespace.Annotations[names.AnnotationRefuseImports]
	namespace.ObjectMeta = identity(&namespace.ObjectMeta)
	if labelled {
		namespace.Labels = map[string]string{names.LabelExports: exports}
	}
	if annotated {
		namespace.Annotations = map[string]string{names.AnnotationRefuseImports: refuses}
	}
	namespace.Spec, namespace.Status = corev1.NamespaceSpec{}, corev1.NamespaceStatus{}
	return object, nil
}

// identity is what every object needs that is not written.
func identity(meta *metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: meta.Namespace, Name: meta.Name, UID: meta.UID,
		ResourceVersion: meta.ResourceVersion, Generation: meta.Generation,
		CreationTimestamp: meta.CreationTimestamp, DeletionTimestamp: meta.DeletionTimestamp,
		OwnerReferences: meta.OwnerReferences,
	}
}
