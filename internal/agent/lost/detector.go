package lost

import (
	"maps"
	"slices"
	"time"
)

const (
	// probes is how often a member whose heartbeat is missing is asked within the time after
	// which a heartbeat is missed.
	probes = 4
	// freeFlaps is how often a member may be withdrawn and come back at once.
	freeFlaps = 2
	// maxDelay is the longest time, in multiples of that after which a heartbeat is missed,
	// that a member is kept waiting which goes and comes all the time.
	maxDelay = 16
	// fresh is the part of that time for which the outcome of a probe says something.
	fresh = 4
	// quiet is after how many of those a member that has stayed has no past.
	quiet = 2 * maxDelay
	// longGone is after what time a member that is lost does not count among the others any more.
	longGone = 24 * time.Hour
)

// Detector follows the heartbeats and probes of the other members of a clusterset. It is told of everything
// with the time at which that was seen here, by one clock, which only goes forward.
type Detector struct {
	timeout time.Duration
	members map[string]*member
	// renewalRequested is when the detector last asked for a renewal of the own heartbeat.
	renewalRequested time.Time
	// exports tells whether a member exports anything: one that does not is no loss.
	exports func(id string) bool
}

// member is what is known of one.
type member struct {
	seen      time.Time // when its heartbeat was last renewed, or looking began
	missing   bool      // its heartbeat is
	answers   bool      // it has answered to the last probe since then
	withdrawn bool
	since     time.Time // when it was withdrawn
	probing   bool
	nextProbe time.Time
	// silent is when it did not answer to a probe, zero if it has been alive since.
	silent time.Time
	// proven is whether it did not answer to an earlier probe either, after which this
	// cluster's own heartbeat came back.
	proven bool
	// comesBack is when it stops to be withdrawn, zero where there is no reason to.
	comesBack time.Time
	// flaps are the withdrawals that are remembered, and back is the end of the last one.
	flaps int
	back  time.Time
}

// NewDetector returns a detector of members whose heartbeat is missed after timeout. exports tells whether a member exports anything.
func NewDetector(timeout time.Duration, exports func(id string) bool) *Detector {
	return &Detector{timeout: timeout, members: map[string]*member{}, exports: exports}
}

// Inherit is called with a member that was withdrawn before this process began. It stays so until it is alive.
func (d *Detector) Inherit(id string, since time.Time) {
	if m := d.member(id); !m.withdrawn {
		m.missing, m.withdrawn, m.since, m.flaps = true, true, since, 1
	}
}

// Known is called with a member that there is, of which nothing is known yet.
func (d *Detector) Known(id string, at time.Time) { d.member(id).seen = at }

// member returns what is known of a member, which may be nothing.
func (d *Detector) member(id string) *member {
	if d.members[id] == nil {
		d.members[id] = &member{}
	}
	return d.members[id]
}

// Renewed is called when a member's heartbeat has been renewed.
func (d *Detector) Renewed(id string, at time.Time) {
	m := d.member(id)
	m.seen, m.missing = at, false
	d.recover(m, at)
}

// Missed is called when a member's heartbeat has been missing for too long.
func (d *Detector) Missed(id string, at time.Time) {
	m := d.member(id)
	if !m.missing {
		m.missing, m.answers, m.nextProbe = true, false, at
	}
}

// Gone is called when a member has left the clusterset.
func (d *Detector) Gone(id string) { delete(d.members, id) }

// Missing tells whether a member's heartbeat is missing.
func (d *Detector) Missing(id string) bool { return d.members[id] != nil && d.members[id].missing }

// Probed is called with the outcome of a probe that Due has asked for.
func (d *Detector) Probed(id string, answered bool, at time.Time) {
	m := d.members[id]
	if m == nil {
		return
	}
	m.probing, m.answers, m.nextProbe = false, answered, at.Add(d.timeout/probes)
	switch {
	case answered:
		d.recover(m, at)
	case m.missing:
		m.silent = at
		m.comesBack = time.Time{}
	}
}

// recover ends a member's withdrawal: at once, or, if the member fails again and again, after a
// delay in which it has to stay alive.
func (d *Detector) recover(m *member, at time.Time) {
	m.silent, m.proven = time.Time{}, false
	if !m.withdrawn || !m.comesBack.IsZero() {
		return
	}
	m.comesBack = at.Add(d.delay(m.flaps))
	d.restore(m, at)
}

// delay is how long a member is kept waiting that was withdrawn for the nth time.
func (d *Detector) delay(n int) time.Duration {
	if n <= freeFlaps {
		return 0
	}
	factor := 1
	for ; n > freeFlaps+1 && factor < maxDelay; n-- {
		factor *= 2
	}
	return time.Duration(factor) * d.timeout
}

// restore ends a withdrawal whose time has come.
func (d *Detector) restore(m *member, at time.Time) {
	if m.withdrawn && !m.comesBack.IsZero() && !at.Before(m.comesBack) {
		m.withdrawn, m.comesBack, m.back = false, time.Time{}, at
	}
}

// Confirmed is called when this cluster's own heartbeat has come back to it, so that it is not
// cut off itself. It may have been, while it was probing, and not be any more. So a member that
// did not answer is probed once more, and counts as dead when this cluster was not cut off
// between the two either. Those are withdrawn then, unless the majority of the others would be,
// or already is, and the own view is in doubt. All that are suspect count among these, for of many
// that are lost at once one is found out first.
func (d *Detector) Confirmed(at time.Time) {
	var silent []*member
	for _, m := range d.members {
		switch {
		case !m.missing || m.withdrawn || m.silent.IsZero() || !m.silent.Before(at):
		case at.Sub(m.silent) > d.timeout/fresh: // it may have come back since
			m.proven, m.silent, m.nextProbe = false, time.Time{}, at
		case m.proven:
			silent = append(silent, m)
		default:
			m.proven, m.silent, m.nextProbe = true, time.Time{}, at
		}
	}
	if len(silent) == 0 || d.tooMany(at, func(m *member) bool { return m.withdrawn || d.suspect(m, at) }) {
		return
	}
	for _, m := range silent {
		if at.Sub(m.back) > quiet*d.timeout {
			m.flaps = 0
		}
		m.withdrawn, m.since, m.comesBack, m.proven = true, at, time.Time{}, false
		m.flaps++
	}
}

// suspect tells whether a member may be lost: its heartbeat is late, or missing without that it
// has answered.
func (d *Detector) suspect(m *member, at time.Time) bool {
	if m.missing {
		return !m.answers
	}
	return at.Sub(m.seen) > d.timeout/2
}

// tooMany tells whether more than half of the others, and more than one, are such. Members that have been lost for long, or export nothing, are not counted.
func (d *Detector) tooMany(at time.Time, such func(*member) bool) bool {
	n, all := 0, 0
	for id, m := range d.members {
		if m.withdrawn && at.Sub(m.since) > longGone || !d.exports(id) {
			continue
		}
		all++
		if such(m) {
			n++
		}
	}
	return n > max(1, all/2)
}

// Due returns what is to be done at a time: the members to probe, whether to have the own
// heartbeat renewed, so that what was found is confirmed, and when to look again, zero for
// never unless something changes.
func (d *Detector) Due(at time.Time) (probe []string, renew bool, wake time.Time) {
	for id, m := range d.members {
		d.restore(m, at)
		renew = renew || m.missing && !m.withdrawn && m.silent.After(d.renewalRequested)
		if m.missing && !m.probing {
			if at.Before(m.nextProbe) {
				wake = Earliest(wake, m.nextProbe)
			} else {
				m.probing = true
				probe = append(probe, id)
			}
		}
		if m.withdrawn {
			wake = Earliest(wake, m.comesBack)
		}
	}
	if renew {
		d.renewalRequested = at
	}
	slices.Sort(probe)
	return probe, renew, wake
}

// Earliest returns the earlier of two times, of which zero ones do not count.
func Earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// Withdrawn returns the members whose endpoints are withdrawn, sorted.
func (d *Detector) Withdrawn() []string {
	var ids []string
	for _, id := range slices.Sorted(maps.Keys(d.members)) {
		if d.members[id].withdrawn {
			ids = append(ids, id)
		}
	}
	return ids
}

// MajoritySilent tells whether members that did not answer are kept because they are too many.
func (d *Detector) MajoritySilent(at time.Time) bool {
	kept := false
	for _, m := range d.members {
		kept = kept || m.missing && m.proven && !m.withdrawn
	}
	return kept && d.tooMany(at, func(m *member) bool { return m.missing && (m.withdrawn || m.proven) })
}
