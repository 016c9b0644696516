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

// withTrigger adds the time of the change that led to a source slice. What is made of a
// source that had not been wanted before is made because somebody wants it since then.
func withTrigger(source *discoveryv1.EndpointSlice, wanted time.Time, annotations map[string]string) {
	at, ok := source.Annotations[names.AnnotationLastChangeTriggerTime]
	if !ok {
		return
	}
	if changed, err := time.Parse(time.RFC3339Nano, at); err == nil && changed.Before(wanted) {
		at = wanted.UTC().Format(time.RFC3339Nano)
	}
	annotations[names.AnnotationLastChangeTriggerTime] = at
}

// triggered tells whether the source's endpoints are what an update of have to want is for.
// Hints and ports are given by others.
func triggered(have, want *discoveryv1.EndpointSlice) bool {
	return !slices.EqualFunc(have.Endpoints, want.Endpoints, func(a, b discoveryv1.Endpoint) bool { return sameEndpoint(&a, &b) })
}
