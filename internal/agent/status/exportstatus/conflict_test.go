package exportstatus

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/atoll-mcs/atoll/internal/mcs/merge"
)

// Pitfall 6: a single condition contains all conflicts, and no conflict replaces another.
// Without conflicts the condition has a reason, because the API requires it.
func TestConflict(t *testing.T) {
	ports := merge.Conflict{Reason: "PortConflict", Message: "About ports."}
	kind := merge.Conflict{Reason: "TypeConflict", Message: "About the type."}
	for name, tt := range map[string]struct {
		conflicts             []merge.Conflict
		status                metav1.ConditionStatus
		reason, message, told string
	}{
		"none": {nil, metav1.ConditionFalse, "NoConflicts", "All clusters that export this service agree on its properties.", "NoConflicts"},
		"one":  {[]merge.Conflict{ports}, metav1.ConditionTrue, "PortConflict", "About ports.", "PortConflict"},
		"two": {
			[]merge.Conflict{ports, kind}, metav1.ConditionTrue,
			"PortConflict,TypeConflict", "About ports. About the type.", "Conflict",
		},
	} {
		got := conflict(tt.conflicts)
		if got != (metav1.Condition{Type: "Conflict", Status: tt.status, Reason: tt.reason, Message: tt.message}) {
			t.Errorf("%s: condition %+v", name, got)
		}
		if told := EventReason(got); told != tt.told {
			t.Errorf("%s: the Event's reason is %q", name, told)
		}
	}
}

// The message has a limited length for any number of conflicts, and states how many are
// omitted.
func TestConflictMessageIsBounded(t *testing.T) {
	var conflicts []merge.Conflict
	for range 9 {
		conflicts = append(conflicts, merge.Conflict{Reason: "PortConflict", Message: strings.Repeat("x", 300)})
	}
	got := conflict(conflicts).Message
	if want := "x Number of further properties in conflict: 6. The condition's reason lists all conflicts."; len(got) > 1024 || !strings.HasSuffix(got, want) {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}
