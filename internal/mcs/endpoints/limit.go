package endpoints

import discoveryv1 "k8s.io/api/discovery/v1"

// Units are what a slice takes up in a cluster that imports it: its addresses times its ports, for which kube-proxy has a rule each,
// and one where it has none.
func Units(slice *discoveryv1.EndpointSlice) int {
	return max(1, Addresses(slice)*perAddress(slice))
}

func perAddress(slice *discoveryv1.EndpointSlice) int { return max(1, len(slice.Ports)) }

// Addresses is how many addresses a slice's endpoints have.
func Addresses(slice *discoveryv1.EndpointSlice) int {
	addresses := 0
	for i := range slice.Endpoints {
		addresses += len(slice.Endpoints[i].Addresses)
	}
	return addresses
}

// Limit returns as much of a slice as units are enough for: the slice itself, or a copy without some of its endpoints. Those that are not ready
// are left out first.
func Limit(source *discoveryv1.EndpointSlice, units int) *discoveryv1.EndpointSlice {
	if Units(source) <= units {
		return source
	}
	stays, each := make([]bool, len(source.Endpoints)), perAddress(source)
	for _, wanted := range []bool{true, false} {
		for i, e := range source.Endpoints {
			if isReady(&e) != wanted || each*len(e.Addresses) > units {
				continue
			}
			stays[i] = true
			units -= each * len(e.Addresses)
		}
	}
	short := *source
	short.Endpoints = nil
	for i, e := range source.Endpoints {
		if stays[i] {
			short.Endpoints = append(short.Endpoints, e)
		}
	}
	return &short
}
