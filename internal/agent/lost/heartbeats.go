// Package lost decides which members are lost, so that their endpoints are withdrawn in this cluster
// (docs/adr/0026-lost-members.md).
package lost

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/atoll-mcs/atoll/internal/broker/belief"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Listener receives heartbeat events. Its methods must not block.
type Listener interface {
	// Renewed is called when a member's heartbeat was renewed, including this cluster's.
	Renewed(names.ClusterID)
	// Missed is called when another member's heartbeat goes missing.
	Missed(names.ClusterID)
	// Gone is called when a member is removed from the clusterset.
	Gone(names.ClusterID)
}

// Heartbeats are the members' Leases, read after each renewal of this one's (docs/adr/0038-heartbeats-are-read.md).
type Heartbeats struct {
	// Changes publishes members whose heartbeat goes missing or returns.
	Changes kit.Changes[names.ClusterID]
	// Counters publishes the comparison counters in the Leases each time that they are read.
	Counters kit.Changes[Observation]

	self     names.ClusterID
	observer *observer
	synced   chan struct{} // closed after the first read

	mu       sync.Mutex
	known    map[names.ClusterID]metav1.MicroTime // the renewal time in each Lease
	read     bool
	removed  map[names.ClusterID]bool
	listener Listener
}

// Observation has the counters from a read that began at Began.
type Observation struct {
	Began    time.Time
	Counters map[names.ClusterID]belief.Counter
}

// NewHeartbeats returns a member's view of the heartbeats. One that is not renewed for timeout is missing.
func NewHeartbeats(self names.ClusterID, timeout time.Duration) *Heartbeats {
	return &Heartbeats{
		known: map[names.ClusterID]metav1.MicroTime{}, removed: map[names.ClusterID]bool{}, self: self, observer: newObserver(self.String(), timeout), synced: make(chan struct{}),
	}
}

// Await waits until the heartbeats are known, or returns ctx's error.
func (h *Heartbeats) Await(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-h.synced:
		return nil
	}
}

// Live reports whether a member's heartbeat is not missing.
func (h *Heartbeats) Live(id names.ClusterID) bool { return h.observer.Live(id.String()) }

// Members returns the members whose heartbeats are not missing, this one included, sorted.
func (h *Heartbeats) Members() []names.ClusterID {
	var all []names.ClusterID
	for _, id := range h.observer.Members() {
		all = append(all, names.ClusterID(id))
	}
	return all
}

// Renewals returns when each other member's heartbeat was last seen renewed.
func (h *Heartbeats) Renewals() map[string]time.Time { return h.observer.Renewals() }

// Own returns when this cluster's heartbeat last came back, or the zero time.
func (h *Heartbeats) Own() time.Time { return h.observer.Own() }

// Listen sets the listener, replaces a former connection's, and returns the members that have a heartbeat.
func (h *Heartbeats) Listen(l Listener) []names.ClusterID {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.listener = l
	return slices.Sorted(maps.Keys(h.known))
}

// Expect makes the given members missing after timeout if they never have a Lease, because they export something.
func (h *Heartbeats) Expect(ids ...names.ClusterID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range ids {
		if _, known := h.known[id]; !known && !h.removed[id] && id != h.self {
			h.known[id] = metav1.MicroTime{}
			h.observer.Renewed(id.String(), time.Now()) // observation begins
		}
	}
}

// Remove excludes a member, or includes it again.
func (h *Heartbeats) Remove(id names.ClusterID, removed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if delete(h.removed, id); removed {
		h.removed[id] = true
	}
}

// renewals returns when members renewed their Leases; zero for never.
func renewals(leases []coordinationv1.Lease) map[names.ClusterID]metav1.MicroTime {
	all := make(map[names.ClusterID]metav1.MicroTime, len(leases))
	for i := range leases {
		id := names.ClusterID(leases[i].Name)
		if id == names.HubOwner {
			continue
		}
		if all[id] = (metav1.MicroTime{}); leases[i].Spec.RenewTime != nil {
			all[id] = *leases[i].Spec.RenewTime
		}
	}
	return all
}

// replace makes renewals the known ones. A known member without a Lease stays, a removed one does not.
func (h *Heartbeats) replace(renewals map[names.ClusterID]metav1.MicroTime) (before, now map[names.ClusterID]metav1.MicroTime, first bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before, first = h.known, !h.read
	for id, renewed := range before {
		if _, there := renewals[id]; !there {
			renewals[id] = renewed
		}
	}
	for id := range h.removed {
		delete(renewals, id)
	}
	h.known, h.read = renewals, true
	return before, renewals, first
}

// Observe records all Leases from a read that began at began, after this member's Lease was renewed. A member whose
// Lease does not exist counts as not renewing it, because the Lease may have been deleted by hand.
func (h *Heartbeats) Observe(began time.Time, leases []coordinationv1.Lease) {
	h.Counters.Publish(Observation{began, layout.Counters(leases)})
	before, now, first := h.replace(renewals(leases))
	h.mu.Lock()
	listener := h.listener
	h.mu.Unlock()
	notify := func(ids []string) {
		for _, id := range ids {
			h.Changes.Publish(names.ClusterID(id))
			if listener != nil && !h.observer.Live(id) {
				listener.Missed(names.ClusterID(id))
			}
		}
	}
	for id := range before {
		if _, there := now[id]; !there && id != h.self {
			notify(h.observer.Gone(id.String()))
			if listener != nil {
				listener.Gone(id)
			}
		}
	}
	ids := slices.DeleteFunc(slices.Sorted(maps.Keys(now)), func(id names.ClusterID) bool { return id == h.self })
	for _, id := range append(ids, h.self) { // this member is last: the observer checks the others then
		was, known := before[id]
		if is := now[id]; known && was.Equal(&is) {
			continue
		}
		notify(h.observer.Renewed(id.String(), time.Now()))
		if listener != nil && !first {
			listener.Renewed(id)
		}
	}
	if first {
		close(h.synced)
	}
}
