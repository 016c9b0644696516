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

// Of returns the state of a service by the annotations of the objects that can drain it: the ServiceExport, its namespace, and
// namespace atoll-system for the whole cluster. The annotation's value is the end (RFC 3339). With any other value, such as
// "true", there is no end; "false" drains nothing.
func Of(now time.Time, objects ...metav1.Object) (s State) {
	for _, o := range objects {
		value, found := o.GetAnnotations()[names.AnnotationDrained]
		end, err := time.Parse(time.RFC3339, value)
		switch {
		case !found, value == "false":
		case err != nil:
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
