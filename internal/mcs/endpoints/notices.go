package endpoints

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// MaxMirrored is the most addresses per set of ports that the EndpointSlice mirroring controller takes from an
// Endpoints object (default and maximum of --mirroring-max-endpoints-per-subset), and that the Endpoints controller
// writes.
const MaxMirrored = 1000

// FirstUnsupported returns the first slice by name whose address type cannot be exported, or nil, and the number of
// others.
func FirstUnsupported(sources []*discoveryv1.EndpointSlice) (first *discoveryv1.EndpointSlice, more int) {
	return firstOf(sources, func(s *discoveryv1.EndpointSlice) bool { return IsSource(s) && Unsupported(s) })
}

// FirstForeign returns, for a Service without slices of its own cluster, the first slice by name that is marked as
// another cluster's, or nil, and the number of others.
func FirstForeign(sources []*discoveryv1.EndpointSlice) (first *discoveryv1.EndpointSlice, more int) {
	if slices.ContainsFunc(sources, IsSource) {
		return nil, 0
	}
	return firstOf(sources, func(s *discoveryv1.EndpointSlice) bool {
		return s.DeletionTimestamp == nil && s.Labels[discoveryv1.LabelManagedBy] != names.AgentManager
	})
}

func firstOf(sources []*discoveryv1.EndpointSlice, is func(*discoveryv1.EndpointSlice) bool) (first *discoveryv1.EndpointSlice, more int) {
	for _, s := range sources {
		if !is(s) {
			continue
		}
		if first != nil {
			more++
		}
		if first == nil || s.Name < first.Name {
			first = s
		}
	}
	return first, more
}

// Truncated reports whether mirrored slices may lack endpoints of their Endpoints object. The mirroring controller
// reports its limit only by an Event, so MaxMirrored addresses count as truncated. The Endpoints controller annotates
// an object that it truncated (before the Service lost its selector), and that annotation is mirrored.
func Truncated(sources []*discoveryv1.EndpointSlice) bool {
	mirrored := map[string]int{} // by ports: both IP families count together
	for _, s := range sources {
		if !IsSource(s) || s.Labels[discoveryv1.LabelManagedBy] != mirroringManager {
			continue
		}
		var ports []string
		for _, p := range s.Ports {
			ports = append(ports, fmt.Sprintf("%s/%s/%d", ptr.Deref(p.Name, ""), ptr.Deref(p.Protocol, corev1.ProtocolTCP), ptr.Deref(p.Port, 0)))
		}
		slices.Sort(ports)
		key := strings.Join(ports, " ")
		mirrored[key] += len(s.Endpoints)
		if mirrored[key] >= MaxMirrored || s.Annotations[corev1.EndpointsOverCapacity] != "" {
			return true
		}
	}
	return false
}
