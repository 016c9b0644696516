package lost

import (
	"maps"
	"slices"
	"time"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

const (
	// unansweredRounds is how many rounds of probes in a row a member must not answer to be silent.
	unansweredRounds = 2
	// rounds is how often a member whose heartbeat is late is asked per timeout.
	rounds = 8
	// Silences last three quarters of the timeout at least, twice as long each time that a member flaps, and at most
	// longestSilence timeouts. A member that was not silent for flapsForgotten timeouts begins with the shortest again.
	longestSilence = 15
	maxFlaps       = 5
	flapsForgotten = 2 * longestSilence
)

// Silences decides which members are silent: their heartbeat is late, whether the member or the broker is the reason, and
// endpoints that answered before do not answer. The endpoints of silent members stay, but others are preferred. All
// times are by one monotonic clock.
type Silences struct {
	timeout time.Duration
	members map[names.ClusterID]*silence
}

type silence struct {
	lateAt     time.Time // when its heartbeat is late
	asking     bool
	next       time.Time // the next round
	unanswered int       // rounds in a row, since it was heard
	silent     bool
	until      time.Time // the earliest end of its silence
	// flaps counts recent silences; ended is the end of the last one.
	flaps int
	ended time.Time
}

// Answer is the result of a round of probes.
type Answer int

const (
	// Unknown: this cluster has no evidence of how the member's endpoints answer, or its own network may be at fault.
	Unknown Answer = iota
	// Unanswered: none answered that had answered before.
	Unanswered
	// Answered: at least one did.
	Answered
)

// NewSilences returns silences for a heartbeat timeout.
func NewSilences(timeout time.Duration) *Silences {
	return &Silences{timeout: timeout, members: map[names.ClusterID]*silence{}}
}

// Read records what a read of the heartbeats showed.
func (s *Silences) Read(r Read) {
	for id, lateAt := range r.Renewed {
		m := s.member(id)
		if m.lateAt = lateAt; !r.First { // the first ones may be old: a member that was silent stays so
			m.unanswered = 0
		}
	}
	for _, id := range r.Gone {
		delete(s.members, id)
	}
}

// Inherit restores a member that was silent in an earlier process. It stays silent until it is heard or answers.
func (s *Silences) Inherit(id names.ClusterID) {
	m := s.member(id)
	m.silent, m.unanswered, m.flaps = true, unansweredRounds, 1
}

func (s *Silences) member(id names.ClusterID) *silence {
	if s.members[id] == nil {
		s.members[id] = &silence{}
	}
	return s.members[id]
}

// IsLate reports whether a member's heartbeat is late.
func (s *Silences) IsLate(id names.ClusterID, at time.Time) bool {
	m := s.members[id]
	return m != nil && !at.Before(m.lateAt)
}

// Members returns the members that have been heard, or were silent.
func (s *Silences) Members() []names.ClusterID { return slices.Collect(maps.Keys(s.members)) }

// Due returns the members to ask, and when to call Due again (zero: after the next change). It ends silences.
func (s *Silences) Due(at time.Time) (ask []names.ClusterID, wake time.Time) {
	for id, m := range s.members {
		if m.silent && m.unanswered == 0 {
			if at.Before(m.until) {
				wake = Earliest(wake, m.until)
			} else {
				m.silent, m.ended = false, at
			}
		}
		switch due := latest(m.lateAt, m.next); {
		case m.asking:
		case at.Before(due):
			wake = Earliest(wake, due)
		default:
			m.asking = true
			ask = append(ask, id)
		}
	}
	slices.Sort(ask)
	return ask, wake
}

// Asked records the result of a round that Due requested.
func (s *Silences) Asked(id names.ClusterID, answer Answer, at time.Time) {
	m := s.members[id]
	if m == nil {
		return
	}
	m.asking, m.next = false, at.Add(s.timeout/rounds)
	switch answer {
	case Answered:
		m.unanswered = 0
	case Unanswered:
		if m.unanswered++; m.unanswered < unansweredRounds {
			m.next = at
		} else if !m.silent {
			s.begin(m, at)
		}
	case Unknown:
	}
}

// begin makes a member silent, for longer each time if it flaps.
func (s *Silences) begin(m *silence, at time.Time) {
	least := s.timeout * 3 / 4
	if at.Sub(m.ended) > flapsForgotten*s.timeout {
		m.flaps = 0
	}
	m.silent, m.until = true, at.Add(min(least<<m.flaps, longestSilence*s.timeout))
	m.flaps = min(m.flaps+1, maxFlaps)
}

// Silent returns the silent members, sorted.
func (s *Silences) Silent() (ids []names.ClusterID) {
	for _, id := range slices.Sorted(maps.Keys(s.members)) {
		if s.members[id].silent {
			ids = append(ids, id)
		}
	}
	return ids
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
