package sliceplan

import (
	"cmp"
	"maps"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/atoll-mcs/atoll/internal/names"
)

// Changes are the writes that lead from one set of slices to another, each list
// sorted by name. They are made in the order of the fields: what is new goes before
// what is old, so that a service whose slices are replaced by others is never without
// endpoints.
type Changes struct {
	// Replace are deleted although slices of their names are created: the API does not
	// allow a slice's address type to change.
	Replace []*discoveryv1.EndpointSlice
	Create  []*discoveryv1.EndpointSlice
	Update  []*discoveryv1.EndpointSlice
	// Release are updates of slices that lose endpoints to others of the changes. Of two that lose
	// some to each other nothing is known to be the right order.
	Release []*discoveryv1.EndpointSlice
	Delete  []*discoveryv1.EndpointSlice

	// Added and Removed are how many endpoints the slices get and lose.
	Added, Removed int
	// Withdraws tells that clients must stop using something: an endpoint that goes or
	// that is not ready any more, or that is something else now. Otherwise there are only
	// endpoints to win.
	Withdraws bool
}

// Empty tells whether there is nothing to write.
func (c Changes) Empty() bool {
	return len(c.Replace)+len(c.Create)+len(c.Update)+len(c.Release)+len(c.Delete) == 0
}

// Written returns the slices that are created or updated.
func (c Changes) Written() []*discoveryv1.EndpointSlice {
	return slices.Concat(c.Create, c.Update, c.Release)
}

// Diff returns the changes from have to want. Slices are the same if their names
// are. An update carries the resource version of what it changes, and keeps labels
// and annotations that others set. What is to be written shares nothing with want.
func Diff(have []*discoveryv1.EndpointSlice, want []discoveryv1.EndpointSlice) Changes {
	existing := make(map[string]*discoveryv1.EndpointSlice, len(have))
	for _, h := range have {
		existing[h.Name] = h
	}
	var changes Changes
	for i := range want {
		w := &want[i]
		h, found := existing[w.Name]
		delete(existing, w.Name)
		switch {
		case !found:
			changes.Create = append(changes.Create, w.DeepCopy())
		case h.AddressType != w.AddressType:
			changes.Replace = append(changes.Replace, h)
			changes.Create = append(changes.Create, w.DeepCopy())
		case !current(h, w):
			changes.Update = append(changes.Update, updated(h, w))
			changes.Withdraws = changes.Withdraws || !sameOtherwise(h, w)
		}
	}
	for _, h := range existing {
		changes.Delete = append(changes.Delete, h)
	}
	for _, list := range [][]*discoveryv1.EndpointSlice{changes.Replace, changes.Create, changes.Update, changes.Delete} {
		slices.SortFunc(list, func(a, b *discoveryv1.EndpointSlice) int { return cmp.Compare(a.Name, b.Name) })
	}
	changes.count(have)
	return changes
}

// count sees what becomes of the endpoints in the slices that are written. One that moves
// from one slice to another is neither added nor removed.
func (c *Changes) count(have []*discoveryv1.EndpointSlice) {
	if c.Empty() {
		return
	}
	if len(c.Replace)+len(c.Update)+len(c.Delete) == 0 { // as for a new service: nothing can have moved
		for _, s := range c.Create {
			c.Added += len(s.Endpoints)
		}
		return
	}
	after := map[string]*discoveryv1.EndpointSlice{} // nil for those that go
	var endpoints []discoveryv1.Endpoint
	var in []*discoveryv1.EndpointSlice // the slice that each is in
	for _, s := range slices.Concat(c.Create, c.Update) {
		after[s.Name] = s
		endpoints = append(endpoints, s.Endpoints...)
		in = append(in, slices.Repeat([]*discoveryv1.EndpointSlice{s}, len(s.Endpoints))...)
	}
	for _, s := range c.Delete {
		after[s.Name] = nil
	}
	remaining := indexEndpoints(endpoints)
	c.Added = len(endpoints)
	loses := map[*discoveryv1.EndpointSlice]bool{}
	for _, h := range have {
		now, written := after[h.Name]
		if !written {
			continue
		}
		for i := range h.Endpoints {
			before := &h.Endpoints[i]
			at, found := remaining.take(before)
			if found {
				if now != nil && in[at] != now {
					loses[now] = true
				}
				c.Added--
				c.Withdraws = c.Withdraws || takesAway(before, &endpoints[at])
			} else {
				c.Removed++
				c.Withdraws = c.Withdraws || isUsed(before, now)
			}
		}
	}
	c.release(loses)
}

// release has updates wait for the others that lose endpoints to these.
func (c *Changes) release(loses map[*discoveryv1.EndpointSlice]bool) {
	if len(loses) == 0 {
		return
	}
	c.Release = slices.DeleteFunc(slices.Clone(c.Update), func(s *discoveryv1.EndpointSlice) bool { return !loses[s] })
	c.Update = slices.DeleteFunc(c.Update, func(s *discoveryv1.EndpointSlice) bool { return loses[s] })
}

// current tells whether have has everything of want. The time of the last change alone is
// no difference: it would be written to all parts of a source of which one changes.
func current(have, want *discoveryv1.EndpointSlice) bool {
	return sameEndpoints(have.Endpoints, want.Endpoints) && sameOtherwise(have, want)
}

// sameOtherwise compares what concerns all of a slice's endpoints.
func sameOtherwise(have, want *discoveryv1.EndpointSlice) bool {
	_, hidden := have.Labels[names.LabelHeadless]
	_, hide := want.Labels[names.LabelHeadless]
	return hidden == hide && includes(have.Labels, want.Labels, "") &&
		includes(have.Annotations, want.Annotations, names.AnnotationLastChangeTriggerTime) &&
		samePorts(have.Ports, want.Ports) &&
		equality.Semantic.DeepEqual(have.OwnerReferences, want.OwnerReferences)
}

// includes tells whether have has all of want but except.
func includes(have, want map[string]string, except string) bool {
	for key, value := range want {
		if had, found := have[key]; key != except && (!found || had != value) {
			return false
		}
	}
	return true
}

// updated returns have with everything of want set. What others set stays, but not what
// we have set and do not want any more: the one label would hide the slice from kube-proxy
// after its service became one with a clusterset IP, the one annotation would have
// kube-proxy count an old change's time at each new one.
func updated(have, want *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	w := want.DeepCopy()
	u := &discoveryv1.EndpointSlice{ObjectMeta: *have.ObjectMeta.DeepCopy(), AddressType: have.AddressType}
	u.Labels = with(have.Labels, w.Labels, names.LabelHeadless)
	u.Annotations = with(have.Annotations, w.Annotations, names.AnnotationLastChangeTriggerTime)
	if !triggered(have, want) {
		delete(u.Annotations, names.AnnotationLastChangeTriggerTime)
	}
	u.OwnerReferences, u.Endpoints, u.Ports = w.OwnerReferences, w.Endpoints, w.Ports
	return u
}

// with returns have with all of want set, and passing only if want has it.
func with(have, want map[string]string, passing string) map[string]string {
	all := make(map[string]string, len(have)+len(want))
	maps.Copy(all, have)
	delete(all, passing)
	maps.Copy(all, want)
	return all
}
