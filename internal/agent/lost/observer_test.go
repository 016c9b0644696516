package lost

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// watched feeds an observer with heartbeats at given seconds.
type watched struct {
	*observer
	t   *testing.T
	now int
}

func newWatched(t *testing.T) *watched { return &watched{observer: newObserver("self", timeout), t: t} }

// see feeds heartbeats of members at a second, and checks which members change their state.
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

// live checks which members are alive.
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

// A member that renews its heartbeat in time, measured while this process can see heartbeats,
// is never lost, whatever happens to the broker and this process.
func TestWhoRenewsInTimeIsNeverLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := newObserver("self", timeout)
		at := start
		for range rapid.IntRange(1, 40).Draw(t, "rounds") {
			// In each round either both renewals arrive or none.
			at = at.Add(time.Duration(rapid.IntRange(1, 100).Draw(t, "gap")) * time.Second)
			order := rapid.Permutation([]string{"a", "self"}).Draw(t, "order")
			for _, member := range order {
				o.Renewed(member, at)
				if member == "a" && !o.Live("a") {
					t.Fatal("the member renewed its heartbeat but is not alive")
				}
			}
			if !o.Live("a") {
				t.Fatalf("the member is lost, although it renewed its heartbeat whenever this cluster did")
			}
		}
	})
}

// A restart of the observation does not change the time of a member's last heartbeat.
func TestRenewals(t *testing.T) {
	s := newWatched(t)
	s.see(0, "self a", "a")
	s.see(60, "self") // after a pause without any heartbeat
	if got := s.Renewals(); len(got) != 1 || !got["a"].Equal(start) {
		t.Errorf("renewals %v", got)
	}
	s.see(61, "a")
	if got := s.Renewals(); !got["a"].Equal(start.Add(61 * time.Second)) {
		t.Errorf("renewals %v", got)
	}
}
