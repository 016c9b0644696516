// Package share limits how much of a cluster's resources one member may use, so that a faulty or hostile member leaves
// enough for other members.
package share

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Records is how many services one member may export. Of more, the oldest count, in the same order in all clusters: they
// decide together what a service is.
const Records = 10_000

// Oldest knows which services of one member are among its oldest ones, by when they were exported, then by name. The zero value
// is not usable; create with NewOldest.
type Oldest struct {
	limit int
	since map[types.NamespacedName]time.Time
	order []types.NamespacedName // oldest first
}

// NewOldest returns the oldest limit of no services.
func NewOldest(limit int) *Oldest {
	return &Oldest{limit: limit, since: map[types.NamespacedName]time.Time{}}
}

// Set adds a service, or changes when it was exported. It returns the services of which the answer of Exceeds may have changed.
func (o *Oldest) Set(service types.NamespacedName, at time.Time) (changed []types.NamespacedName) {
	if last, there := o.since[service]; there && last.Equal(at) {
		return nil
	}
	before := o.Exceeds(service)
	changed = o.Delete(service)
	i := o.position(service, at)
	o.order, o.since[service] = slices.Insert(o.order, i, service), at
	if i < o.limit && len(o.order) > o.limit {
		changed = append(changed, o.order[o.limit])
	}
	if before != o.Exceeds(service) {
		changed = append(changed, service)
	}
	return changed
}

// Delete removes a service. It returns the other services of which the answer of Exceeds may have changed.
func (o *Oldest) Delete(service types.NamespacedName) (changed []types.NamespacedName) {
	at, there := o.since[service]
	if !there {
		return nil
	}
	i := o.position(service, at)
	o.order = slices.Delete(o.order, i, i+1)
	delete(o.since, service)
	if i < o.limit && len(o.order) >= o.limit {
		changed = append(changed, o.order[o.limit-1])
	}
	return changed
}

// Exceeds reports whether a service is there, but not among the oldest ones.
func (o *Oldest) Exceeds(service types.NamespacedName) bool {
	at, there := o.since[service]
	if !there || len(o.order) <= o.limit {
		return false
	}
	first := o.order[o.limit] // of those that are too many
	return cmp.Or(at.Compare(o.since[first]), compare(service, first)) >= 0
}

// TooMany returns how many services are too many.
func (o *Oldest) TooMany() int { return max(0, len(o.order)-o.limit) }

// position returns the place in order of a service that was exported at a time.
func (o *Oldest) position(service types.NamespacedName, at time.Time) int {
	i, _ := slices.BinarySearchFunc(o.order, service, func(other, _ types.NamespacedName) int {
		return cmp.Or(o.since[other].Compare(at), compare(other, service))
	})
	return i
}

func compare(a, b types.NamespacedName) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}
