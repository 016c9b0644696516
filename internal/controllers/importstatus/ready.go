package importstatus

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	decide "github.com/atoll-mcs/atoll/internal/agent/status/importstatus"
	"github.com/atoll-mcs/atoll/internal/local"
	"github.com/atoll-mcs/atoll/internal/mcs/derived"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
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
		return decide.NotSupported(imp, families)
	}
	if derived.Portless(imp) {
		return decide.Portless(imp)
	}
	service, made := so.service.Get(client.ObjectKeyFromObject(imp))
	if service.Failure != "" {
		return decide.Failed(service.Failure)
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
		return decide.Pending(fmt.Sprintf("Not all endpoints from %s can be written. It is being tried again: %s", names.ListClusters(refused), strings.Join(append([]string{reason}, sentences(leftOut)...), ". ")))
	case made && len(untried) == 0:
		return decide.Imported(imp, remarks)
	case current == nil && waiting:
		return unknown()
	case unjudged || !made:
		return nil
	case current.Status != metav1.ConditionTrue:
		return decide.Pending(fmt.Sprintf("The endpoints from %s are not known yet.", names.ListClusters(untried)))
	default: // what was said before about clusters that have not been tried since the agent started stays
		condition := decide.Imported(imp, sentences(leftOut))
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
	condition := decide.Pending("The service is being imported.")
	condition.Status = metav1.ConditionUnknown
	return condition
}
