package sliceplan

import discoveryv1 "k8s.io/api/discovery/v1"

// Moved tells whether an address that is in have and not in want is in one of others, the
// source's slices that these were not made of. Then all of them have to be dealt with at
// once, what is new before what is old, or clients are without the endpoint in between.
//
// The others are gone through from end to end, which is little beside the write that it is
// about, and only where something goes.
func Moved(have []*discoveryv1.EndpointSlice, want []discoveryv1.EndpointSlice, others []*discoveryv1.EndpointSlice) bool {
	gone := map[string]bool{}
	for _, h := range have {
		eachAddress(h, func(address string) { gone[address] = true })
	}
	for i := range want {
		eachAddress(&want[i], func(address string) { delete(gone, address) })
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
