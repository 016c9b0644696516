package kit

import (
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/atoll-mcs/atoll/internal/kit/metrics"
	"github.com/atoll-mcs/atoll/internal/mcs/endpoints"
)

// DesireSlice counts a slice that is about to be written, which is nil for none.
func DesireSlice(to *metrics.Slices, service metrics.Service, source string, want *discoveryv1.EndpointSlice) {
	to.Desire(service, source, endpointsIn(want), want != nil)
}

// CountSlice counts a slice, which is nil for none, and its write if it changed. It returns how many endpoints the
// write added and removed.
func CountSlice(to *metrics.Slices, service metrics.Service, source string, have, want *discoveryv1.EndpointSlice) (changed int, written bool) {
	to.Note(service, source, endpointsIn(want), want != nil)
	if endpoints.Same(have, want) {
		return 0, false
	}
	added, removed := endpoints.Changed(have, want)
	to.Wrote(have != nil, want != nil, added, removed)
	return added + removed, true
}

func endpointsIn(slice *discoveryv1.EndpointSlice) int {
	if slice == nil {
		return 0
	}
	return len(slice.Endpoints)
}
