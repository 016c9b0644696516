package controllers

import (
	"slices"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/atoll-mcs/atoll/internal/metrics"
	"github.com/atoll-mcs/atoll/internal/names"
	"github.com/atoll-mcs/atoll/internal/sliceplan"
)

// Counts are what a plan amounts to for each source slice. limit is the most endpoints
// that a slice may have.
func Counts(plan []discoveryv1.EndpointSlice, limit int) map[string]metrics.Count {
	counts := map[string]metrics.Count{}
	for i := range plan {
		source := plan[i].Annotations[names.AnnotationSourceSlice]
		count := counts[source]
		count.Endpoints += len(plan[i].Endpoints)
		count.Slices++
		count.Ideal = max(1, (count.Endpoints+limit-1)/limit)
		counts[source] = count
	}
	return counts
}

// Sync is what carrying out changes of have did.
func Sync(have []*discoveryv1.EndpointSlice, changes sliceplan.Changes) metrics.Sync {
	sync := metrics.Sync{Added: changes.Added, Removed: changes.Removed, Deleted: len(changes.Delete) + len(changes.Replace)}
	for _, s := range changes.Create {
		if s.ResourceVersion != "" { // otherwise it was there already
			sync.Created++
		}
	}
	before := make(map[string]string, len(have))
	for _, h := range have {
		before[h.Name] = h.ResourceVersion
	}
	for _, s := range slices.Concat(changes.Update, changes.Release) {
		if s.ResourceVersion != "" && s.ResourceVersion != before[s.Name] { // otherwise it came too late, or to nothing
			sync.Updated++
		}
	}
	return sync
}

// SinceTrigger returns how long ago that happened which led to the changes: the earliest
// that their slices tell. The time is the source cluster's, so that the two clusters' clocks
// have to agree, as kube-proxy's latency metric supposes too.
func SinceTrigger(changes sliceplan.Changes, now time.Time) (time.Duration, bool) {
	var first time.Time
	for _, s := range changes.Written() {
		if at, ok := triggerOf(s); ok && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return now.Sub(first), !first.IsZero() && !first.After(now)
}
