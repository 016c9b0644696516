// Package topology decides the topology hints of imported endpoints, for a service's trafficDistribution.
// docs/adr/0009-topology-hints.md explains the rules.
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
	// Nowhere is the zone and node of hints for no consumer: kube-proxy ignores all hints if one ready endpoint has
	// none.
	Nowhere = "nowhere.atoll.dev"
	// MaxZones is the API's limit for zones in an endpoint's hints.
	MaxZones = 8
)

// Viewpoint is a cluster's location.
type Viewpoint struct {
	Cluster names.ClusterID
	// Zones are the zones of the cluster's nodes, sorted.
	Zones []string
	// SharedZones is set if a zone name means the same zone in all clusters.
	SharedZones bool
	// Near reports whether another cluster is in this one's region.
	Near func(names.ClusterID) bool
}

// Wanted reports whether an import's endpoints get hints.
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

// Hint sets the hints of ready endpoints in an import's planned slices. ready has the places of all the service's ready
// endpoints. kube-proxy ignores the hints of others, so they get none.
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

// hints returns one endpoint's hints. Another cluster's node name means nothing here.
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

// forZones returns the zone hints for each place, or nil if some would get none.
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

// Share assigns the cluster's zones to the places with ready endpoints of a service; a place's zones are sorted, and
// may be none. A zone is served by the places in it, else by the cluster's other places, else by those in its region,
// else by all.
//
// It returns nil if the cluster has no zones, or more zones than fit into the places' hints.
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

// within reports whether a place is in one of the cluster's zones.
func (v Viewpoint) within(place Place) bool {
	if place.Cluster != v.Cluster && !v.SharedZones {
		return false
	}
	return slices.Contains(v.Zones, place.Zone)
}

// deal adds the zones to the shares of servers: all zones to each if there is room, otherwise as many as fit, starting
// where the previous server's ended. It returns false if a zone has no server.
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
