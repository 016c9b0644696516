package exportstatus

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/merge"
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

// maxConflictMessage is how long the message of all conflicts is at most, in bytes, so that an Event
// can say it too.
const maxConflictMessage = 1024

// conflictMessage is the conflicts' messages one after the other, and how many do not fit. The first always
// does, for merge bounds each.
func conflictMessage(conflicts []merge.Conflict) string {
	message := conflicts[0].Message
	for i, c := range conflicts[1:] {
		more := fmt.Sprintf(" Further properties in conflict: %d. The condition's reason lists all.", len(conflicts)-1-i)
		if len(message)+1+len(c.Message)+len(more) > maxConflictMessage {
			return message + more
		}
		message += " " + c.Message
	}
	return message
}

// EventReason is a condition's reason as a single word, as an Event's has to be.
func EventReason(condition metav1.Condition) string {
	if strings.Contains(condition.Reason, ",") {
		return string(mcsv1beta1.ServiceExportConditionConflict)
	}
	return condition.Reason
}
