package status

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestDecide(t *testing.T) {
	then, now := metav1.Unix(1000, 0), metav1.Unix(2000, 0)
	condition := func(status metav1.ConditionStatus, reason, message string, generation int64, at metav1.Time) metav1.Condition {
		return metav1.Condition{Type: "Ready", Status: status, Reason: reason, Message: message, ObservedGeneration: generation, LastTransitionTime: at}
	}
	have := condition(metav1.ConditionFalse, "Pending", "m", 1, then)
	for _, tt := range []struct {
		name                string
		have                []metav1.Condition
		want                metav1.Condition
		generation          int64
		written, transition bool
		since               metav1.Time
	}{
		{"there is none", nil, condition(metav1.ConditionTrue, "Ready", "m", 0, metav1.Time{}), 1, true, true, now},
		{"the same", []metav1.Condition{have}, condition(metav1.ConditionFalse, "Pending", "m", 0, metav1.Time{}), 1, false, false, then},
		{"another message", []metav1.Condition{have}, condition(metav1.ConditionFalse, "Pending", "n", 0, metav1.Time{}), 1, true, false, then},
		{"another generation", []metav1.Condition{have}, condition(metav1.ConditionFalse, "Pending", "m", 0, metav1.Time{}), 2, true, false, then},
		{"another reason", []metav1.Condition{have}, condition(metav1.ConditionFalse, "Failed", "m", 0, metav1.Time{}), 1, true, true, then},
		{"another status", []metav1.Condition{have}, condition(metav1.ConditionTrue, "Ready", "m", 0, metav1.Time{}), 1, true, true, now},
	} {
		got := Decide(tt.have, tt.want, tt.generation, now)
		if got.Written != tt.written || got.Transition != tt.transition ||
			!got.Condition.LastTransitionTime.Equal(&tt.since) || got.Condition.ObservedGeneration != tt.generation {
			t.Errorf("%s: got %+v", tt.name, got)
		}
	}
	// The API refuses a message of more than 32,768 characters, and with it every later status.
	long := condition(metav1.ConditionFalse, "Pending", strings.Repeat("m", 40_000), 0, metav1.Time{})
	first := Decide(nil, long, 1, now)
	if n := len(first.Condition.Message); n > 32_768 || n < 32_000 {
		t.Errorf("a long message became %d bytes", n)
	}
	if got := Decide([]metav1.Condition{first.Condition}, long, 1, now); got.Written {
		t.Error("an unchanged long message is written again")
	}
	// A condition that was returned unchanged keeps its observed generation.
	if got := Decide([]metav1.Condition{have}, have, 2, now); got.Written || got.Transition || got.Condition != have {
		t.Errorf("unchanged condition: got %+v", got)
	}
	// Times from the API server are equal in every time zone.
	local := metav1.NewTime(then.In(time.FixedZone("x", 3600)))
	if got := Decide([]metav1.Condition{condition(metav1.ConditionFalse, "Pending", "m", 1, local)}, have, 1, now); got.Written {
		t.Errorf("the same time in another zone: got %+v", got)
	}
}
