package sliceplan

import (
	"slices"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/atoll-mcs/atoll/internal/names"
)

// A slice says when that happened which it was written for, and kube-proxy measures from then
// until its rules are in effect (network_programming_duration_seconds), each time that it
// sees the slice change. What is written for another reason than a change of the source's
// endpoints must not say when these changed last: that may be days ago.

// withTrigger adds the time of the change that led to a source slice.
func withTrigger(source *discoveryv1.EndpointSlice, wanted time.Time, annotations map[string]string) {
	if at, ok := trigger(source, wanted); ok {
		annotations[names.AnnotationLastChangeTriggerTime] = at
	}
}

// trigger returns the time that what is made of a source slice says, and whether it says any. What is made of a
// source that had not been wanted before is made because somebody wants it since then.
func trigger(source *discoveryv1.EndpointSlice, wanted time.Time) (string, bool) {
	at, ok := source.Annotations[names.AnnotationLastChangeTriggerTime]
	if changed, err := time.Parse(time.RFC3339Nano, at); err == nil && changed.Before(wanted) {
		at = wanted.UTC().Format(time.RFC3339Nano)
	}
	return at, ok
}

// Times are what slices that are made of source slices say of when these changed, by the names that
// the source slices have in their own cluster.
type Times map[string][]string

// Times returns what would be said by what is published of sources.
func (p Publication) Times(sources []*discoveryv1.EndpointSlice) Times {
	return timesOf(sources, p.Exported, func(s *discoveryv1.EndpointSlice) string { return s.Name })
}

// Times returns what would be said by what is imported of sources.
func (p Importation) Times(sources []*discoveryv1.EndpointSlice) Times {
	return timesOf(sources, p.Import.CreationTimestamp.Time, func(s *discoveryv1.EndpointSlice) string {
		if p.Own {
			return s.Name
		}
		return s.Annotations[names.AnnotationSourceSlice]
	})
}

func timesOf(sources []*discoveryv1.EndpointSlice, wanted time.Time, name func(*discoveryv1.EndpointSlice) string) Times {
	times := make(Times, len(sources))
	for _, s := range sources {
		if at, ok := trigger(s, wanted); ok {
			times[name(s)] = append(times[name(s)], at)
		}
	}
	return times
}

// triggered tells whether the source's endpoints are what an update of have to want is for.
// Hints and ports are given by others.
func triggered(have, want *discoveryv1.EndpointSlice) bool {
	return !slices.EqualFunc(have.Endpoints, want.Endpoints, func(a, b discoveryv1.Endpoint) bool { return sameEndpoint(&a, &b) })
}
