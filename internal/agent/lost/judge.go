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

// Judge follows what is heard of the other members of a clusterset. It is told of everything
// with the time at which that was seen here, by one clock, which only goes forward.
type Judge struct {
	timeout time.Duration
	members map[string]*member
	// asked is when the own heartbeat was last asked to be renewed.
	asked time.Time
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
	// silent is when it did not answer to a probe, zero where it has been heard of since.
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

// NewJudge returns a judge of members whose heartbeat is missed after timeout. exports tells whether a member exports anything.
func NewJudge(timeout time.Duration, exports func(id string) bool) *Judge {
	return &Judge{timeout: timeout, members: map[string]*member{}, exports: exports}
}

// Inherit is called with a member that was withdrawn before this process began. It is until it is heard of.
func (j *Judge) Inherit(id string, since time.Time) {
	if m := j.member(id); !m.withdrawn {
		m.missing, m.withdrawn, m.since, m.flaps = true, true, since, 1
	}
}

// Known is called with a member that there is, of which nothing has been heard yet.
func (j *Judge) Known(id string, at time.Time) { j.member(id).seen = at }

// member returns what is known of a member, which may be nothing.
func (j *Judge) member(id string) *member {
	if j.members[id] == nil {
		j.members[id] = &member{}
	}
	return j.members[id]
}

// Renewed is called when a member's heartbeat has been renewed.
func (j *Judge) Renewed(id string, at time.Time) {
	m := j.member(id)
	m.seen, m.missing = at, false
	j.heard(m, at)
}

// Missed is called when a member's heartbeat has been missing for too long.
func (j *Judge) Missed(id string, at time.Time) {
	m := j.member(id)
	if !m.missing {
		m.missing, m.answers, m.nextProbe = true, false, at
	}
}

// Gone is called when a member has left the clusterset.
func (j *Judge) Gone(id string) { delete(j.members, id) }

// Missing tells whether a member's heartbeat is missing.
func (j *Judge) Missing(id string) bool { return j.members[id] != nil && j.members[id].missing }

// Probed is called with the outcome of a probe that Due has asked for.
func (j *Judge) Probed(id string, answered bool, at time.Time) {
	m := j.members[id]
	if m == nil {
		return
	}
	m.probing, m.answers, m.nextProbe = false, answered, at.Add(j.timeout/probes)
	switch {
	case answered:
		j.heard(m, at)
	case m.missing:
		m.silent = at
		m.comesBack = time.Time{}
	}
}

// heard has a member be withdrawn no longer: at once, or, where it goes and comes all the
// time, after a while in which it has to stay.
func (j *Judge) heard(m *member, at time.Time) {
	m.silent, m.proven = time.Time{}, false
	if !m.withdrawn || !m.comesBack.IsZero() {
		return
	}
	m.comesBack = at.Add(j.delay(m.flaps))
	j.restore(m, at)
}

// delay is how long a member is kept waiting that was withdrawn for the nth time.
func (j *Judge) delay(n int) time.Duration {
	if n <= freeFlaps {
		return 0
	}
	factor := 1
	for ; n > freeFlaps+1 && factor < maxDelay; n-- {
		factor *= 2
	}
	return time.Duration(factor) * j.timeout
}

// restore ends a withdrawal whose time has come.
func (j *Judge) restore(m *member, at time.Time) {
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
func (j *Judge) Confirmed(at time.Time) {
	var silent []*member
	for _, m := range j.members {
		switch {
		case !m.missing || m.withdrawn || m.silent.IsZero() || !m.silent.Before(at):
		case at.Sub(m.silent) > j.timeout/fresh: // it may have come back since
			m.proven, m.silent, m.nextProbe = false, time.Time{}, at
		case m.proven:
			silent = append(silent, m)
		default:
			m.proven, m.silent, m.nextProbe = true, time.Time{}, at
		}
	}
	if len(silent) == 0 || j.tooMany(at, func(m *member) bool { return m.withdrawn || j.suspect(m, at) }) {
		return
	}
	for _, m := range silent {
		if at.Sub(m.back) > quiet*j.timeout {
			m.flaps = 0
		}
		m.withdrawn, m.since, m.comesBack, m.proven = true, at, time.Time{}, false
		m.flaps++
	}
}

// suspect tells whether a member may be lost: its heartbeat is late, or missing without that it
// has answered.
func (j *Judge) suspect(m *member, at time.Time) bool {
	if m.missing {
		return !m.answers
	}
	return at.Sub(m.seen) > j.timeout/2
}

// tooMany tells whether more than half of the others, and more than one, are such. Members that have been lost for long, or export nothing, are not counted.
func (j *Judge) tooMany(at time.Time, such func(*member) bool) bool {
	n, all := 0, 0
	for id, m := range j.members {
		if m.withdrawn && at.Sub(m.since) > longGone || !j.exports(id) {
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
// never unless something is heard.
func (j *Judge) Due(at time.Time) (probe []string, renew bool, wake time.Time) {
	for id, m := range j.members {
		j.restore(m, at)
		renew = renew || m.missing && !m.withdrawn && m.silent.After(j.asked)
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
		j.asked = at
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
func (j *Judge) Withdrawn() []string {
	var ids []string
	for _, id := range slices.Sorted(maps.Keys(j.members)) {
		if j.members[id].withdrawn {
			ids = append(ids, id)
		}
	}
	return ids
}

// Doubtful tells whether members that did not answer are kept because they are too many.
func (j *Judge) Doubtful(at time.Time) bool {
	kept := false
	for _, m := range j.members {
		kept = kept || m.missing && m.proven && !m.withdrawn
	}
	return kept && j.tooMany(at, func(m *member) bool { return m.missing && (m.withdrawn || m.proven) })
}
