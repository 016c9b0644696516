package report

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/mcs/ownership"
)

// condition is the state of a ServiceExport or ServiceImport. problem is "" only if the object is in effect.
type condition struct {
	status, message string
	problem         Severity
}

// Our own statuses, beside the conditions' reasons.
const (
	// noStatus is the status of objects that no agent has handled yet.
	noStatus = "Unseen"
	// deleting is the status of objects that are being deleted.
	deleting = "Deleting"
)

// pendingTime is how long work may be pending before it counts as failed: the agents need at most 30 seconds.
const pendingTime = time.Minute

// surveyTime returns the time of the survey, by the broker's clock if possible.
func surveyTime(s *survey.Survey) time.Time {
	if s.Broker != nil && !s.Broker.At.IsZero() {
		return s.Broker.At
	}
	return time.Now()
}

// pendingSince returns the severity of work that is pending since a time. Zero means that it has just begun.
func pendingSince(since metav1.Time, now time.Time) Severity {
	if !since.IsZero() && now.Sub(since.Time) > pendingTime {
		return Error
	}
	return Pending
}

// readyCondition returns the state that a condition describes whose wanted status is True. Only True for the object's current
// generation is in effect: False is a failure, or pending work if the reason says so, and Unknown is pending work.
func readyCondition(o metav1.Object, c *metav1.Condition, now time.Time) condition {
	switch {
	case c == nil:
		return condition{noStatus, "No agent has processed this object.", pendingSince(o.GetCreationTimestamp(), now)}
	case c.Status != metav1.ConditionTrue && c.Status != metav1.ConditionFalse, c.Status == metav1.ConditionFalse && c.Reason == string(mcsv1beta1.ServiceExportReasonPending):
		return condition{cmp.Or(c.Reason, string(mcsv1beta1.ServiceExportReasonPending)), c.Message, pendingSince(c.LastTransitionTime, now)}
	case c.Status == metav1.ConditionFalse:
		return condition{c.Reason, c.Message, Error}
	case c.ObservedGeneration < o.GetGeneration():
		return condition{string(mcsv1beta1.ServiceExportReasonPending), "The agents have not processed the latest change of this object.", Pending}
	}
	return condition{c.Type, c.Message, ""}
}

// deletingCondition returns the state of an object that is being deleted, or false.
func deletingCondition(o metav1.Object, kind string) (condition, bool) {
	if o.GetDeletionTimestamp() == nil {
		return condition{}, false
	}
	return condition{deleting, fmt.Sprintf("This %s is being deleted, so Atoll no longer uses the %[1]s. The deletion waits for %s.", kind, finalizers(o)), Warning}, true
}

// finalizers names an object's finalizers.
func finalizers(o metav1.Object) string {
	if all := o.GetFinalizers(); len(all) > 0 {
		return "the finalizers " + strings.Join(all, ", ")
	}
	return "the API server"
}

// exportCondition returns the first problem of a ServiceExport, then a conflict, then Ready.
func exportCondition(e *mcsv1beta1.ServiceExport, now time.Time) condition {
	if is, yes := deletingCondition(e, mcsv1beta1.ServiceExportKindName); yes {
		return is
	}
	conditions := e.Status.Conditions
	if valid := meta.FindStatusCondition(conditions, string(mcsv1beta1.ServiceExportConditionValid)); valid != nil && valid.Status != metav1.ConditionTrue {
		return readyCondition(e, valid, now)
	}
	conflict := meta.FindStatusCondition(conditions, string(mcsv1beta1.ServiceExportConditionConflict))
	ready := readyCondition(e, meta.FindStatusCondition(conditions, string(mcsv1beta1.ServiceExportConditionReady)), now)
	if conflict != nil && conflict.Status == metav1.ConditionTrue && (ready.problem == "" || ready.status == noStatus) {
		return condition{conflict.Reason, conflict.Message, Warning}
	}
	return ready
}

// importCondition returns the state of a ServiceImport.
func importCondition(i *mcsv1beta1.ServiceImport, now time.Time) condition {
	if !ownership.IsManaged(i) {
		return foreignCondition(i, now)
	}
	if is, yes := deletingCondition(i, mcsv1beta1.ServiceImportKindName); yes {
		return is
	}
	return readyCondition(i, meta.FindStatusCondition(i.Status.Conditions, string(mcsv1beta1.ServiceImportConditionReady)), now)
}
