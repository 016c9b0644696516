package sliceplan

import (
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
)

// Moved tells whether an address that changes take out of have is in one of others, the
// source's slices that the changes are not about. Then all of them have to be dealt with at
// once, what is new before what is old, or clients are without the endpoint in between.
//
// The others are gone through from end to end, which is little beside the write that it is
// about, and only where something goes.
func Moved(have []*discoveryv1.EndpointSlice, changes Changes, others []*discoveryv1.EndpointSlice) bool {
	gone := map[string]bool{}
	for _, h := range have {
		eachAddress(h, func(address string) { gone[address] = true })
	}
	for _, written := range [][]*discoveryv1.EndpointSlice{changes.Create, changes.Update} {
		for _, s := range written {
			eachAddress(s, func(address string) { delete(gone, address) })
		}
	}
	untouched := func(h *discoveryv1.EndpointSlice) bool {
		same := func(s *discoveryv1.EndpointSlice) bool { return s.Name == h.Name }
		return !slices.ContainsFunc(changes.Update, same) && !slices.ContainsFunc(changes.Delete, same) && !slices.ContainsFunc(changes.Replace, same)
	}
	for _, h := range have {
		if untouched(h) {
			eachAddress(h, func(address string) { delete(gone, address) })
		}
	}
	if len(gone) == 0 {
		return false
	}
	moved := false
	for _, s := range others {
		eachAddress(s, func(address string) { moved = moved || gone[address] })
	}
	return moved
}

// eachAddress calls f with the addresses in a slice, in their one form.
func eachAddress(slice *discoveryv1.EndpointSlice, f func(string)) {
	for i := range slice.Endpoints {
		for _, address := range slice.Endpoints[i].Addresses {
			f(Canonical(address))
		}
	}
}
