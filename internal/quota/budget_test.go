package quota

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

func newTestBudget(limits Limits) (b *Budget, clock *time.Time, over *[]string) {
	now, told := time.Unix(1000, 0), []string{}
	b = NewBudget(limits, func() time.Time { return now }, func(member string, u Usage) { told = append(told, member+" "+string(u.Reason)) })
	return b, &now, &told
}

// A member that changes too fast is cut off alone, for longer each time, and what others change is taken all the same.
func TestWhoChangesTooFastIsCutOff(t *testing.T) {
	b, now, told := newTestBudget(Limits{Changes: 1, ChangesAtOnce: 3})
	a := b.NewAccount()
	a.Begin()
	a.End()
	for i := range 3 {
		if ok, _ := a.Changed("loud", fmt.Sprint(i), 10, 10); !ok {
			t.Errorf("change %d is not taken", i)
		}
	}
	pauses := []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 5 * time.Minute, 5 * time.Minute}
	for _, pause := range pauses {
		if ok, cut := a.Changed("loud", "0", 20, 20); ok || !cut {
			t.Fatalf("it is not cut off, for %v", pause)
		}
		if ok, _ := a.Changed("calm", "0", 10, 10); !ok {
			t.Error("another member's change is not taken")
		}
		if got := b.Usage()["loud"].CutOff.Sub(*now); got != pause {
			t.Errorf("it is cut off for %v, not %v", got, pause)
		}
		if got := a.Without(); !slices.Equal(got, []string{"loud"}) || a.Incomplete() {
			t.Errorf("watches leave out %v", got)
		}
		*now = now.Add(pause)
		if !a.Incomplete() {
			t.Error("the copy is not made anew in the end")
		}
		if got := a.Begin(); len(got) > 0 {
			t.Errorf("the list is without %v", got)
		}
		a.Listed("loud", "0", 10)
		a.Listed("calm", "0", 10)
		a.End()
		for range 3 { // it goes on as before
			a.Changed("loud", "0", 10, 10)
		}
	}
	if len(*told) != len(pauses) || (*told)[0] != "loud changes" {
		t.Errorf("told %v", *told)
	}
}

// Bytes count too: a few large changes are as much as many small ones.
func TestLargeChangesCostMore(t *testing.T) {
	b, _, _ := newTestBudget(Limits{BytesChanged: 10, BytesAtOnce: 100})
	a := b.NewAccount()
	if ok, _ := a.Changed("loud", "0", 90, 90); !ok {
		t.Error("what is within the limit is not taken")
	}
	if _, cut := a.Changed("loud", "0", 90, 90); !cut {
		t.Error("what is beyond it is")
	}
}

// Of a member that has too many objects, or too large ones, those are left out that come last, until there is room.
func TestWhatIsBeyondTheBudgetIsLeftOut(t *testing.T) {
	for name, limits := range map[string]Limits{"objects": {Objects: 20}, "bytes": {Bytes: 200}} {
		b, _, told := newTestBudget(limits)
		one, other := b.NewAccount(), b.NewAccount()
		one.Begin()
		for i := range 15 {
			if !one.Listed("big", fmt.Sprint(i), 10) {
				t.Errorf("%s: object %d is left out", name, i)
			}
		}
		one.End()
		kept := 0
		for i := range 10 {
			if ok, _ := other.Changed("big", fmt.Sprint(i), 10, 10); ok {
				kept++
			}
		}
		if u := b.Usage()["big"]; kept != 5 || u.Objects != 20 || u.Bytes != 200 || u.LeftOut != 5 || string(u.Reason) != name {
			t.Errorf("%s: %d are kept, %+v", name, kept, u)
		}
		if !other.Listed("small", "0", 10) {
			t.Errorf("%s: another member's object is left out", name)
		}
		if other.Incomplete() {
			t.Errorf("%s: a copy is made anew without room", name)
		}
		for i := range 3 {
			one.Changed("big", fmt.Sprint(i), 0, 1) // gone
		}
		if !other.Incomplete() || one.Incomplete() {
			t.Errorf("%s: the copy is not made anew where there is room, or another one is", name)
		}
		one.Close()
		if u := b.Usage()["big"]; u.Objects != 5 || u.Bytes != 50 {
			t.Errorf("%s: after a copy has gone: %+v", name, u)
		}
		if len(*told) != 1 {
			t.Errorf("%s: told %v", name, *told)
		}
	}
}

// A list without a member that is cut off takes nothing of what is held of it, and what is missing in a list is not held any more.
func TestListsWithoutAMember(t *testing.T) {
	b, now, _ := newTestBudget(Limits{Changes: 1, ChangesAtOnce: 1})
	a := b.NewAccount()
	a.Begin()
	a.Listed("loud", "0", 10)
	a.Listed("calm", "0", 10)
	a.End()
	a.Changed("loud", "0", 10, 10)
	a.Changed("loud", "0", 10, 10)
	if got := a.Begin(); !slices.Equal(got, []string{"loud"}) {
		t.Fatalf("the list is without %v", got)
	}
	a.End()
	if u := b.Usage(); u["loud"].Objects != 1 || u["calm"].Objects != 0 {
		t.Errorf("held: %+v", u)
	}
	*now = now.Add(firstPause)
	a.Begin()
	a.End()
	if u := b.Usage(); u["loud"].Objects != 0 {
		t.Errorf("held after a list with it: %+v", u)
	}
}

// One that is removed is not cut off for longer than the first time, so that its end is seen.
func TestRemovedMembersAreListedSoon(t *testing.T) {
	b, now, _ := newTestBudget(Limits{Changes: 1, ChangesAtOnce: 1})
	a := b.NewAccount()
	a.Changed("loud", "0", 1, 1)
	b.members["loud"].pause = lastPause
	b.members["loud"].cutOff = now.Add(-time.Second)
	a.Changed("loud", "0", 1, 1)
	if got := b.Usage()["loud"].CutOff.Sub(*now); got != lastPause {
		t.Fatalf("it is cut off for %v", got)
	}
	b.Removed("loud")
	if got := b.Usage()["loud"].CutOff.Sub(*now); got != firstPause {
		t.Errorf("it is cut off for %v", got)
	}
}

// A member that alternates between too many objects and enough of them is reported from time to time, and the reason that is given
// is the one for which something is left out, also after a cut-off.
func TestMemberAroundItsLimit(t *testing.T) {
	b, now, told := newTestBudget(Limits{Objects: 1, Changes: 1, ChangesAtOnce: 7})
	a := b.NewAccount()
	a.Changed("big", "0", 10, 10)
	for range 3 {
		a.Changed("big", "1", 10, 10)
		if u := b.Usage()["big"]; u.Reason != TooManyObjects {
			t.Errorf("left out for %q", u.Reason)
		}
		a.Changed("big", "1", 0, 1)
		if u := b.Usage()["big"]; u.Reason != "" {
			t.Errorf("within the budget, with reason %q", u.Reason)
		}
	}
	if len(*told) != 1 {
		t.Errorf("told %v", *told)
	}
	*now = now.Add(lastPause)
	a.Changed("big", "1", 10, 10)
	for range 7 {
		a.Changed("big", "0", 10, 10)
	}
	if u := b.Usage()["big"]; u.Reason != TooManyChanges {
		t.Errorf("cut off for %q", u.Reason)
	}
	*now = now.Add(firstPause)
	if u := b.Usage()["big"]; u.Reason != TooManyObjects {
		t.Errorf("left out after the cut-off for %q", u.Reason)
	}
	if len(*told) != 3 {
		t.Errorf("told %v", *told)
	}
}
