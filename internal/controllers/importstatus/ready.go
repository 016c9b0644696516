package importstatus

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/local"
	"github.com/atoll-mcs/atoll/internal/mcs/derived"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/refusal"
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
// so that one write says it all. leftOut is what is said of clusters whose exports are refused here.
func ready(imp *mcsv1beta1.ServiceImport, families []corev1.IPFamily, so progress, leftOut string) *metav1.Condition {
	if len(imp.Spec.IPFamilies) == 0 {
		return notSupported(imp, families)
	}
	if derived.Portless(imp) {
		return portless(imp)
	}
	service, made := so.service.Get(client.ObjectKeyFromObject(imp))
	if service.Failure != "" {
		return failed(service.Failure)
	}
	waiting := service.Waiting
	made = made && imp.Annotations[names.AnnotationDerivedService] != ""
	var refused, untried []string
	remarks := sentences(leftOut)
	for _, r := range service.Remarks {
		remarks = append(remarks, r.Message)
	}
	reason := ""
	for _, c := range imp.Status.Clusters {
		outcome, known := so.endpoints.Get(local.Part{Service: client.ObjectKeyFromObject(imp), Cluster: names.ClusterID(c.Cluster)})
		waiting = waiting || outcome.Waiting
		for _, r := range outcome.Remarks {
			remarks = append(remarks, r.Message)
		}
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
		return pending(fmt.Sprintf("Not all endpoints from %s can be written. It is being tried again: %s", names.ListClusters(refused), strings.Join(append([]string{reason}, sentences(leftOut)...), ". ")))
	case made && len(untried) == 0:
		return imported(imp, remarks)
	case current == nil && waiting:
		return unknown()
	case unjudged || !made:
		return nil
	case current.Status != metav1.ConditionTrue:
		return pending(fmt.Sprintf("The endpoints from %s are not known yet.", names.ListClusters(untried)))
	default: // what was said before about clusters that have not been tried since the agent started stays
		condition := imported(imp, sentences(leftOut))
		if strings.HasPrefix(current.Message, condition.Message) {
			condition.Message = current.Message
		}
		return condition
	}
}

// sentences is a list of one text, or of none for "".
func sentences(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}

// unknown is the condition of an import that can't be judged yet.
func unknown() *metav1.Condition {
	condition := pending("The service is being imported.")
	condition.Status = metav1.ConditionUnknown
	return condition
}

// imported is the condition of an import that works. remarks say what is left out of it, or done otherwise than asked for.
func imported(imp *mcsv1beta1.ServiceImport, remarks []string) *metav1.Condition {
	message := "The service is imported. It is headless and reached by its DNS name."
	if imp.Spec.Type != mcsv1beta1.Headless {
		message = fmt.Sprintf("The service is imported and reached at %s.", strings.Join(imp.Spec.IPs, " and "))
	}
	return &metav1.Condition{
		Type:    string(mcsv1beta1.ServiceImportConditionReady),
		Status:  metav1.ConditionTrue,
		Reason:  string(mcsv1beta1.ServiceImportReasonReady),
		Message: strings.Join(append([]string{message + renamed(imp)}, remarks...), " "),
	}
}

// renamed says that the derived Service has another name than the usual one.
func renamed(imp *mcsv1beta1.ServiceImport) string {
	usual, has := names.DerivedServices(imp.Name, imp.Spec.Type == mcsv1beta1.Headless)[0], imp.Annotations[names.AnnotationDerivedService]
	if has == "" || has == usual {
		return ""
	}
	return fmt.Sprintf(" Its derived Service is named %s, because Service %s/%s was not made by Atoll.", has, imp.Namespace, usual)
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

// portless is the condition of an import with a clusterset IP of which no cluster exports a port.
func portless(imp *mcsv1beta1.ServiceImport) *metav1.Condition {
	var clusters []string
	for _, c := range imp.Status.Clusters {
		clusters = append(clusters, c.Cluster)
	}
	return pending(fmt.Sprintf("The service has no port: %s exports it without a valid one. Clients cannot connect to it. "+
		"Compare the ports of the Service there with spec.ports of its MultiClusterService.", names.ListClusters(clusters)))
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

// leftOut says which clusters' exports are refused, and why: of each reason in one sentence.
func leftOut(refused []local.LeftOut, namespace string) string {
	by := map[refusal.Reason][]string{}
	for _, l := range refused {
		by[l.Reason] = append(by[l.Reason], l.Cluster)
	}
	var all []string
	for _, reason := range slices.Sorted(maps.Keys(by)) {
		slices.Sort(by[reason])
		why, _ := reason.Explain(namespace)
		all = append(all, fmt.Sprintf("Nothing is imported from %s: %s.", names.ListClusters(by[reason]), why))
	}
	return strings.Join(all, " ")
}
