package lost

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// In a healthy clusterset nobody is asked, whatever the clocks say.
func TestHealthyMembersAreNotAsked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, rapid.IntRange(1, 9).Draw(t, "others"))
		for range 2000 {
			if w.step(); w.asked > 0 {
				t.Fatalf("second %d: a healthy member is asked", w.now)
			}
		}
	})
}

// A member that dies is silent within 20 s, less two rounds of 2 s, with the broker and without. It is not any more when it
// answers, or renews its heartbeat, after 30 s. How many others are silent does not matter.
func TestSilentInTime(t *testing.T) {
	const renewals = 2 // seconds: a step takes another second if it renews the own heartbeat
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, rapid.IntRange(2, 5).Draw(t, "others"))
		for range rapid.IntRange(20, 200).Draw(t, "seconds") {
			w.step()
		}
		for range rapid.IntRange(0, 300).Draw(t, "others are dead") {
			for id, m := range w.members {
				m.dead = id != "m0"
			}
			w.step()
		}
		w.members["m0"].dead, w.broker = true, rapid.Bool().Draw(t, "broker")
		died := w.now
		for !slices.Contains(w.silences.Silent(), "m0") {
			if w.step(); w.now-died > 16+renewals {
				t.Fatalf("the dead member is not silent after %d s", w.now-died)
			}
		}
		silent := w.now
		for range rapid.IntRange(0, 100).Draw(t, "silence") {
			w.step()
		}
		w.members["m0"].dead = false
		back := w.now
		for slices.Contains(w.silences.Silent(), "m0") {
			if w.step(); w.now-back > 6+renewals && w.now-silent > 31 {
				t.Fatalf("the member is back since %d s, but silent", w.now-back)
			}
		}
		if w.now-silent < 30-renewals {
			t.Fatalf("it was silent for %d s only", w.now-silent)
		}
		for range rapid.IntRange(10, 60).Draw(t, "healthy again") {
			w.step()
		}
		w.members["m0"].dead = true // how old its heartbeat was when it was dead does not count as healthy
		died = w.now
		for !slices.Contains(w.silences.Silent(), "m0") {
			if w.step(); w.now-died > 16+renewals {
				t.Fatalf("when it dies again, it is not silent after %d s", w.now-died)
			}
		}
	})
}

// A member is silent for longer each time that it flaps, but not for ever.
func TestFlappingSilence(t *testing.T) {
	s, at := NewSilences(timeout), start
	fall := func() (silence time.Duration) {
		at = at.Add(10 * time.Second)
		s.Read(Read{At: at, Renewed: renewed("a")}) // late at once
		for range 2 {
			if ask, _ := s.Due(at); len(ask) != 1 {
				t.Fatalf("asked are %v", ask)
			}
			s.Asked("a", Unanswered, at)
		}
		if !slices.Equal(s.Silent(), ids("a")) {
			t.Fatal("it is not silent")
		}
		s.Read(Read{At: at, Renewed: renewed("a")})
		s.Due(at)
		s.Asked("a", Answered, at)
		before := at
		for len(s.Silent()) > 0 {
			s.Due(at)
			s.Asked("a", Answered, at)
			at = at.Add(time.Second)
		}
		return at.Sub(before).Round(10 * time.Second)
	}
	for i, want := range []int{30, 60, 120, 240, 480, 600, 600} {
		if got := fall(); got != time.Duration(want)*time.Second {
			t.Errorf("silence %d lasts %v, want %d s", i, got, want)
		}
	}
	at = at.Add(time.Hour)
	if got := fall(); got != 30*time.Second {
		t.Errorf("after an hour without, a silence lasts %v", got)
	}
}

// A member of which nothing is known is not silent, nor is one that is asked while this cluster's network is at fault. A silent
// member of the last process stays silent until it answers or is heard.
func TestUnknownAndInherited(t *testing.T) {
	s := NewSilences(timeout)
	s.Inherit("b")
	s.Read(Read{At: start, First: true, Renewed: renewed("a", "b")})
	for n := range 10 {
		at := second(10 * n)
		ask, _ := s.Due(at)
		for _, id := range ask {
			s.Asked(id, Unknown, at)
		}
	}
	if !slices.Equal(s.Silent(), ids("b")) {
		t.Errorf("silent are %v", s.Silent())
	}
	s.Asked("b", Answered, second(200))
	s.Due(second(200))
	if s.Read(Read{Gone: ids("a")}); len(s.Silent()) > 0 || s.IsLate("a", second(300)) || !s.IsLate("b", second(300)) {
		t.Errorf("silent are %v", s.Silent())
	}
}
