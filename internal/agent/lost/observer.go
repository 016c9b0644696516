package lost

import (
	"slices"
	"sync"
	"time"
)

// observer decides which members of a clusterset live, by the time since this process last saw their heartbeats
// renewed. The caller passes all times, from one monotonic clock.
//
// Clocks of different machines are never compared. A missing renewal counts only while this process can see: its own
// renewals must come back from the broker. A member that has lost the broker finds no other member lost.
type observer struct {
	self    string
	timeout time.Duration

	mu      sync.Mutex
	members map[string]*heartbeat
}

type heartbeat struct {
	seen    time.Time // when it was last renewed, or observation began
	renewed time.Time // when it was last renewed, or first seen
	lost    bool
}

// newObserver returns the observer of the member self. Another member is lost when its heartbeat is not seen renewed
// for timeout, which should be several renewal intervals.
func newObserver(self string, timeout time.Duration) *observer {
	return &observer{self: self, timeout: timeout, members: map[string]*heartbeat{}}
}

// Renewed records a new or changed heartbeat, and returns the members that became live or lost.
//
// It checks all members when its own heartbeat comes back: by then every earlier write has been seen. If heartbeats are
// read as often as they are renewed, a loss is found within the timeout plus two renewal intervals: one until the last
// renewal is seen, one until its own heartbeat comes back.
func (o *observer) Renewed(member string, at time.Time) (changed []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	h := o.members[member]
	if h == nil {
		h = &heartbeat{lost: true}
		o.members[member] = h
	}
	if h.lost && member != o.self {
		changed = append(changed, member)
	}
	blind := at.Sub(h.seen)
	h.seen, h.renewed, h.lost = at, at, false
	switch {
	case member != o.self:
		return changed
	case blind > o.timeout/2:
		// Renewals may have been missed meanwhile: restart the observation.
		o.begin(at)
		return changed
	default:
		return o.detect(at)
	}
}

// begin counts all live members as seen.
func (o *observer) begin(at time.Time) {
	for _, h := range o.members {
		if !h.lost {
			h.seen = at
		}
	}
}

func (o *observer) detect(at time.Time) (lost []string) {
	for member, h := range o.members {
		if !h.lost && at.Sub(h.seen) >= o.timeout {
			h.lost = true
			lost = append(lost, member)
		}
	}
	slices.Sort(lost)
	return lost
}

// Gone removes a member whose heartbeat was deleted, and returns it if it lived.
func (o *observer) Gone(member string) (changed []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	h := o.members[member]
	delete(o.members, member)
	if h == nil || h.lost || member == o.self {
		return nil
	}
	return []string{member}
}

// Live reports whether a member lives. A member without a heartbeat does not, except this one.
func (o *observer) Live(member string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	h := o.members[member]
	return member == o.self || h != nil && !h.lost
}

// Members returns the live members, including this one, sorted.
func (o *observer) Members() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	live := []string{o.self}
	for member, h := range o.members {
		if !h.lost && member != o.self {
			live = append(live, member)
		}
	}
	slices.Sort(live)
	return live
}

// Renewals returns when each other member's heartbeat was last seen renewed, or first seen.
func (o *observer) Renewals() map[string]time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	renewals := map[string]time.Time{}
	for member, h := range o.members {
		if member != o.self {
			renewals[member] = h.renewed
		}
	}
	return renewals
}

// Own returns when this member's heartbeat last came back, or the zero time.
func (o *observer) Own() time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	if h := o.members[o.self]; h != nil {
		return h.renewed
	}
	return time.Time{}
}
