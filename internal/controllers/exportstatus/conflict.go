package exportstatus

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/merge"
)

// conflict is the condition that reports all conflicts at once: their reasons joined by commas, as mcs-api
// has it, and their messages one after the other.
func conflict(conflicts []merge.Conflict) metav1.Condition {
	if len(conflicts) == 0 {
		return metav1.Condition{
			Type:    string(mcsv1beta1.ServiceExportConditionConflict),
			Status:  metav1.ConditionFalse,
			Reason:  string(mcsv1beta1.ServiceExportReasonNoConflicts),
			Message: "All clusters that export this service agree.",
		}
	}
	var reasons, messages []string
	for _, c := range conflicts {
		reasons = append(reasons, string(c.Reason))
		messages = append(messages, c.Message)
	}
	return metav1.Condition{
		Type:    string(mcsv1beta1.ServiceExportConditionConflict),
		Status:  metav1.ConditionTrue,
		Reason:  strings.Join(reasons, ","),
		Message: strings.Join(messages, " "),
	}
}

// eventReason is a condition's reason as a single word, as an Event's has to be.
func eventReason(condition metav1.Condition) string {
	if strings.Contains(condition.Reason, ",") {
		return string(mcsv1beta1.ServiceExportConditionConflict)
	}
	return condition.Reason
}
