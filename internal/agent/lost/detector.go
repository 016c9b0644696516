package lost

import (
	"maps"
	"slices"
	"time"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
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
	members map[names.ClusterID]*member
	// renewalRequested is when the detector last requested a renewal of this cluster's heartbeat.
	renewalRequested time.Time
	// exports reports whether a member exports anything. The loss of a member without exports does not matter.
	exports func(names.ClusterID) bool
	// isLate reports whether a member's heartbeat is late.
	isLate func(names.ClusterID, time.Time) bool
}

type member struct {
	missing   bool // whether the heartbeat is missing
	answers   bool // whether it answered the last probe since then
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

// NewDetector returns a detector with a heartbeat timeout. exports reports whether a member exports anything, and isLate
// whether its heartbeat is late.
func NewDetector(timeout time.Duration, exports func(names.ClusterID) bool, isLate func(names.ClusterID, time.Time) bool) *Detector {
	return &Detector{timeout: timeout, members: map[names.ClusterID]*member{}, exports: exports, isLate: isLate}
}

// Inherit restores a member that an earlier process withdrew. It stays withdrawn until it is alive.
func (d *Detector) Inherit(id names.ClusterID, since time.Time) {
	if m := d.member(id); !m.withdrawn {
		m.missing, m.withdrawn, m.since, m.flaps = true, true, since, 1
	}
}

// member returns a member, and adds it if needed.
func (d *Detector) member(id names.ClusterID) *member {
	if d.members[id] == nil {
		d.members[id] = &member{}
	}
	return d.members[id]
}

// Read records what a read of the heartbeats showed.
func (d *Detector) Read(r Read) {
	for id := range r.Renewed {
		if m := d.member(id); !r.First { // the first ones may be old: a member that was withdrawn stays so
			m.missing = false
			d.recover(m, r.At)
		}
	}
	for _, id := range r.Missed {
		if m := d.member(id); !m.missing {
			m.missing, m.answers, m.nextProbe = true, false, r.At
		}
	}
	for _, id := range r.Gone {
		delete(d.members, id)
	}
	if r.Own {
		d.confirm(r.At)
	}
}

// Missing reports whether a member's heartbeat is missing.
func (d *Detector) Missing(id names.ClusterID) bool {
	return d.members[id] != nil && d.members[id].missing
}

// Probed records the outcome of a probe that Due requested.
func (d *Detector) Probed(id names.ClusterID, answered bool, at time.Time) {
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

// confirm records that this cluster's heartbeat came back, so this cluster is connected now. It may have been cut off
// during a probe. A silent member is therefore probed a second time, and is withdrawn if this cluster was connected
// after both probes. No member is withdrawn if a majority of the others is withdrawn or suspect, because then this
// cluster's own view is in doubt. All suspects count: of many members lost at once, one is found first.
func (d *Detector) confirm(at time.Time) {
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
	if len(silent) == 0 || d.tooMany(at, func(id names.ClusterID, m *member) bool { return m.withdrawn || d.suspect(id, m, at) }) {
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
func (d *Detector) suspect(id names.ClusterID, m *member, at time.Time) bool {
	if m.missing {
		return !m.answers
	}
	return d.isLate(id, at)
}

// tooMany reports whether such holds for more than half of the other members, and more than one. It ignores members
// that are long gone, or export nothing.
func (d *Detector) tooMany(at time.Time, such func(names.ClusterID, *member) bool) bool {
	n, all := 0, 0
	for id, m := range d.members {
		if m.withdrawn && at.Sub(m.since) > longGone || !d.exports(id) {
			continue
		}
		all++
		if such(id, m) {
			n++
		}
	}
	return n > max(1, all/2)
}

// Due returns the members to probe, whether to renew this cluster's heartbeat to confirm the results, and when to call
// Due again (zero: after the next change).
func (d *Detector) Due(at time.Time) (probe []names.ClusterID, renew bool, wake time.Time) {
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
func (d *Detector) Withdrawn() []names.ClusterID {
	var ids []names.ClusterID
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
	return kept && d.tooMany(at, func(_ names.ClusterID, m *member) bool { return m.missing && (m.withdrawn || m.proven) })
}
