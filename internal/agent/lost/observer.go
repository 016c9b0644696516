package lost

import (
	"slices"
	"sync"
	"time"
)

// observer tells which members of a clusterset live, by how long this process has not seen their
// heartbeats renewed. The times that it is given are of one clock, which only goes forward; it has
// none itself.
//
// Clocks of different machines are never compared: what counts is when a renewal was seen here.
// And what is not seen here counts only while this process can see: its own renewals have to come
// back to it the way the others' do. One that has lost the broker finds nobody lost.
type observer struct {
	self    string
	timeout time.Duration

	mu      sync.Mutex
	members map[string]*heartbeat
}

// heartbeat is what is known of one member's.
type heartbeat struct {
	seen    time.Time // when it was last renewed, or when looking began
	renewed time.Time // when it was last renewed, or seen for the first time
	lost    bool
}

// newObserver returns the observer of the member self. Another one is lost when its
// heartbeat has not been seen renewed for timeout, which should be several times as long
// as the interval between renewals.
func newObserver(self string, timeout time.Duration) *observer {
	return &observer{self: self, timeout: timeout, members: map[string]*heartbeat{}}
}

// Renewed is called when a member's heartbeat is seen for the first time, or has changed.
// It returns those that live now and did not before, or the reverse.
//
// Members are checked whenever the own heartbeat comes back, for at that moment all that
// was written before has been seen. Where heartbeats are read as often as they are renewed, a loss is found
// after the timeout and at most two intervals between renewals: until the last renewal is seen, and until the own
// one comes back.
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
		// Whoever was not seen meanwhile may have been there: looking begins anew.
		o.begin(at)
		return changed
	default:
		return o.detect(at)
	}
}

// begin counts all that live as seen.
func (o *observer) begin(at time.Time) {
	for _, h := range o.members {
		if !h.lost {
			h.seen = at
		}
	}
}

// detect finds those that have become lost.
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

// Gone is called when a member's heartbeat is deleted. It returns the member if it lived.
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

// Live tells whether a member lives. One without a heartbeat does not, but this one
// itself always does.
func (o *observer) Live(member string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	h := o.members[member]
	return member == o.self || h != nil && !h.lost
}

// Members returns those that live, this one included, sorted.
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

// Renewals returns when the heartbeat of each other member was last seen to have been renewed, or
// when it was seen for the first time.
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

// Own returns when the own heartbeat has last come back, the zero time if it never has.
func (o *observer) Own() time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	if h := o.members[o.self]; h != nil {
		return h.renewed
	}
	return time.Time{}
}
