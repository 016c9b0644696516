package lost

import (
	"maps"
	"slices"
	"time"
)

const (
	// probes is how often a member with a missing heartbeat is probed per timeout.
	probes = 4
	// freeFlaps is how many withdrawals a member may have before its recovery is delayed.
	freeFlaps = 2
	// maxDelay is the longest recovery delay of a flapping member, in timeouts.
	maxDelay = 16
	// fresh divides the timeout: the result of a probe is valid for timeout/fresh.
	fresh = 4
	// quiet is after how many timeouts a recovered member's flaps are forgotten.
	quiet = 2 * maxDelay
	// longGone is after how long a lost member no longer counts when the detector looks for a majority.
	longGone = 24 * time.Hour
)

// Detector follows the heartbeats and probes of the other members of a clusterset. All times are when this process saw
// an event, by one monotonic clock.
type Detector struct {
	timeout time.Duration
	members map[string]*member
	// renewalRequested is when the detector last requested a renewal of this cluster's heartbeat.
	renewalRequested time.Time
	// exports reports whether a member exports anything. The loss of a member without exports does not matter.
	exports func(id string) bool
}

type member struct {
	seen      time.Time // last renewal, or start of observation
	missing   bool      // whether the heartbeat is missing
	answers   bool      // whether it answered the last probe since then
	withdrawn bool
	since     time.Time // when it was withdrawn
	probing   bool
	nextProbe time.Time
	// silent is when it did not answer a probe, zero if it has been alive since.
	silent time.Time
	// proven is set if it did not answer an earlier probe either, and this cluster's heartbeat came back after that.
	proven bool
	// comesBack is when its withdrawal ends, zero if it does not end yet.
	comesBack time.Time
	// flaps counts recent withdrawals; back is the end of the last one.
	flaps int
	back  time.Time
}

// NewDetector returns a detector with a heartbeat timeout. exports reports whether a member exports anything.
func NewDetector(timeout time.Duration, exports func(id string) bool) *Detector {
	return &Detector{timeout: timeout, members: map[string]*member{}, exports: exports}
}

// Inherit restores a member that an earlier process withdrew. It stays withdrawn until it is alive.
func (d *Detector) Inherit(id string, since time.Time) {
	if m := d.member(id); !m.withdrawn {
		m.missing, m.withdrawn, m.since, m.flaps = true, true, since, 1
	}
}

// Known adds a member without any history.
func (d *Detector) Known(id string, at time.Time) { d.member(id).seen = at }

// member returns a member, and adds it if needed.
func (d *Detector) member(id string) *member {
	if d.members[id] == nil {
		d.members[id] = &member{}
	}
	return d.members[id]
}

// Renewed records that a member's heartbeat was renewed.
func (d *Detector) Renewed(id string, at time.Time) {
	m := d.member(id)
	m.seen, m.missing = at, false
	d.recover(m, at)
}

// Missed records that a member's heartbeat is missing.
func (d *Detector) Missed(id string, at time.Time) {
	m := d.member(id)
	if !m.missing {
		m.missing, m.answers, m.nextProbe = true, false, at
	}
}

// Gone removes a member that left the clusterset.
func (d *Detector) Gone(id string) { delete(d.members, id) }

// Missing reports whether a member's heartbeat is missing.
func (d *Detector) Missing(id string) bool { return d.members[id] != nil && d.members[id].missing }

// Probed records the outcome of a probe that Due requested.
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

// recover ends a member's withdrawal: at once, or, if the member flaps, after a delay during which it must stay alive.
func (d *Detector) recover(m *member, at time.Time) {
	m.silent, m.proven = time.Time{}, false
	if !m.withdrawn || !m.comesBack.IsZero() {
		return
	}
	m.comesBack = at.Add(d.delay(m.flaps))
	d.restore(m, at)
}

// delay returns the recovery delay after the nth withdrawal.
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

// restore ends a withdrawal that is due to end.
func (d *Detector) restore(m *member, at time.Time) {
	if m.withdrawn && !m.comesBack.IsZero() && !at.Before(m.comesBack) {
		m.withdrawn, m.comesBack, m.back = false, time.Time{}, at
	}
}

// Confirmed records that this cluster's heartbeat came back, so this cluster is connected now. It may have been cut off
// during a probe. A silent member is therefore probed a second time, and is withdrawn if this cluster was connected
// after both probes. No member is withdrawn if a majority of the others is withdrawn or suspect, because then this
// cluster's own view is in doubt. All suspects count: of many members lost at once, one is found first.
func (d *Detector) Confirmed(at time.Time) {
	var silent []*member
	for _, m := range d.members {
		switch {
		case !m.missing || m.withdrawn || m.silent.IsZero() || !m.silent.Before(at):
		case at.Sub(m.silent) > d.timeout/fresh: // the member may have come back since
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

// suspect reports whether a member may be lost: its heartbeat is late, or missing without an answer to a probe.
func (d *Detector) suspect(m *member, at time.Time) bool {
	if m.missing {
		return !m.answers
	}
	return at.Sub(m.seen) > d.timeout/2
}

// tooMany reports whether such holds for more than half of the other members, and more than one. It ignores members
// that are long gone, or export nothing.
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

// Due returns the members to probe, whether to renew this cluster's heartbeat to confirm the results, and when to call
// Due again (zero: after the next change).
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

// Earliest returns the earlier of two times, ignoring zero times.
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

// MajoritySilent reports whether silent members are kept because they are a majority.
func (d *Detector) MajoritySilent(at time.Time) bool {
	kept := false
	for _, m := range d.members {
		kept = kept || m.missing && m.proven && !m.withdrawn
	}
	return kept && d.tooMany(at, func(m *member) bool { return m.missing && (m.withdrawn || m.proven) })
}
