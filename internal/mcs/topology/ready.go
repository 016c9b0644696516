package topology

import (
	"maps"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Place is a zone of a cluster. All endpoints in one place get the same zone hints.
type Place struct {
	Cluster names.ClusterID
	// Zone is the cluster's name for the zone, "" if unknown.
	Zone string
}

// Ready are the places of a service's ready endpoints by address type: kube-proxy handles each IP family separately.
type Ready map[discoveryv1.AddressType]map[Place]bool

// Add adds the places of an imported slice's ready endpoints. A slice without ports has no use.
func (r Ready) Add(slice *discoveryv1.EndpointSlice) {
	if len(slice.Ports) == 0 {
		return
	}
	var last *Place // most endpoints are in the same place as the previous one
	for i := range slice.Endpoints {
		if !isReady(&slice.Endpoints[i]) {
			continue
		}
		place := placeOf(slice, &slice.Endpoints[i])
		if last != nil && place == *last {
			continue
		}
		last = &place
		if r[slice.AddressType] == nil {
			r[slice.AddressType] = map[Place]bool{}
		}
		r[slice.AddressType][place] = true
	}
}

// ReadyIn returns the places of slices' ready endpoints.
func ReadyIn(slices ...*discoveryv1.EndpointSlice) Ready {
	ready := Ready{}
	for _, s := range slices {
		ready.Add(s)
	}
	return ready
}

// Equal reports whether two are the same.
func (r Ready) Equal(other Ready) bool {
	return maps.EqualFunc(r, other, func(a, b map[Place]bool) bool { return maps.Equal(a, b) })
}

// isReady follows kube-proxy: an unset condition means ready.
func isReady(endpoint *discoveryv1.Endpoint) bool {
	return ptr.Deref(endpoint.Conditions.Ready, true)
}

func placeOf(slice *discoveryv1.EndpointSlice, endpoint *discoveryv1.Endpoint) Place {
	return Place{
		Cluster: names.ClusterID(slice.Labels[names.LabelSourceCluster]),
		Zone:    ptr.Deref(endpoint.Zone, ""),
	}
}
