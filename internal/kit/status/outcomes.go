package status

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/atoll-mcs/atoll/internal/kit"
)

// Problem is the result of a controller's work for a service.
type Problem struct {
	// Waiting is true if it was not tried, because its inputs are unknown, or if it is tried again soon. A failure before
	// that stays.
	Waiting bool
	// Failure is the failure that the controller retries; "" for none. Since is when writes began to fail; Problems sets it.
	Failure string
	Since   time.Time
	// Warnings are about the completed work.
	Warnings []Warning
}

// ProblemOf returns the problem of a write with an outcome.
func ProblemOf(out kit.Outcome, warnings ...Warning) Problem {
	if errors.Is(out.Err, context.Canceled) {
		return Problem{Waiting: true, Warnings: warnings}
	}
	return Problem{Failure: out.Failure(), Waiting: !out.Done() && out.Failure() == "", Warnings: warnings}
}

// Warning is a problem of a service that works.
type Warning struct {
	// Reason is a single word, as an Event's reason.
	Reason  string
	Message string
}

// FailedAfter is how long writes of an object must fail until a condition is False: most failures end sooner.
const FailedAfter = 30 * time.Second

// HasFailed reports whether writes have failed for long.
func (o Problem) HasFailed(now time.Time) bool {
	return o.Failure != "" && now.Sub(o.Since) >= FailedAfter
}

// Ready returns the status and the reason of the condition Ready while writes have failed since a time: Unknown, as the next
// attempt may succeed, and then False. A condition that is False stays so. again is when this changes; 0 for never.
func Ready(current *metav1.Condition, since, now time.Time) (ready metav1.ConditionStatus, reason string, again time.Duration) {
	left := since.Add(FailedAfter).Sub(now)
	if left <= 0 || current != nil && current.Reason == "Failed" {
		return metav1.ConditionFalse, "Failed", 0
	}
	return metav1.ConditionUnknown, "Pending", left
}
