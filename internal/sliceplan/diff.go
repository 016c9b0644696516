package sliceplan

import (
	"cmp"
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
	Delete  []*discoveryv1.EndpointSlice
}

// Empty tells whether there is nothing to write.
func (c Changes) Empty() bool {
	return len(c.Replace)+len(c.Create)+len(c.Update)+len(c.Delete) == 0
}

// Diff returns the changes from have to want. Slices are the same if their names
// are. An update carries the resource version of what it changes, and keeps labels
// and annotations that others set.
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
			changes.Create = append(changes.Create, w)
		case h.AddressType != w.AddressType:
			changes.Replace = append(changes.Replace, h)
			changes.Create = append(changes.Create, w)
		default:
			if updated, changed := update(h, w); changed {
				changes.Update = append(changes.Update, updated)
			}
		}
	}
	for _, h := range existing {
		changes.Delete = append(changes.Delete, h)
	}
	for _, list := range [][]*discoveryv1.EndpointSlice{changes.Replace, changes.Create, changes.Update, changes.Delete} {
		slices.SortFunc(list, func(a, b *discoveryv1.EndpointSlice) int { return cmp.Compare(a.Name, b.Name) })
	}
	return changes
}

// update returns have with everything of want set, and whether that changes it.
func update(have, want *discoveryv1.EndpointSlice) (*discoveryv1.EndpointSlice, bool) {
	updated := have.DeepCopy()
	updated.Labels = ours(have.Labels, want.Labels)
	updated.Annotations = ours(have.Annotations, want.Annotations)
	updated.OwnerReferences = want.OwnerReferences
	updated.Endpoints = want.Endpoints
	updated.Ports = want.Ports
	// What others set stays, but not these: the one hides the slice from kube-proxy after
	// its service became one with a clusterset IP, the other would have kube-proxy count
	// an old change's time at each new one.
	if _, headless := want.Labels[names.LabelHeadless]; !headless {
		delete(updated.Labels, names.LabelHeadless)
	}
	if _, triggered := want.Annotations[names.AnnotationLastChangeTriggerTime]; !triggered {
		delete(updated.Annotations, names.AnnotationLastChangeTriggerTime)
	}
	return updated, !equality.Semantic.DeepEqual(have, updated)
}
