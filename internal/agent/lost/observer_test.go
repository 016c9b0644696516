package lost

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// watched lets heartbeats be seen at seconds of one clock.
type watched struct {
	*observer
	t   *testing.T
	now int
}

func newWatched(t *testing.T) *watched { return &watched{observer: newObserver("self", timeout), t: t} }

// see lets heartbeats of members be seen at a second, and checks whom that changes.
func (s *watched) see(second int, members string, changed ...string) {
	s.t.Helper()
	s.now = second
	var have []string
	for m := range strings.FieldsSeq(members) {
		have = append(have, s.Renewed(m, start.Add(time.Duration(second)*time.Second))...)
	}
	if !slices.Equal(have, changed) {
		s.t.Errorf("second %d: %v changed, want %v", second, have, changed)
	}
}

// live checks who lives.
func (s *watched) live(members ...string) {
	s.t.Helper()
	if have := s.Members(); !slices.Equal(have, members) {
		s.t.Errorf("second %d: %v live, want %v", s.now, have, members)
	}
	for _, m := range []string{"a", "b", "self"} {
		if s.Live(m) != slices.Contains(members, m) {
			s.t.Errorf("second %d: %s lives: %v", s.now, m, s.Live(m))
		}
	}
}

func TestADeletedHeartbeat(t *testing.T) {
	s := newWatched(t)
	s.see(0, "a self", "a")
	if changed := s.Gone("a"); !slices.Equal(changed, []string{"a"}) {
		t.Errorf("%v changed", changed)
	}
	if changed := slices.Concat(s.Gone("a"), s.Gone("b"), s.Gone("self")); len(changed) > 0 {
		t.Errorf("%v changed", changed)
	}
	s.live("self")
	s.see(5, "a", "a")
	s.live("a", "self")
}

// Whatever the broker and this process suffer: who renews in time, measured while this
// process sees, is never lost.
func TestWhoRenewsInTimeIsNeverLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := newObserver("self", timeout)
		at := start
		for range rapid.IntRange(1, 40).Draw(t, "rounds") {
			// Both renewals get through within a round, or neither does.
			at = at.Add(time.Duration(rapid.IntRange(1, 100).Draw(t, "gap")) * time.Second)
			order := rapid.Permutation([]string{"a", "self"}).Draw(t, "order")
			for _, member := range order {
				o.Renewed(member, at)
				if member == "a" && !o.Live("a") {
					t.Fatal("it was renewed and does not live")
				}
			}
			if !o.Live("a") {
				t.Fatalf("it is lost, though it was renewed whenever this one was")
			}
		}
	})
}

// When a member was heard of is no matter of whether looking began anew.
func TestRenewals(t *testing.T) {
	s := newWatched(t)
	s.see(0, "self a", "a")
	s.see(60, "self") // after a pause, in which nobody was seen
	if got := s.Renewals(); len(got) != 1 || !got["a"].Equal(start) {
		t.Errorf("renewals %v", got)
	}
	s.see(61, "a")
	if got := s.Renewals(); !got["a"].Equal(start.Add(61 * time.Second)) {
		t.Errorf("renewals %v", got)
	}
}
