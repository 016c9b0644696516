// Package drain decides whether a cluster's part in a service is drained: other clusters send it no new connections while another
// cluster can serve them.
package drain

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// State says whether something is drained, by the clock of the drained cluster: others are only told the answer.
type State struct {
	Drained bool
	// Changes is when the answer changes, zero if it does not change with time.
	Changes time.Time
}

// End returns when the drain of an object ends, zero if it has no end, and whether the object has a drain, which may be over.
func End(o metav1.Object) (end time.Time, found bool) {
	value, found := o.GetAnnotations()[names.AnnotationDrained]
	if value == "false" {
		return time.Time{}, false
	}
	end, _ = time.Parse(time.RFC3339, value) // any other value has no end
	return end, found
}

// Of returns the state of a service by the annotations of the objects that can drain it: the ServiceExport, its namespace, and
// namespace atoll-system for the whole cluster. The annotation's value is the end (RFC 3339). With any other value, such as
// "true", there is no end; "false" drains nothing.
func Of(now time.Time, objects ...metav1.Object) (s State) {
	for _, o := range objects {
		end, found := End(o)
		switch {
		case !found:
		case end.IsZero():
			return State{Drained: true}
		case now.Before(end):
			s.Drained = true
			if end.After(s.Changes) { // the last end counts
				s.Changes = end
			}
		}
	}
	return s
}
