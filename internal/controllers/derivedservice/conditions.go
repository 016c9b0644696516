package derivedservice

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

// ready is the condition of an import whose derived Service is there.
func ready(imp *mcsv1beta1.ServiceImport, service *corev1.Service) metav1.Condition {
	message := "The service is imported. It is headless and reached by its DNS name."
	if imp.Spec.Type != mcsv1beta1.Headless {
		message = fmt.Sprintf("The service is imported and reached at %s.", strings.Join(service.Spec.ClusterIPs, " and "))
	}
	return metav1.Condition{
		Type:    string(mcsv1beta1.ServiceImportConditionReady),
		Status:  metav1.ConditionTrue,
		Reason:  string(mcsv1beta1.ServiceImportReasonReady),
		Message: message,
	}
}

// notSupported is the condition of an import that has no IP family in common with this
// cluster.
func notSupported() metav1.Condition {
	return metav1.Condition{
		Type:    string(mcsv1beta1.ServiceImportConditionReady),
		Status:  metav1.ConditionFalse,
		Reason:  string(mcsv1beta1.ServiceImportReasonIPFamilyNotSupported),
		Message: "The service has addresses only of an IP family that this cluster's Services do not have.",
	}
}

// failed is the condition of an import whose derived Service the API server refused.
func failed(err error) metav1.Condition {
	return metav1.Condition{
		Type:    string(mcsv1beta1.ServiceImportConditionReady),
		Status:  metav1.ConditionFalse,
		Reason:  string(mcsv1beta1.ServiceImportReasonPending),
		Message: "The derived Service can't be written, and is being tried again: " + err.Error(),
	}
}
