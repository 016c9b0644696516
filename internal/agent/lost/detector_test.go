package lost

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

const timeout = 40 * time.Second

var start = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// all is the exports function of a clusterset in which every member exports services.
func all(names.ClusterID) bool { return true }

// onTime is the isLate function of a clusterset in which no heartbeat is late before it is missing.
func onTime(names.ClusterID, time.Time) bool { return false }

// scene drives a detector with events at given seconds.
type scene struct {
	*Detector
	t *testing.T
}

func newScene(t *testing.T, members string, withdrawn ...names.ClusterID) scene {
	s := scene{NewDetector(timeout, all, onTime), t}
	for _, id := range withdrawn {
		s.Inherit(id, start)
	}
	s.Read(Read{At: start, First: true, Renewed: renewed(ids(members)...)})
	return s
}

func ids(text string) (all []names.ClusterID) {
	for id := range strings.FieldsSeq(text) {
		all = append(all, names.ClusterID(id))
	}
	return all
}

func renewed(ids ...names.ClusterID) map[names.ClusterID]time.Time {
	all := map[names.ClusterID]time.Time{}
	for _, id := range ids {
		all[id] = time.Time{}
	}
	return all
}

func (s scene) Renewed(id names.ClusterID, at time.Time) {
	s.Read(Read{At: at, Renewed: renewed(id)})
}
func (s scene) Missed(id names.ClusterID, at time.Time) {
	s.Read(Read{At: at, Missed: []names.ClusterID{id}})
}
func (s scene) Gone(id names.ClusterID) { s.Read(Read{Gone: []names.ClusterID{id}}) }
func (s scene) Confirmed(at time.Time)  { s.Read(Read{At: at, Own: true}) }

func second(n int) time.Time { return start.Add(time.Duration(n) * time.Second) }

// silence makes members miss heartbeats and probes while the own heartbeat arrives.
func (s scene) silence(at int, members string) {
	for _, id := range ids(members) {
		s.Missed(id, second(at))
	}
	for range 2 {
		s.probed(at, members)
		for _, id := range ids(members) {
			s.Probed(id, false, second(at+1))
		}
		s.gone("")
		s.Confirmed(second(at + 2))
		at += 2
	}
}

// fall makes members silent, whichever other members are probed.
func (s scene) fall(at int, members string) {
	for _, id := range ids(members) {
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
	if probe, _, _ := s.Due(second(at)); !slices.Equal(probe, ids(members)) {
		s.t.Errorf("second %d: %v are probed, want %s", at, probe, members)
	}
}

// gone checks whose endpoints are withdrawn.
func (s scene) gone(members string) {
	s.t.Helper()
	if have := s.Withdrawn(); !slices.Equal(have, ids(members)) {
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
	s.exports = func(id names.ClusterID) bool { return id == "a" || id == "b" }
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
	now        int
	heartbeats *Heartbeats
	detector   *Detector
	silences   *Silences
	broker     bool // this cluster reaches the broker
	network    bool // this cluster reaches other clusters
	cut        int  // seconds until broker may change again
	members    map[names.ClusterID]*truth
	asked      int // how often a member whose heartbeat was late was asked
}

// truth is the real state of a member.
type truth struct {
	dead    bool
	phase   int           // second of each five at which the member renews its heartbeat
	clock   time.Duration // how much its clock differs
	renewal time.Time     // in its Lease
	broker  bool          // the member reaches the broker
	reached int           // seconds for which this cluster has been able to reach the member
}

// newWorld returns a healthy clusterset of other members with these ids.
func newWorld(t *rapid.T, others int) *world {
	w := &world{heartbeats: NewHeartbeats("self", timeout), silences: NewSilences(timeout), broker: true, network: true, members: map[names.ClusterID]*truth{}}
	w.detector = NewDetector(timeout, all, w.silences.IsLate)
	for i := range others {
		w.members[names.ClusterID(fmt.Sprintf("m%d", i))] = &truth{
			broker: true, phase: rapid.IntRange(0, 4).Draw(t, "phase"), clock: time.Duration(rapid.IntRange(-5000, 5000).Draw(t, "clock")) * time.Second,
		}
	}
	for _, m := range w.members {
		m.renewal = start.Add(m.clock)
	}
	w.own(start)
	return w
}

func (w *world) ids() []names.ClusterID { return slices.Sorted(maps.Keys(w.members)) }

// tick advances the time by a second.
func (w *world) tick() time.Time {
	w.now++
	at := second(w.now)
	for _, m := range w.members {
		if m.reached++; m.dead || !w.network {
			m.reached = 0
		}
		if w.now%5 == m.phase && !m.dead && m.broker {
			m.renewal = at.Add(m.clock)
		}
	}
	return at
}

// step advances the time by a second, and does what is due.
func (w *world) step() {
	at := w.tick()
	if w.broker && w.now%5 == 0 {
		w.own(at)
	}
	probe, renew, _ := w.detector.Due(at)
	for _, id := range probe {
		w.detector.Probed(id, w.network && !w.members[id].dead, at)
	}
	ask, _ := w.silences.Due(at)
	for _, id := range ask {
		w.asked++
		answer := Answered
		if m := w.members[id]; m.dead {
			answer = Unanswered
			w.heartbeats.Unanswered(id)
		} else if !w.network {
			answer = Unknown // this cluster's own endpoints do not answer either
		}
		w.silences.Asked(id, answer, at)
	}
	if renew && w.broker {
		w.own(w.tick()) // the renewal takes a second
	}
	if w.cut > 0 {
		w.cut--
	}
}

// own renews the own heartbeat and reads all heartbeats.
func (w *world) own(at time.Time) {
	renewals := map[names.ClusterID]time.Time{"self": at}
	for id, m := range w.members {
		renewals[id] = m.renewal
	}
	read, _ := w.heartbeats.take(at, renewals)
	w.detector.Read(read)
	w.silences.Read(read)
}

// Pitfall 29: whatever happens to the broker, the network and members, in clustersets of any
// size: the endpoints of a live, reachable member are never withdrawn, at most half of the
// members are withdrawn, and a dead member is withdrawn in time if everything else works.
func TestNoLiveMemberIsWithdrawn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, rapid.IntRange(1, 9).Draw(t, "others"))
		ids := w.ids()
		limit := max(1, len(ids)/2)
		withdrawn, silent := map[names.ClusterID]bool{}, map[names.ClusterID]bool{}
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
					if isSilent := slices.Contains(w.silences.Silent(), id); isSilent && !silent[id] && m.reached > 0 {
						t.Fatalf("second %d: %s is silent although it is alive and reachable", w.now, id)
					} else {
						silent[id] = isSilent
					}
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
		others := rapid.IntRange(2, 9).Draw(t, "others")
		w := newWorld(t, others)
		for range rapid.IntRange(20, 60).Draw(t, "seconds") {
			w.step()
		}
		for i := range others/2 + 1 {
			w.members[names.ClusterID(fmt.Sprintf("m%d", i))].dead = true
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
		w := newWorld(t, 2)
		for range rapid.IntRange(100, 200).Draw(t, "seconds") {
			w.step()
		}
		w.members["m0"].dead = true
		died := w.now
		for !slices.Contains(w.detector.Withdrawn(), "m0") {
			if w.step(); w.now-died > 40+10+10+5 {
				t.Fatalf("the dead member is not withdrawn after %d s", w.now-died)
			}
		}
	})
}
