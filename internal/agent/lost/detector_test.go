package lost

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const timeout = 40 * time.Second

var start = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// all is the exports function of a clusterset in which every member exports services.
func all(string) bool { return true }

// scene drives a detector with events at given seconds.
type scene struct {
	*Detector
	t *testing.T
}

func newScene(t *testing.T, members string, withdrawn ...string) scene {
	s := scene{NewDetector(timeout, all), t}
	for _, id := range withdrawn {
		s.Inherit(id, start)
	}
	for id := range strings.FieldsSeq(members) {
		s.Known(id, start)
	}
	return s
}

// Confirmed also renews the heartbeats of all members that are not missing.
func (s scene) Confirmed(at time.Time) {
	for _, m := range s.members {
		if !m.missing {
			m.seen = at
		}
	}
	s.Detector.Confirmed(at)
}

func second(n int) time.Time { return start.Add(time.Duration(n) * time.Second) }

// silence makes members miss heartbeats and probes while the own heartbeat arrives.
func (s scene) silence(at int, members string) {
	for id := range strings.FieldsSeq(members) {
		s.Missed(id, second(at))
	}
	for range 2 {
		s.probed(at, members)
		for id := range strings.FieldsSeq(members) {
			s.Probed(id, false, second(at+1))
		}
		s.gone("")
		s.Confirmed(second(at + 2))
		at += 2
	}
}

// fall makes members silent, whichever other members are probed.
func (s scene) fall(at int, members string) {
	for id := range strings.FieldsSeq(members) {
		s.Missed(id, second(at))
	}
	for range 2 {
		probe, _, _ := s.Due(second(at))
		for _, id := range probe {
			s.Probed(id, false, second(at+1))
		}
		s.Confirmed(second(at + 2))
		at += 2
	}
}

// probed checks which members the detector probes at a second.
func (s scene) probed(at int, members string) {
	s.t.Helper()
	if probe, _, _ := s.Due(second(at)); strings.Join(probe, " ") != members {
		s.t.Errorf("second %d: %v are probed, want %s", at, probe, members)
	}
}

// gone checks whose endpoints are withdrawn.
func (s scene) gone(members string) {
	s.t.Helper()
	if have := strings.Join(s.Withdrawn(), " "); have != members {
		s.t.Errorf("withdrawn are %q, want %q", have, members)
	}
}

// Pitfall 29: the endpoints of a dead member are withdrawn, and return when the member returns.
func TestADeadMemberIsWithdrawn(t *testing.T) {
	s := newScene(t, "a b")
	s.probed(0, "")
	s.Missed("a", second(40))
	s.probed(40, "a")
	s.probed(41, "") // one probe at a time
	s.gone("")
	s.Probed("a", false, second(43))
	if _, renew, _ := s.Due(second(43)); !renew {
		t.Error("the failed probe requests no renewal of the own heartbeat")
	}
	if _, renew, wake := s.Due(second(43)); renew || !wake.Equal(second(53)) {
		t.Errorf("the renewal is requested again, or the next wake-up is %v, want 53 s", wake)
	}
	s.gone("")
	s.Confirmed(second(44))
	s.gone("")
	s.probed(44, "a") // a second probe: this cluster may have been cut off before
	s.Probed("a", false, second(47))
	s.gone("")
	s.Confirmed(second(48))
	s.gone("a")
	s.probed(56, "")
	s.probed(57, "a") // probes continue: probes may reach the member before it reaches the broker
	s.Probed("a", true, second(58))
	s.gone("")
	s.Renewed("a", second(90))
	s.silence(100, "b")
	s.gone("b")
	s.Renewed("b", second(120))
	s.gone("")
}

// Pitfall 29: a cluster that may itself be cut off withdraws nothing.
func TestNothingIsWithdrawnUnconfirmed(t *testing.T) {
	s := newScene(t, "a b")
	s.Missed("a", second(40))
	s.probed(40, "a")
	s.Probed("a", false, second(43))
	s.Confirmed(second(43)) // this heartbeat was written before the probe
	s.probed(43, "")
	s.Confirmed(second(44))
	s.probed(44, "a")
	s.Probed("a", false, second(47))
	s.Confirmed(second(47))
	s.gone("")
	// A heartbeat that arrives meanwhile overrides the failed probe.
	s.Renewed("a", second(50))
	s.Confirmed(second(60))
	s.gone("")
	// An old probe result does not count.
	s.silence(200, "b")
	s.gone("b")
	s.Renewed("b", second(210))
	s.Missed("b", second(300))
	for at := 300; at < 400; at += 20 {
		s.probed(at, "b")
		s.Probed("b", false, second(at+3))
		s.Confirmed(second(at + 15))
	}
	s.gone("")
	s.Renewed("b", second(400))
	// The detector starts again after a successful probe between two failed probes.
	s.Missed("a", second(500))
	s.probed(500, "a")
	s.Probed("a", false, second(503))
	s.Confirmed(second(504))
	s.probed(504, "a")
	s.Probed("a", true, second(505))
	s.Confirmed(second(506))
	s.probed(515, "a")
	s.Probed("a", false, second(518))
	s.Confirmed(second(519))
	s.gone("")
}

func TestAtMostHalf(t *testing.T) {
	for _, tt := range []struct {
		others string
		dead   []string // groups of members that die one after the other
		gone   string
	}{
		{"a", []string{"a"}, "a"},
		{"a b", []string{"a"}, "a"},
		{"a b", []string{"a b"}, ""}, // the majority: the own view is in doubt
		{"a b", []string{"a", "b"}, "a"},
		{"a b c", []string{"a b"}, ""},
		{"a b c d", []string{"a b"}, "a b"},
		{"a b c d", []string{"a b c"}, ""},
		{"a b c d", []string{"a", "b", "c"}, "a b"},
		{"a b c d e f g h i", []string{"a b c d"}, "a b c d"},
		{"a b c d e f g h i", []string{"a b c d e"}, ""},
	} {
		s := newScene(t, tt.others)
		at := 40
		for _, group := range tt.dead {
			s.fall(at, group)
			at += 104
		}
		s.gone(tt.gone)
		dead := len(strings.Fields(strings.Join(tt.dead, " ")))
		if majoritySilent := dead > len(s.Withdrawn()); s.MajoritySilent(second(at)) != majoritySilent {
			t.Errorf("%+v: in doubt: %t", tt, s.MajoritySilent(second(at)))
		}
	}
}

// The limit on silent members ignores members that have been lost for more than a day, and
// members without exports.
func TestWhoDoesNotCount(t *testing.T) {
	const day = 24 * 60 * 60
	s := newScene(t, "a b c d", "a", "b") // both are lost since second 0
	s.fall(day-100, "c")
	s.gone("a b") // three of four would be too many
	s = newScene(t, "a b c d", "a", "b")
	s.fall(day+100, "c")
	s.gone("a b c") // c is one of the two members that count

	s = newScene(t, "a b c d")
	s.exports = func(id string) bool { return id == "a" || id == "b" }
	s.fall(40, "c d")
	s.gone("c d") // c and d export nothing, so no endpoint is lost
	s.fall(100, "a b")
	s.gone("c d")
}

// From its third loss on, a member counts as back only after a waiting time that grows with
// each loss.
func TestFlapping(t *testing.T) {
	s := newScene(t, "a b")
	at := 0
	for n, wait := range []int{0, 0, 40, 80, 160, 320, 640, 640} {
		s.silence(at, "a")
		s.gone("a")
		at += 10
		s.Renewed("a", second(at))
		_, _, wake := s.Due(second(at))
		if wait == 0 {
			s.gone("")
			at += 10
			continue
		}
		s.gone("a")
		if !wake.Equal(second(at + wait)) {
			t.Errorf("flap %d: the member is back %v after its first heartbeat, want %d s", n+1, wake.Sub(second(at)), wait)
		}
		s.Renewed("a", second(at+wait-1)) // further heartbeats do not extend the waiting time
		s.Due(second(at + wait - 1))
		s.gone("a")
		s.Due(second(at + wait))
		s.gone("")
		at += wait + 10
	}
	// After a long quiet period the waiting time is reset.
	at += quiet * 40
	s.silence(at, "a")
	s.Renewed("a", second(at+10))
	s.gone("")
}

// A member that dies during its waiting time stays withdrawn.
func TestDyingWhileWaiting(t *testing.T) {
	s := newScene(t, "a b")
	for at := 0; at < 60; at += 20 {
		s.silence(at, "a")
		s.Renewed("a", second(at+10))
	}
	s.gone("a")
	s.Missed("a", second(60))
	s.probed(60, "a")
	s.Probed("a", false, second(63))
	s.Due(second(1000))
	s.gone("a")
}

// A restarted process continues with the stored set of withdrawn members.
func TestWithdrawnBefore(t *testing.T) {
	s := newScene(t, "a b", "a", "z")
	s.gone("a z")
	s.probed(0, "a z")
	s.Probed("z", false, second(3))
	s.Confirmed(second(4))
	s.gone("a z")
	s.Probed("a", true, second(4))
	s.gone("z")
	s.Gone("z")
	s.gone("")
	s.Probed("z", false, second(5)) // too late
	s.gone("")
}

// world simulates a clusterset and one cluster's view of it.
type world struct {
	now      int
	observer *observer
	detector *Detector
	broker   bool // this cluster reaches the broker
	network  bool // this cluster reaches other clusters
	cut      int  // seconds until broker may change again
	members  map[string]*truth
}

// truth is the real state of a member.
type truth struct {
	dead    bool
	phase   int  // second of each ten at which the member renews its heartbeat
	renewed bool // the member has renewed its heartbeat since this cluster last read the heartbeats
	broker  bool // the member reaches the broker
	reached int  // seconds for which this cluster has been able to reach the member
}

// see adds a member whose heartbeat exists when the cluster starts.
func (w *world) see(id string) {
	w.detector.Known(id, start)
	w.observer.Renewed(id, start)
}

// step advances the time by a second.
func (w *world) step() {
	w.now++
	at := second(w.now)
	for _, m := range w.members {
		if m.reached++; m.dead || !w.network {
			m.reached = 0
		}
	}
	for _, id := range slices.Sorted(keys(w.members)) {
		if m := w.members[id]; w.now%10 == m.phase && !m.dead && m.broker {
			m.renewed = true
		}
	}
	if w.broker && w.now%10 == 0 {
		w.own(at)
	}
	probe, renew, _ := w.detector.Due(at)
	for _, id := range probe {
		m := w.members[id]
		w.detector.Probed(id, w.network && !m.dead, at)
	}
	if renew && w.broker {
		w.now++ // the renewal takes a second
		w.own(second(w.now))
	}
	if w.cut > 0 {
		w.cut--
	}
}

// own renews the own heartbeat and reads all heartbeats.
func (w *world) own(at time.Time) {
	for _, id := range slices.Sorted(keys(w.members)) {
		if m := w.members[id]; m.renewed {
			m.renewed = false
			w.tell(w.observer.Renewed(id, at), at)
			w.detector.Renewed(id, at)
		}
	}
	w.tell(w.observer.Renewed("self", at), at)
	w.detector.Confirmed(at)
}

func (w *world) tell(changed []string, at time.Time) {
	for _, id := range changed {
		if !w.observer.Live(id) {
			w.detector.Missed(id, at)
		}
	}
}

func keys(m map[string]*truth) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// Pitfall 29: whatever happens to the broker, the network and members, in clustersets of any
// size: the endpoints of a live, reachable member are never withdrawn, at most half of the
// members are withdrawn, and a dead member is withdrawn in time if everything else works.
func TestNoLiveMemberIsWithdrawn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{
			observer: newObserver("self", timeout), detector: NewDetector(timeout, all),
			broker: true, network: true, members: map[string]*truth{},
		}
		for i := range rapid.IntRange(1, 9).Draw(t, "others") {
			id := fmt.Sprintf("m%d", i)
			w.members[id] = &truth{broker: true, phase: rapid.IntRange(0, 9).Draw(t, "phase")}
			w.see(id)
		}
		ids := slices.Sorted(keys(w.members))
		limit := max(1, len(ids)/2)
		withdrawn := map[string]bool{}
		for range rapid.IntRange(1, 30).Draw(t, "events") {
			m := w.members[rapid.SampledFrom(ids).Draw(t, "member")]
			switch rapid.IntRange(0, 3).Draw(t, "event") {
			case 0:
				m.dead = !m.dead
			case 1:
				m.broker = !m.broker
			case 2:
				w.broker = !w.broker
			case 3:
				// This cluster is cut off from everything, or connected again. Two changes
				// within seconds are excluded, because a cluster cannot decide such a case.
				if w.cut == 0 {
					w.network = !w.network
					w.broker, w.cut = w.network, 5
				}
			}
			for range rapid.IntRange(1, 120).Draw(t, "seconds") {
				w.step()
				for _, id := range ids {
					m, now := w.members[id], slices.Contains(w.detector.Withdrawn(), id)
					if now && !withdrawn[id] {
						if m.reached > 11 {
							t.Fatalf("second %d: %s is withdrawn although it is alive and reachable", w.now, id)
						}
						if n := len(w.detector.Withdrawn()); n > limit {
							t.Fatalf("second %d: %d of %d are withdrawn", w.now, n, len(ids))
						}
					}
					withdrawn[id] = now
				}
			}
		}
		// All faults except dead members end. Dead members must be withdrawn unless they are
		// too many, and live members must return.
		dead := 0
		w.broker, w.network = true, true
		for _, id := range ids {
			w.members[id].broker = true
			if w.members[id].dead {
				dead++
			}
		}
		for range int(maxDelay*timeout/time.Second) + 200 {
			w.step()
		}
		for _, id := range ids {
			m, gone := w.members[id], slices.Contains(w.detector.Withdrawn(), id)
			if gone && !m.dead {
				t.Fatalf("%s is alive but stays withdrawn", id)
			}
			if !gone && m.dead && dead <= limit {
				t.Fatalf("%s is dead but not withdrawn (%d dead of %d members)", id, dead, len(ids))
			}
		}
	})
}

// Pitfall 29: if the majority of members dies at once, this cluster considers itself cut off,
// even if it detects one member before the others.
func TestTheMajority(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{observer: newObserver("self", timeout), detector: NewDetector(timeout, all), broker: true, network: true, members: map[string]*truth{}}
		others := rapid.IntRange(2, 9).Draw(t, "others")
		for i := range others {
			id := fmt.Sprintf("m%d", i)
			w.members[id] = &truth{broker: true, phase: rapid.IntRange(0, 9).Draw(t, "phase")}
			w.see(id)
		}
		for range rapid.IntRange(20, 60).Draw(t, "seconds") {
			w.step()
		}
		for i := range others/2 + 1 {
			w.members[fmt.Sprintf("m%d", i)].dead = true
		}
		for range 200 {
			if w.step(); len(w.detector.Withdrawn()) > 0 {
				t.Fatalf("second %d: %v are withdrawn", w.now, w.detector.Withdrawn())
			}
		}
		if !w.detector.MajoritySilent(second(w.now)) {
			t.Fatal("there is no doubt")
		}
	})
}

// If everything else works, a dead member is withdrawn within the timeout, plus a renewal, the
// delay until the renewal is read, and a probe.
func TestInTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{
			observer: newObserver("self", timeout), detector: NewDetector(timeout, all),
			broker: true, network: true, members: map[string]*truth{},
		}
		for _, id := range []string{"a", "b"} {
			w.members[id] = &truth{broker: true, phase: rapid.IntRange(0, 9).Draw(t, "phase")}
		}
		for id := range w.members {
			w.see(id)
		}
		for range rapid.IntRange(100, 200).Draw(t, "seconds") {
			w.step()
		}
		w.members["a"].dead = true
		died := w.now
		for !slices.Contains(w.detector.Withdrawn(), "a") {
			if w.step(); w.now-died > 40+10+10+5 {
				t.Fatalf("the dead member is not withdrawn after %d s", w.now-died)
			}
		}
	})
}
