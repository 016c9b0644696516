// Package drain decides whether a cluster's endpoints of a service are drained. Clients open no new connections
// to drained endpoints while another cluster can serve.
package drain

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

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

// Digest identifies what of a cluster is drained: everything, by the broker's administrator, or services, by the revisions of
// their records. It is "" if nothing is.
func Digest(byBroker bool, revisions map[types.NamespacedName]int64) string {
	if !byBroker && len(revisions) == 0 {
		return ""
	}
	services := slices.SortedFunc(maps.Keys(revisions), func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
	hash := sha256.New()
	fmt.Fprintln(hash, byBroker)
	for _, service := range services {
		fmt.Fprintln(hash, service, revisions[service])
	}
	return hex.EncodeToString(hash.Sum(nil)[:8])
}

// FormatFollowed writes the digests of the drains that a cluster follows, by drained cluster, as a Lease has them: "c1=12ab,c2=34cd".
func FormatFollowed(digests map[names.ClusterID]string) string {
	var parts []string
	for _, id := range slices.Sorted(maps.Keys(digests)) {
		parts = append(parts, id.String()+"="+digests[id])
	}
	return strings.Join(parts, ",")
}

// Follows reports whether a Lease says that its cluster follows a drain.
func Follows(lease metav1.Object, drained names.ClusterID, digest string) bool {
	return slices.Contains(strings.Split(lease.GetAnnotations()[names.AnnotationFollowsDrains], ","), drained.String()+"="+digest)
}
