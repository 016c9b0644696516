package sliceplan

import (
	"maps"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"
)

// identity tells the endpoints of a service apart.
type identity struct {
	address, hostname string
}

func identify(e *discoveryv1.Endpoint) identity {
	id := identity{hostname: ptr.Deref(e.Hostname, "")}
	if len(e.Addresses) > 0 {
		id.address = e.Addresses[0]
	}
	return id
}

// index finds endpoints by their identity, each once. Nothing in the API keeps two
// endpoints of a slice from having the same.
type index struct {
	endpoints []discoveryv1.Endpoint
	first     map[identity]int
	next      []int // of the same identity; -1 for none
}

func indexEndpoints(endpoints []discoveryv1.Endpoint) index {
	x := index{endpoints: endpoints, first: make(map[identity]int, len(endpoints)), next: make([]int, len(endpoints))}
	for i := len(endpoints) - 1; i >= 0; i-- {
		id := identify(&endpoints[i])
		x.next[i] = -1
		if later, found := x.first[id]; found {
			x.next[i] = later
		}
		x.first[id] = i
	}
	return x
}

// take returns where an endpoint of e's identity is, and forgets it. Of several, it is one
// that is the same as e, if there is one.
func (x *index) take(e *discoveryv1.Endpoint) (at int, found bool) {
	id := identify(e)
	first, found := x.first[id]
	if !found {
		return 0, false
	}
	at, before := first, -1
	for i, previous := first, -1; i >= 0 && x.next[first] >= 0; i, previous = x.next[i], i {
		if sameEndpoint(&x.endpoints[i], e) {
			at, before = i, previous
			break
		}
	}
	switch {
	case before >= 0:
		x.next[before] = x.next[at]
	case x.next[at] >= 0:
		x.first[id] = x.next[at]
	default:
		delete(x.first, id)
	}
	return at, true
}

// sameEndpoints tells whether two lists are the same, as the API sees it: it knows no
// difference between none and empty. Comparing field by field, and not by reflection,
// counts where it is done for every endpoint at every event.
func sameEndpoints(a, b []discoveryv1.Endpoint) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !sameEndpoint(&a[i], &b[i]) || !sameHints(a[i].Hints, b[i].Hints) {
			return false
		}
	}
	return true
}

// sameEndpoint compares two endpoints but for their topology hints, which depend on other
// endpoints than these.
func sameEndpoint(a, b *discoveryv1.Endpoint) bool {
	return slices.Equal(a.Addresses, b.Addresses) &&
		ptr.Equal(a.Conditions.Ready, b.Conditions.Ready) &&
		ptr.Equal(a.Conditions.Serving, b.Conditions.Serving) &&
		ptr.Equal(a.Conditions.Terminating, b.Conditions.Terminating) &&
		ptr.Equal(a.Hostname, b.Hostname) &&
		ptr.Equal(a.TargetRef, b.TargetRef) &&
		maps.Equal(a.DeprecatedTopology, b.DeprecatedTopology) &&
		ptr.Equal(a.NodeName, b.NodeName) &&
		ptr.Equal(a.Zone, b.Zone)
}

func sameHints(a, b *discoveryv1.EndpointHints) bool {
	if a == nil || b == nil {
		return a == b
	}
	return slices.Equal(a.ForZones, b.ForZones) && slices.Equal(a.ForNodes, b.ForNodes)
}

func samePorts(a, b []discoveryv1.EndpointPort) bool {
	return slices.EqualFunc(a, b, func(a, b discoveryv1.EndpointPort) bool {
		return ptr.Equal(a.Name, b.Name) && ptr.Equal(a.Protocol, b.Protocol) &&
			ptr.Equal(a.Port, b.Port) && ptr.Equal(a.AppProtocol, b.AppProtocol)
	})
}

// takesAway tells whether clients must stop using before as they do when it becomes after:
// for another readiness, or because it is another thing at the same address, or for others.
func takesAway(before, after *discoveryv1.Endpoint) bool {
	for _, condition := range []func(*discoveryv1.Endpoint) bool{isReady, isServing, isStaying} {
		if condition(before) && !condition(after) {
			return true
		}
	}
	other := *before
	other.Conditions = after.Conditions
	return !sameEndpoint(&other, after) || !sameHints(before.Hints, after.Hints)
}

// isUsed tells whether anybody sends traffic to an endpoint that goes: to ready ones and,
// as kube-proxy does where there are none of these, to those that serve although they
// terminate. Where its slice has a ready one left, that one is used in its place, unless
// traffic stays on a node (internalTrafficPolicy Local), which only the own cluster's can.
func isUsed(e *discoveryv1.Endpoint, slice *discoveryv1.EndpointSlice) bool {
	if isReady(e) || !isServing(e) {
		return isReady(e)
	}
	return e.NodeName != nil || slice == nil || !hasReady(slice)
}

// What a condition means that is not stated follows from the API's documentation of it.

func isReady(e *discoveryv1.Endpoint) bool   { return ptr.Deref(e.Conditions.Ready, true) }
func isServing(e *discoveryv1.Endpoint) bool { return ptr.Deref(e.Conditions.Serving, true) }
func isStaying(e *discoveryv1.Endpoint) bool { return !ptr.Deref(e.Conditions.Terminating, false) }
