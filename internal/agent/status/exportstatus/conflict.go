package exportstatus

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/merge"
)

// conflict is one condition for all conflicts: their reasons joined by commas, as in mcs-api, and their messages.
func conflict(conflicts []merge.Conflict) metav1.Condition {
	if len(conflicts) == 0 {
		return metav1.Condition{
			Type:    string(mcsv1beta1.ServiceExportConditionConflict),
			Status:  metav1.ConditionFalse,
			Reason:  string(mcsv1beta1.ServiceExportReasonNoConflicts),
			Message: "All clusters that export this service agree on its properties.",
		}
	}
	var reasons []string
	for _, c := range conflicts {
		reasons = append(reasons, string(c.Reason))
	}
	return metav1.Condition{
		Type:    string(mcsv1beta1.ServiceExportConditionConflict),
		Status:  metav1.ConditionTrue,
		Reason:  strings.Join(reasons, ","),
		Message: conflictMessage(conflicts),
	}
}

// maxConflictMessage limits the message of all conflicts, in bytes, so that it fits into an Event.
const maxConflictMessage = 1024

// conflictMessage joins the conflicts' messages, and counts those that do not fit. The first always fits: merge bounds
// each message.
func conflictMessage(conflicts []merge.Conflict) string {
	message := conflicts[0].Message
	for i, c := range conflicts[1:] {
		more := fmt.Sprintf(" Number of further properties in conflict: %d. The condition's reason lists all conflicts.", len(conflicts)-1-i)
		if len(message)+1+len(c.Message)+len(more) > maxConflictMessage {
			return message + more
		}
		message += " " + c.Message
	}
	return message
}

// EventReason returns a condition's reason as a single word, which an Event requires.
func EventReason(condition metav1.Condition) string {
	if strings.Contains(condition.Reason, ",") {
		return string(mcsv1beta1.ServiceExportConditionConflict)
	}
	return condition.Reason
}
