// Package lost decides which members are silent, so that their endpoints are on standby, and which are lost, so that
// their endpoints are withdrawn (docs/adr/0026-lost-members.md).
package lost

import (
	"maps"
	"slices"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/atoll-mcs/atoll/internal/broker/belief"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Heartbeats are the members' Leases, read after each renewal of this one's (docs/adr/0038-heartbeats-are-read.md). They
// know when each member was heard.
//
// Clocks of different machines are never compared. A missing renewal counts only while this process can see: its own
// renewals must come back from the broker. A member that has lost the broker finds no heartbeat missing.
type Heartbeats struct {
	// Changes publishes members whose heartbeat goes missing or returns.
	Changes kit.Changes[names.ClusterID]
	// Counters publishes the comparison counters in the Leases each time that they are read.
	Counters kit.Changes[Observation]
	// Reads publishes what each read showed.
	Reads kit.Changes[Read]

	self    names.ClusterID
	timeout time.Duration
	start   time.Time // of this process

	mu      sync.Mutex
	members map[names.ClusterID]*heartbeat
	removed map[names.ClusterID]bool
	own     heartbeat // this member's
	read    time.Time // the last read
	gap     time.Time // the last read that came late
}

const (
	// usual divides the timeout: the age that a healthy heartbeat reaches, because it is renewed and read eight times per timeout.
	usual = 4
	// margin divides the timeout: how much older than healthy ones a heartbeat must be to be late.
	margin = 20
	// memory is how long extremes are remembered, once or twice.
	memory = 30 * time.Minute
)

// Observation has the counters from a read that began at Began.
type Observation struct {
	Began    time.Time
	Counters map[names.ClusterID]belief.Counter
}

// Read is what one read of the heartbeats showed.
type Read struct {
	At time.Time
	// First is set for this process's first read, whose renewals may be old. Members are all other members then.
	First   bool
	Members []names.ClusterID
	// Renewed are the other members whose heartbeat was renewed since the read before, and when each will be late.
	Renewed map[names.ClusterID]time.Time
	// Missed are the other members whose heartbeat went missing. Gone are those that were removed from the clusterset.
	Missed, Gone []names.ClusterID
	// Own is set if this cluster's own renewal came back.
	Own bool
}

// heartbeat is one member's.
type heartbeat struct {
	renewal time.Time // the renewal time in the Lease, zero for never
	renewed time.Time // when it was last seen renewed, or first seen
	seen    time.Time // as renewed, or when observation began again
	sent    time.Time // the renewal time by this process's clock
	missing bool
	// unanswered is set if its endpoints did not answer since the last renewal.
	unanswered bool
	// delay is the time from a renewal to its read, by two clocks, and healthy is the age that a renewal ended.
	delay, healthy extremes
}

// NewHeartbeats returns a member's view of the heartbeats. One that is not renewed for timeout is missing.
func NewHeartbeats(self names.ClusterID, timeout time.Duration) *Heartbeats {
	return &Heartbeats{
		self: self, timeout: timeout, start: time.Now(),
		members: map[names.ClusterID]*heartbeat{}, removed: map[names.ClusterID]bool{},
	}
}

// Live reports whether a member's heartbeat is not missing. A member without a heartbeat does not live, except this one.
func (h *Heartbeats) Live(id names.ClusterID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	m := h.members[id]
	return id == h.self || m != nil && !m.missing
}

// Members returns the members whose heartbeats are not missing, this one included, sorted.
func (h *Heartbeats) Members() []names.ClusterID {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := []names.ClusterID{h.self}
	for id, m := range h.members {
		if !m.missing {
			all = append(all, id)
		}
	}
	slices.Sort(all)
	return all
}

// Renewals returns when each other member's heartbeat was last seen renewed, or first seen.
func (h *Heartbeats) Renewals() map[names.ClusterID]time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := map[names.ClusterID]time.Time{}
	for id, m := range h.members {
		all[id] = m.renewed
	}
	return all
}

// Own returns when this cluster's heartbeat last came back, or the zero time.
func (h *Heartbeats) Own() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.own.renewed
}

// Follow calls f with each later Read until end is called, and returns what all earlier ones showed. f must not block.
func (h *Heartbeats) Follow(f func(Read)) (before Read, end func()) {
	end = h.Reads.Subscribe(f)
	h.mu.Lock()
	defer h.mu.Unlock()
	before = Read{At: time.Now(), First: true, Renewed: map[names.ClusterID]time.Time{}}
	if !h.read.IsZero() {
		before.Members = slices.Collect(maps.Keys(h.members))
	}
	for id, m := range h.members {
		if before.Renewed[id] = h.lateAt(m); m.missing {
			before.Missed = append(before.Missed, id)
		}
	}
	return before, end
}

// Expect makes the given members missing after timeout if they never have a Lease, because they export something.
func (h *Heartbeats) Expect(ids ...names.ClusterID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range ids {
		if h.members[id] == nil && !h.removed[id] && id != h.self {
			now := time.Now() // observation begins
			h.members[id] = &heartbeat{renewed: now, seen: now, sent: now}
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

// Unanswered records that a member's endpoints do not answer, so the age of its heartbeat is not a healthy one's.
func (h *Heartbeats) Unanswered(id names.ClusterID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if m := h.members[id]; m != nil {
		m.unanswered = true
	}
}

// Observe records all Leases from a read that began at began, after this member's Lease was renewed. A member whose
// Lease does not exist counts as not renewing it, because the Lease may have been deleted by hand.
func (h *Heartbeats) Observe(began time.Time, leases []coordinationv1.Lease) {
	h.Counters.Publish(Observation{began, layout.Counters(leases)})
	h.mu.Lock()
	read, changed := h.take(time.Now(), renewals(leases))
	h.mu.Unlock()
	h.Changes.Publish(changed...)
	h.Reads.Publish(read)
}

// renewals returns when members renewed their Leases; zero for never.
func renewals(leases []coordinationv1.Lease) map[names.ClusterID]time.Time {
	all := make(map[names.ClusterID]time.Time, len(leases))
	for i := range leases {
		id := layout.LeaseOwner(&leases[i])
		if id == "" || id == names.HubOwner {
			continue
		}
		if all[id] = (time.Time{}); leases[i].Spec.RenewTime != nil {
			all[id] = leases[i].Spec.RenewTime.Time
		}
	}
	return all
}

// take records a read. It also returns the members whose heartbeat went missing or returned.
func (h *Heartbeats) take(at time.Time, renewals map[names.ClusterID]time.Time) (read Read, changed []names.ClusterID) {
	read = Read{At: at, First: h.read.IsZero(), Renewed: map[names.ClusterID]time.Time{}}
	if at.Sub(h.read) > h.timeout/usual {
		h.gap = at
	}
	before := h.read
	h.read = at
	for id := range h.removed {
		delete(renewals, id)
		if m := h.members[id]; m != nil {
			delete(h.members, id)
			if read.Gone = append(read.Gone, id); !m.missing {
				changed = append(changed, id)
			}
		}
	}
	own, ownThere := renewals[h.self]
	delete(renewals, h.self)
	for _, id := range slices.Sorted(maps.Keys(renewals)) {
		m := h.members[id]
		if m != nil && m.renewal.Equal(renewals[id]) {
			continue
		}
		if m == nil {
			m = &heartbeat{missing: true}
			h.members[id] = m
		}
		if m.missing {
			changed = append(changed, id)
		}
		h.renew(m, renewals[id], before, at)
		read.Renewed[id] = h.lateAt(m)
	}
	if read.First {
		read.Members = slices.Collect(maps.Keys(h.members))
	}
	if read.Own = ownThere && (h.own.renewed.IsZero() || !h.own.renewal.Equal(own)); read.Own {
		read.Missed = h.detect(at)
		h.renew(&h.own, own, before, at)
	}
	return read, append(changed, read.Missed...)
}

// renew records a renewal that the read before did not show.
func (h *Heartbeats) renew(m *heartbeat, renewal, before, at time.Time) {
	if !m.missing && !m.unanswered && m.renewed.After(h.gap) { // this process and the member were healthy meanwhile
		m.healthy.add(min(at.Sub(m.sent), h.timeout), at)
	}
	// This process's wall clock may have been set, its monotonic clock not.
	delay := at.Sub(h.start) + h.start.Round(0).Sub(renewal)
	if m.delay.add(delay, at); at.Add(m.delay.min() - delay).Before(before) {
		m.delay = extremes{} // the member's clock has been set back, or the write was slow
		m.delay.add(delay, at)
	}
	m.renewal, m.renewed, m.seen, m.missing, m.unanswered = renewal, at, at, false, false
	m.sent = at.Add(m.delay.min() - delay)
}

// lateAt returns when a member will be late without another renewal: when its heartbeat is older than healthy ones are.
func (h *Heartbeats) lateAt(m *heartbeat) time.Time {
	return m.sent.Add(max(h.timeout/usual, m.healthy.max()) + h.timeout/margin)
}

// detect returns the members whose heartbeat goes missing, when this member's heartbeat comes back: by then every
// earlier write has been seen. If this member was blind for long, it may have missed renewals, and begins again.
func (h *Heartbeats) detect(at time.Time) (missed []names.ClusterID) {
	blind := at.Sub(h.own.renewed) > h.timeout/2
	for _, id := range slices.Sorted(maps.Keys(h.members)) {
		switch m := h.members[id]; {
		case m.missing:
		case blind:
			m.seen = at
		case at.Sub(m.seen) >= h.timeout:
			m.missing = true
			missed = append(missed, id)
		}
	}
	return missed
}

// extremes are the extremes of the last half hour to hour.
type extremes struct {
	least, most [2]time.Duration // in this half hour, and in the one before
	since       time.Time
}

func (e *extremes) add(d time.Duration, at time.Time) {
	if age := at.Sub(e.since); age > memory {
		e.least[1], e.most[1] = e.least[0], e.most[0]
		if age > 2*memory {
			e.least[1], e.most[1] = d, d
		}
		e.least[0], e.most[0], e.since = d, d, at
	}
	e.least[0], e.most[0] = min(e.least[0], d), max(e.most[0], d)
}

func (e *extremes) min() time.Duration { return min(e.least[0], e.least[1]) }
func (e *extremes) max() time.Duration { return max(e.most[0], e.most[1]) }
