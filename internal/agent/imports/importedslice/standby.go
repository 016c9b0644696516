package importedslice

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/mcs/choice"
	"github.com/atoll-mcs/atoll/internal/mcs/endpoints"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// withoutRoles guesses the source of an imported slice: endpoints on standby are ready there.
func withoutRoles(have *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	if have == nil || len(layout.StandbyReasons(have)) == 0 && have.Annotations[names.AnnotationAbsent] == "" {
		return have
	}
	guess := *have
	guess.Labels, guess.Annotations = maps.Clone(have.Labels), maps.Clone(have.Annotations)
	delete(guess.Labels, names.LabelStandby)
	delete(guess.Annotations, names.LabelStandby)
	delete(guess.Annotations, names.AnnotationAbsent)
	guess.Endpoints = slices.Clone(have.Endpoints)
	for i := range guess.Endpoints {
		if e := &guess.Endpoints[i]; endpoints.IsStandby(e) {
			e.Conditions = discoveryv1.EndpointConditions{Ready: ptr.To(true), Serving: ptr.To(true), Terminating: ptr.To(false)}
		}
	}
	return &guess
}

// withRoles returns a group's ports and endpoints of a planned slice.
func withRoles(planned *discoveryv1.EndpointSlice, group choice.Group, req Request) *discoveryv1.EndpointSlice {
	slice := *planned
	slice.Name, slice.Ports = req.name().Name, group.Ports
	slice.Labels, slice.Annotations = copied(planned.Labels), copied(planned.Annotations)
	if req.Ports != "" {
		slice.Annotations[names.AnnotationPorts] = req.Ports
	}
	if group.Endpoints == nil {
		slice.Endpoints = slices.Clone(planned.Endpoints) // they get hints
		return &slice
	}
	slice.Endpoints = nil
	standby := map[choice.Reason]int{}
	for i, e := range planned.Endpoints {
		d := group.Endpoints[i]
		if d.Role == choice.Absent {
			slice.Annotations[names.AnnotationAbsent] = string(d.Reason)
			continue
		}
		if d.Role == choice.Standby || d.Role == choice.Off && d.Reason != choice.Terminating {
			standby[d.Reason]++
		}
		e.Conditions = d.Role.Conditions(e.Conditions)
		slice.Endpoints = append(slice.Endpoints, e)
	}
	mark(&slice, standby)
	return &slice
}

// mark says how many endpoints stand by, and why.
func mark(slice *discoveryv1.EndpointSlice, standby map[choice.Reason]int) {
	var counts []string
	for reason, n := range standby {
		if n == len(slice.Endpoints) {
			slice.Labels[names.LabelStandby] = string(reason)
			return
		}
		counts = append(counts, fmt.Sprintf("%s=%d", reason, n))
	}
	if len(counts) > 0 {
		slices.Sort(counts)
		slice.Annotations[names.LabelStandby] = strings.Join(counts, ",")
	}
}

// clearHints removes the hints of endpoints on standby: they would limit who can fail over to them.
func clearHints(slice *discoveryv1.EndpointSlice) {
	for i := range slice.Endpoints {
		if e := &slice.Endpoints[i]; !ptr.Deref(e.Conditions.Ready, true) {
			e.Hints = nil
		}
	}
}

// promotes reports whether a write brings endpoints into use that stood by, were off or absent. It does not wait for rate limits.
func promotes(have, want *discoveryv1.EndpointSlice) bool {
	if have == nil || want == nil {
		return false
	}
	unused := map[string]bool{} // by address, of those that are there
	for i := range have.Endpoints {
		e := &have.Endpoints[i]
		unused[e.Addresses[0]] = !ptr.Deref(e.Conditions.Ready, true) && ptr.Deref(e.Conditions.Terminating, false)
	}
	wasAbsent := have.Annotations[names.AnnotationAbsent] != ""
	return slices.ContainsFunc(want.Endpoints, func(e discoveryv1.Endpoint) bool {
		before, there := unused[e.Addresses[0]]
		return ptr.Deref(e.Conditions.Ready, true) && (before || wasAbsent && !there)
	})
}

// lastReady returns the ports at which have has ready endpoints, and want has none.
func lastReady(have, want *discoveryv1.EndpointSlice) (ports []discoveryv1.EndpointPort) {
	for _, p := range have.Ports {
		if isServedAt(have, have, p) && !isServedAt(want, have, p) {
			ports = append(ports, p)
		}
	}
	return ports
}

// isServedAt reports whether a slice has a ready endpoint at a port of another slice.
func isServedAt(slice, of *discoveryv1.EndpointSlice, port discoveryv1.EndpointPort) bool {
	return hasPort(slice, port) && slice.AddressType == of.AddressType && slices.ContainsFunc(slice.Endpoints, func(e discoveryv1.Endpoint) bool {
		return ptr.Deref(e.Conditions.Ready, true)
	})
}

func hasPort(slice *discoveryv1.EndpointSlice, port discoveryv1.EndpointPort) bool {
	return slice != nil && slices.ContainsFunc(slice.Ports, func(p discoveryv1.EndpointPort) bool {
		return ptr.Equal(p.Name, port.Name) && ptr.Equal(p.Protocol, port.Protocol)
	})
}

// copied returns a copy of labels or annotations to write to.
func copied(of map[string]string) map[string]string {
	all := make(map[string]string, len(of)+1)
	maps.Copy(all, of)
	return all
}
