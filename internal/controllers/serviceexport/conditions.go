package serviceexport

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/contribution"
	"github.com/atoll-mcs/atoll/internal/local"
	"github.com/atoll-mcs/atoll/internal/status"
)

// conditions are Valid and Ready, given whether the broker has been reached at all, how
// writing the record and the endpoints went, and whether the latter was tried. Valid is about
// this cluster alone. What Ready said before a restart stands until more is known.
func conditions(own local.Own, brokerSeen bool, recordErr error, endpoints status.Outcome, tried bool) []metav1.Condition {
	valid := metav1.Condition{
		Type:    string(mcsv1beta1.ServiceExportConditionValid),
		Status:  metav1.ConditionFalse,
		Reason:  string(own.Validity.Reason),
		Message: own.Validity.Message,
	}
	if own.Validity.Valid {
		valid.Status = metav1.ConditionTrue
	}
	current := meta.FindStatusCondition(own.Export.Status.Conditions, string(mcsv1beta1.ServiceExportConditionReady))
	switch {
	case current != nil && (!brokerSeen || recordErr == nil && !tried):
		return []metav1.Condition{valid, *current}
	case brokerSeen && recordErr == nil && !tried:
		return []metav1.Condition{valid}
	}
	return []metav1.Condition{valid, ready(own, brokerSeen, recordErr, endpoints)}
}

func ready(own local.Own, brokerSeen bool, recordErr error, endpoints status.Outcome) metav1.Condition {
	condition := metav1.Condition{
		Type:   string(mcsv1beta1.ServiceExportConditionReady),
		Status: metav1.ConditionFalse,
	}
	switch {
	case recordErr != nil:
		condition.Reason = string(mcsv1beta1.ServiceExportReasonFailed)
		condition.Message = "The export did not reach the broker, and is being tried again: " + recordErr.Error()
	case !own.Validity.Valid:
		condition.Reason = string(mcsv1beta1.ServiceExportReasonPending)
		condition.Message = "There is nothing to export as long as this ServiceExport is not valid."
	case !brokerSeen:
		condition.Reason = string(mcsv1beta1.ServiceExportReasonPending)
		condition.Message = "The broker has not been reached yet."
	case endpoints.Failure != "":
		condition.Reason = string(mcsv1beta1.ServiceExportReasonFailed)
		condition.Message = "Not all endpoints reached the broker. It is being tried again: " + endpoints.Failure
	default:
		condition.Status = metav1.ConditionTrue
		condition.Reason = string(mcsv1beta1.ServiceExportReasonExported)
		condition.Message = "The Service is exported to the clusterset."
		for _, r := range endpoints.Remarks {
			condition.Message += " " + r.Message
		}
	}
	return condition
}

// reasonInvalidMetadata is a reason of our own: mcs-api has none for a part that is left out.
const reasonInvalidMetadata = "InvalidExportedMetadata"

// remarks are what people should know of an export whatever becomes of its endpoints.
func remarks(own local.Own) []status.Remark {
	if message := contribution.LeftOut(own.Export); message != "" {
		return []status.Remark{{Reason: reasonInvalidMetadata, Message: message}}
	}
	return nil
}

// unsaid returns those of the remarks that the condition Ready of an export says now, by what is
// wanted, and did not say so far: what it says, an Event has said.
func unsaid(export *mcsv1beta1.ServiceExport, wanted []metav1.Condition, remarks []status.Remark) []status.Remark {
	before, now := readyMessage(export.Status.Conditions), readyMessage(wanted)
	return slices.DeleteFunc(slices.Clone(remarks), func(r status.Remark) bool {
		return !strings.Contains(now, r.Message) || strings.Contains(before, r.Message)
	})
}

func readyMessage(conditions []metav1.Condition) string {
	if ready := meta.FindStatusCondition(conditions, string(mcsv1beta1.ServiceExportConditionReady)); ready != nil {
		return ready.Message
	}
	return ""
}
