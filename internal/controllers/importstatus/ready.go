package importstatus

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/local"
	"github.com/atoll-mcs/atoll/internal/names"
	"github.com/atoll-mcs/atoll/internal/status"
)

// progress is how far others have come with an import.
type progress struct {
	// service is how it went with the derived Service.
	service *status.Outcomes[types.NamespacedName]
	// endpoints is how it went with each part's.
	endpoints *status.Outcomes[local.Part]
}

// ready is the condition of an import, or nil where that which there is has to stand until more
// is known: an import is not ready before the endpoints of every cluster have been written
// once, nor after some were refused, and what was said before the agent started is not taken
// back before they have been tried. Of a new one nothing is said as long as all is on its way,
// so that one write says it all.
func ready(imp *mcsv1beta1.ServiceImport, families []corev1.IPFamily, so progress) *metav1.Condition {
	if len(imp.Spec.IPFamilies) == 0 {
		return notSupported(imp, families)
	}
	service, made := so.service.Get(client.ObjectKeyFromObject(imp))
	if service.Failure != "" {
		return failed(service.Failure)
	}
	waiting := service.Waiting
	made = made && imp.Annotations[names.AnnotationDerivedService] != ""
	var refused, untried []string
	reason := ""
	for _, c := range imp.Status.Clusters {
		outcome, known := so.endpoints.Get(local.Part{Service: client.ObjectKeyFromObject(imp), Cluster: names.ClusterID(c.Cluster)})
		waiting = waiting || outcome.Waiting
		switch {
		case !known || outcome.Waiting:
			untried = append(untried, c.Cluster)
		case outcome.Failure != "":
			refused = append(refused, c.Cluster)
			reason = cmp.Or(reason, outcome.Failure)
		}
	}
	current := meta.FindStatusCondition(imp.Status.Conditions, string(mcsv1beta1.ServiceImportConditionReady))
	unjudged := current == nil || current.Status == metav1.ConditionUnknown
	switch {
	case len(refused) > 0:
		return pending(fmt.Sprintf("Not all endpoints from %s can be written. It is being tried again: %s", names.ListClusters(refused), reason))
	case made && len(untried) == 0:
		return imported(imp)
	case current == nil && waiting:
		return unknown()
	case unjudged || !made:
		return nil
	case current.Status != metav1.ConditionTrue:
		return pending(fmt.Sprintf("The endpoints from %s are not known yet.", names.ListClusters(untried)))
	default:
		return imported(imp)
	}
}

// unknown is the condition of an import that can't be judged yet.
func unknown() *metav1.Condition {
	condition := pending("The service is being imported.")
	condition.Status = metav1.ConditionUnknown
	return condition
}

// imported is the condition of an import that has all it needs.
func imported(imp *mcsv1beta1.ServiceImport) *metav1.Condition {
	message := "The service is imported. It is headless and reached by its DNS name."
	if imp.Spec.Type != mcsv1beta1.Headless {
		message = fmt.Sprintf("The service is imported and reached at %s.", strings.Join(imp.Spec.IPs, " and "))
	}
	return &metav1.Condition{
		Type:    string(mcsv1beta1.ServiceImportConditionReady),
		Status:  metav1.ConditionTrue,
		Reason:  string(mcsv1beta1.ServiceImportReasonReady),
		Message: message,
	}
}

// notSupported is the condition of an import that has no IP family in common with this
// cluster, whose Services have the given ones.
func notSupported(imp *mcsv1beta1.ServiceImport, families []corev1.IPFamily) *metav1.Condition {
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
		Message: fmt.Sprintf("The service is exported with %s only, from %s, and Services of this cluster have %s only. "+
			"It is imported as soon as a cluster exports it with %[3]s.", there, names.ListClusters(clusters), here),
	}
}

// failed is the condition of an import whose derived Service the API server refused.
func failed(reason string) *metav1.Condition {
	return pending("The derived Service can't be written, and is being tried again: " + reason)
}

// pending is the condition of an import that lacks something.
func pending(message string) *metav1.Condition {
	return &metav1.Condition{
		Type:    string(mcsv1beta1.ServiceImportConditionReady),
		Status:  metav1.ConditionFalse,
		Reason:  string(mcsv1beta1.ServiceImportReasonPending),
		Message: message,
	}
}
