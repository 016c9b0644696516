// Package topology decides the topology hints of imported endpoints, for a service's trafficDistribution. The
// rules, and why they are so, are in docs/adr/0009-topology-hints.md.
package topology

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

const (
	// Nowhere is the zone, and the node, of hints that mean nobody: kube-proxy ignores
	// the hints of all endpoints as soon as a ready one has none.
	Nowhere = "nowhere.atoll.dev"
	// MaxZones is the API's limit of zones in one endpoint's hints.
	MaxZones = 8
)

// Viewpoint is what a cluster knows of where it is.
type Viewpoint struct {
	Cluster names.ClusterID
	// Zones are those in which the cluster has nodes, sorted.
	Zones []string
	// SharedZones says that a zone of another cluster's is this cluster's of the same
	// name.
	SharedZones bool
	// Near tells whether another cluster is in this one's region.
	Near func(names.ClusterID) bool
}

// Wanted tells whether an import's endpoints get hints.
func Wanted(imp *mcsv1beta1.ServiceImport) bool {
	if imp.Spec.Type == mcsv1beta1.Headless || imp.Spec.TrafficDistribution == nil {
		return false
	}
	switch *imp.Spec.TrafficDistribution {
	case corev1.ServiceTrafficDistributionPreferClose, corev1.ServiceTrafficDistributionPreferSameZone,
		corev1.ServiceTrafficDistributionPreferSameNode:
		return true
	}
	return false
}

// Hint gives the ready endpoints of an import's planned slices their hints; ready is
// where the whole service has ready endpoints, these among them. Endpoints that are not
// ready get none: kube-proxy does not look at theirs.
func Hint(plan []discoveryv1.EndpointSlice, imp *mcsv1beta1.ServiceImport, v Viewpoint, ready Ready) {
	if !Wanted(imp) {
		return
	}
	byNode := *imp.Spec.TrafficDistribution == corev1.ServiceTrafficDistributionPreferSameNode
	shares := map[discoveryv1.AddressType]map[Place][]discoveryv1.ForZone{}
	for i := range plan {
		slice := &plan[i]
		zones, known := shares[slice.AddressType]
		if !known {
			zones = v.forZones(ready[slice.AddressType])
			shares[slice.AddressType] = zones
		}
		for j := range slice.Endpoints {
			if e := &slice.Endpoints[j]; isReady(e) {
				place := placeOf(slice, e)
				e.Hints = hints(zones[place], byNode, v.Cluster == place.Cluster, e.NodeName)
			}
		}
	}
}

// hints returns one endpoint's. Another cluster's node is nobody's here, whatever its
// name.
func hints(zones []discoveryv1.ForZone, byNode, own bool, node *string) *discoveryv1.EndpointHints {
	if len(zones) == 0 && !byNode {
		return nil
	}
	h := &discoveryv1.EndpointHints{ForZones: zones}
	if byNode {
		h.ForNodes = []discoveryv1.ForNode{{Name: Nowhere}}
		if own && node != nil {
			h.ForNodes[0].Name = *node
		}
	}
	return h
}

// forZones returns the zones' hints for each place; nil where there is no way to give
// some to all.
func (v Viewpoint) forZones(ready map[Place]bool) map[Place][]discoveryv1.ForZone {
	shares := v.Share(ready)
	if shares == nil {
		return nil
	}
	forZones := make(map[Place][]discoveryv1.ForZone, len(shares))
	for place, zones := range shares {
		for _, zone := range zones {
			forZones[place] = append(forZones[place], discoveryv1.ForZone{Name: zone})
		}
		if len(zones) == 0 {
			forZones[place] = []discoveryv1.ForZone{{Name: Nowhere}}
		}
	}
	return forZones
}

// Share shares the cluster's zones among the places with ready endpoints of a service:
// to each place those that it serves, sorted, which may be none. A zone is served by
// the places in it. If there are none, it is served by the cluster's other places, if
// there are none of these either, by those of its region, and at last by all.
//
// It returns nil where the cluster has no zones, and where the zones are more than the
// places have room for.
func (v Viewpoint) Share(ready map[Place]bool) map[Place][]string {
	if len(v.Zones) == 0 || len(ready) == 0 {
		return nil
	}
	shares := make(map[Place][]string, len(ready))
	served := map[string]bool{}
	nearest := far
	for place := range ready {
		shares[place] = nil
		if v.within(place) {
			shares[place] = []string{place.Zone}
			served[place.Zone] = true
		}
		nearest = min(nearest, v.distance(place.Cluster))
	}
	unserved := slices.DeleteFunc(slices.Clone(v.Zones), func(zone string) bool { return served[zone] })
	var servers []Place
	for place := range ready {
		if v.distance(place.Cluster) == nearest {
			servers = append(servers, place)
		}
	}
	if !deal(unserved, servers, shares) {
		return nil
	}
	return shares
}

// Distances of clusters.
const (
	own = iota
	near
	far
)

func (v Viewpoint) distance(cluster names.ClusterID) int {
	switch {
	case cluster == v.Cluster:
		return own
	case v.Near(cluster):
		return near
	}
	return far
}

// within tells whether a place is in one of the cluster's zones.
func (v Viewpoint) within(place Place) bool {
	if place.Cluster != v.Cluster && !v.SharedZones {
		return false
	}
	return slices.Contains(v.Zones, place.Zone)
}

// deal adds the zones to the shares of servers: all of them to each if there is room,
// otherwise as many as there is room for, where the last one's ended. It returns false
// if some zone was given to nobody.
func deal(zones []string, servers []Place, shares map[Place][]string) bool {
	slices.SortFunc(servers, func(a, b Place) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Zone, b.Zone))
	})
	given := 0
	for _, server := range servers {
		room := min(len(zones), MaxZones-len(shares[server]))
		for range room {
			shares[server] = append(shares[server], zones[given%len(zones)])
			given++
		}
		slices.Sort(shares[server])
	}
	return given >= len(zones)
}
