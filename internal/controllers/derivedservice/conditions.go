package derivedservice

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/names"
)

// ready is the condition of an import whose derived Service is there.
func ready(imp *mcsv1beta1.ServiceImport) metav1.Condition {
	message := "The service is imported. It is headless and reached by its DNS name."
	if imp.Spec.Type != mcsv1beta1.Headless {
		message = fmt.Sprintf("The service is imported and reached at %s.", strings.Join(imp.Spec.IPs, " and "))
	}
	return metav1.Condition{
		Type:    string(mcsv1beta1.ServiceImportConditionReady),
		Status:  metav1.ConditionTrue,
		Reason:  string(mcsv1beta1.ServiceImportReasonReady),
		Message: message,
	}
}

// notSupported is the condition of an import that has no IP family in common with this
// cluster, whose Services have the given ones.
func notSupported(imp *mcsv1beta1.ServiceImport, families []corev1.IPFamily) metav1.Condition {
	here, there := corev1.IPv4Protocol, corev1.IPv6Protocol
	if slices.Contains(families, corev1.IPv6Protocol) {
		here, there = there, here
	}
	var clusters []string
	for _, c := range imp.Status.Clusters {
		clusters = append(clusters, c.Cluster)
	}
	return metav1.Condition{
		Type:   string(mcsv1beta1.ServiceImportConditionReady),
		Status: metav1.ConditionFalse,
		Reason: string(mcsv1beta1.ServiceImportReasonIPFamilyNotSupported),
		Message: fmt.Sprintf("The service is exported with %s only, from %s, and Services of this cluster have %s only. "+
			"It is imported as soon as a cluster exports it with %[3]s.", there, names.ListClusters(clusters), here),
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
