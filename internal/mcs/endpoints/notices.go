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

// MaxMirrored is how many addresses for one set of ports the EndpointSlice mirroring controller takes from an Endpoints object, by default and
// at most (its flag --mirroring-max-endpoints-per-subset). It is also how many the Endpoints controller writes to one.
const MaxMirrored = 1000

// FirstUnsupported returns the first by name of the slices that can't be exported for the
// type of their addresses, or nil, and how many more there are.
func FirstUnsupported(sources []*discoveryv1.EndpointSlice) (first *discoveryv1.EndpointSlice, more int) {
	return firstOf(sources, func(s *discoveryv1.EndpointSlice) bool { return IsSource(s) && Unsupported(s) })
}

// FirstForeign returns, for a Service that has no slices of its own cluster, the first by name of those that are left
// out because they say that they are another's, or nil, and how many more there are.
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

// Truncated tells whether mirrored slices do not hold, or may not hold, all of their
// Endpoints object. The mirroring controller stops at MaxMirrored and says so by an Event on the
// Endpoints object alone, so it counts as truncated when it has reached that. An object
// that the Endpoints controller cut, before its Service lost its selector, is annotated, and the
// annotation is mirrored too.
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
