package importstatus

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/agent/local"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/refusal"
)

// Imported is the condition of a working import. warnings list what is left out or differs from the request.
func Imported(imp *mcsv1beta1.ServiceImport, warnings []string) *metav1.Condition {
	message := "The service is imported. The service is headless, so clients use its DNS name."
	if imp.Spec.Type != mcsv1beta1.Headless {
		message = fmt.Sprintf("The service is imported. Its clusterset IP is %s.", strings.Join(imp.Spec.IPs, " and "))
	}
	return &metav1.Condition{
		Type:    string(mcsv1beta1.ServiceImportConditionReady),
		Status:  metav1.ConditionTrue,
		Reason:  string(mcsv1beta1.ServiceImportReasonReady),
		Message: strings.Join(append([]string{message + renamed(imp)}, warnings...), " "),
	}
}

// renamed reports that the derived Service does not have its usual name.
func renamed(imp *mcsv1beta1.ServiceImport) string {
	usual, has := names.DerivedServices(imp.Name, imp.Spec.Type == mcsv1beta1.Headless)[0], imp.Annotations[names.AnnotationDerivedService]
	if has == "" || has == usual {
		return ""
	}
	return fmt.Sprintf(" The derived Service is named %s, because another tool or person created Service %s/%s.", has, imp.Namespace, usual)
}

// NotSupported is the condition of an import without an IP family of this cluster; families are this cluster's.
func NotSupported(imp *mcsv1beta1.ServiceImport, families []corev1.IPFamily) *metav1.Condition {
	here, there := corev1.IPv4Protocol, corev1.IPv6Protocol
	if slices.Contains(families, corev1.IPv6Protocol) {
		here, there = there, here
	}
	var clusters []string
	for _, c := range imp.Status.Clusters {
		clusters = append(clusters, c.Cluster)
	}
	return &metav1.Condition{
		Type:   string(mcsv1beta1.ServiceImportConditionReady),
		Status: metav1.ConditionFalse,
		Reason: string(mcsv1beta1.ServiceImportReasonIPFamilyNotSupported),
		Message: fmt.Sprintf("The service is exported only with %s addresses, by %s. Services in this cluster have only %s addresses. "+
			"The service is imported when a cluster exports it with %[3]s addresses.", there, names.ListClusters(clusters), here),
	}
}

// Portless is the condition of an import with a clusterset IP for which no cluster exports a port.
func Portless(imp *mcsv1beta1.ServiceImport) *metav1.Condition {
	var clusters []string
	for _, c := range imp.Status.Clusters {
		clusters = append(clusters, c.Cluster)
	}
	return Pending(fmt.Sprintf("The service has no port, because %s exports no valid port. Clients cannot connect to the service. "+
		"Compare the ports of the Service in that cluster with spec.ports of the MultiClusterService.", names.ListClusters(clusters)))
}

// Importing is the condition of an import that does not have all its objects yet.
func Importing() *metav1.Condition {
	return &metav1.Condition{
		Type:    string(mcsv1beta1.ServiceImportConditionReady),
		Status:  metav1.ConditionUnknown,
		Reason:  string(mcsv1beta1.ServiceImportReasonPending),
		Message: "The service is being imported: its derived Service or its EndpointSlices are not complete yet.",
	}
}

// Pending is the condition of an import that lacks something.
func Pending(message string) *metav1.Condition {
	return &metav1.Condition{
		Type:    string(mcsv1beta1.ServiceImportConditionReady),
		Status:  metav1.ConditionFalse,
		Reason:  string(mcsv1beta1.ServiceImportReasonPending),
		Message: message,
	}
}

// LeftOut names the refused clusters, in one sentence per reason.
func LeftOut(refused []local.LeftOut, namespace string) string {
	by := map[refusal.Reason][]string{}
	for _, l := range refused {
		by[l.Reason] = append(by[l.Reason], l.Cluster)
	}
	var all []string
	for _, reason := range slices.Sorted(maps.Keys(by)) {
		slices.Sort(by[reason])
		why, _ := reason.Explain(namespace, command.Here)
		all = append(all, fmt.Sprintf("The export from %s is not imported: %s.", names.ListClusters(by[reason]), why))
	}
	return strings.Join(all, " ")
}
