package choice

import (
	"cmp"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Group is a part of a source slice's ports that becomes one imported slice: at each of its ports an endpoint has the
// same role. Each port is in one group.
type Group struct {
	// Suffix distinguishes the names of a slice's groups: the group with the slice's first port by name has none, others
	// have their first port's name. Roles are not in the name, so a change of roles moves no port to another slice unless
	// groups split or merge.
	Suffix string
	Ports  []discoveryv1.EndpointPort
	// Endpoints has the decision for each endpoint of the slice, in the slice's order. It is nil if all are unchanged.
	Endpoints []Decision
}

// Groups splits one of a cluster's slices. Ports and Endpoints of the result are not to be changed. The groups are
// sorted by their first port.
func (r *Result) Groups(cluster names.ClusterID, slice *discoveryv1.EndpointSlice) []Group {
	i, known := r.index[cluster]
	if !known {
		return []Group{{Ports: slice.Ports}}
	}
	ports := portsOf(slice)
	slices.SortFunc(ports, comparePorts)
	var groups []Group
	for _, port := range ports {
		decisions := r.decisions(i, slice, port)
		if decisions == nil { // not a slice of the service that was decided
			return []Group{{Ports: slice.Ports}}
		}
		same := slices.IndexFunc(groups, func(g Group) bool { return sameRoles(g.Endpoints, decisions) })
		switch {
		case port == nil:
			return []Group{{Ports: slice.Ports, Endpoints: decisions}}
		case same >= 0:
			groups[same].Ports = append(groups[same].Ports, *port)
		default:
			group := Group{Ports: []discoveryv1.EndpointPort{*port}, Endpoints: decisions}
			if len(groups) > 0 {
				group.Suffix = ptr.Deref(port.Name, "")
			}
			groups = append(groups, group)
		}
	}
	return groups
}

func comparePorts(a, b *discoveryv1.EndpointPort) int {
	if a == nil || b == nil {
		return 0
	}
	return cmp.Or(cmp.Compare(ptr.Deref(a.Name, ""), ptr.Deref(b.Name, "")),
		cmp.Compare(ptr.Deref(a.Protocol, ""), ptr.Deref(b.Protocol, "")), cmp.Compare(ptr.Deref(a.Port, 0), ptr.Deref(b.Port, 0)))
}

func sameRoles(a, b []Decision) bool {
	return slices.EqualFunc(a, b, func(a, b Decision) bool { return a.Role == b.Role })
}

// decisions returns the decision for each endpoint of a cluster's slice at a port.
func (r *Result) decisions(cluster int, slice *discoveryv1.EndpointSlice, port *discoveryv1.EndpointPort) []Decision {
	state := r.ports[r.keyOf(slice, port)]
	if state == nil {
		return nil
	}
	decisions := make([]Decision, len(slice.Endpoints))
	for i := range slice.Endpoints {
		e := &slice.Endpoints[i]
		decisions[i] = r.omit(state.clusters[cluster].decisionFor(e, r.targetOf(e, port), state.hasActive))
	}
	return decisions
}

// decisionFor returns the decision for one endpoint. Other endpoints are in use if hasActive is set.
func (c *clusterState) decisionFor(e *discoveryv1.Endpoint, t target, hasActive bool) Decision {
	switch {
	case c.Role == Absent:
		return c.Decision
	case isReady(e) && c.Role == Active && c.active != nil && !c.active[t]:
		return Decision{Standby, BeyondShare}
	case isReady(e):
		return c.Decision
	case hasActive && isTerminating(e):
		return Decision{Off, Terminating}
	}
	return Decision{Unchanged, NotReady}
}

// Conditions returns how an endpoint with the role is written. Absent endpoints are not written.
func (r Role) Conditions(source discoveryv1.EndpointConditions) discoveryv1.EndpointConditions {
	switch r {
	case Standby:
		return discoveryv1.EndpointConditions{Ready: ptr.To(false), Serving: ptr.To(true), Terminating: ptr.To(true)}
	case Off:
		return discoveryv1.EndpointConditions{Ready: ptr.To(false), Serving: ptr.To(false), Terminating: ptr.To(true)}
	}
	return source
}

// MayHaveHints reports whether an endpoint with the role may have topology hints. They would limit who fails over to a
// standby endpoint.
func (r Role) MayHaveHints() bool { return r == Active || r == Unchanged }

// String returns the role as messages show it.
func (r Role) String() string {
	switch r {
	case Absent:
		return "Absent"
	case Off:
		return "Off"
	case Standby:
		return "Standby"
	case Active:
		return "Active"
	}
	return "Unchanged"
}
