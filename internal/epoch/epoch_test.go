package epoch

import (
	"slices"
	"testing"
)

// look has the judge look, once more where that shows candidates, of which the copies show all.
func look(j *Judge, r Reading) {
	for range 2 {
		r.Shown = map[string]bool{}
		for _, id := range j.Candidates(r) {
			r.Shown[id] = true
		}
		j.Looked(j.Begin(), r)
	}
}

func reading(place string, members map[string]Statement) Reading {
	return Reading{Place: place, Members: members}
}

// TestDoubts has the cases in which something that is missing is doubted, and for how long.
// Pitfall 31.
func TestDoubts(t *testing.T) {
	stated := func(place string, b, c int64) map[string]Statement {
		return map[string]Statement{"b": {place, b, uint64(b)}, "c": {place, c, uint64(c)}}
	}
	settled := func() *Judge {
		j := NewJudge(Memory{})
		look(j, reading("p", stated("p", 10, 10)))
		return j
	}
	for name, test := range map[string]struct {
		happens func(j *Judge)
		want    []string
	}{
		"a member has published again, but the copy does not show it yet": {func(j *Judge) {
			j.Vanished("b", 11)
			look(j, reading("p", stated("p", 10, 10)))
			j.Looked(j.Begin(), reading("p", stated("p", 11, 10)))
		}, []string{"b"}},
		"it had published that again before it was seen to go": {func(j *Judge) {
			j.Heard("b", Statement{"p", 11, 11})
			j.Vanished("b", 11)
			look(j, reading("p", stated("p", 11, 10)))
		}, nil},
		"a copy of slices is begun": {func(j *Judge) { j.Begun() }, []string{"b", "c"}},
		"a slice goes, and another one while somebody looks": {func(j *Judge) {
			j.Lacks("b", 0)
			began := j.Begin()
			j.Lacks("b", 0)
			j.Looked(began, reading("p", stated("p", 10, 10)))
		}, []string{"b"}},
		"a new namespace, in which one is back that has published nothing yet": {func(j *Judge) {
			look(j, reading("q", map[string]Statement{"b": {"p", 10, 10}}))
		}, []string{"b", "c"}},
		"a new namespace, in which one has published by a clock that has been put back": {func(j *Judge) {
			look(j, reading("q", map[string]Statement{"b": {"q", 9, 3}}))
			look(j, reading("q", map[string]Statement{"b": {"q", 9, 3}}))
		}, []string{"c"}},
		"a new namespace, and what had gone before has versions of the former one": {func(j *Judge) {
			j.Vanished("b", 1000)
			look(j, reading("q", map[string]Statement{"b": {"p", 10, 10}}))
			j.Unsure()
			look(j, reading("q", map[string]Statement{"b": {"q", 11, 3}}))
		}, []string{"c"}},
		"an earlier state, and one was there when the others were read, before that": {func(j *Judge) {
			began := j.Begin()
			j.Back()
			j.Looked(began, reading("p", stated("p", 10, 10)))
			look(j, reading("p", map[string]Statement{"b": {"p", 11, 11}}))
		}, []string{"c"}},
		"and one was there when the others were read, before the namespace was another one": {func(j *Judge) {
			j.Looked(j.Begin(), reading("q", stated("p", 10, 10)))
			look(j, reading("q", map[string]Statement{"b": {"q", 11, 11}}))
		}, []string{"c"}},
		"one joins while somebody looks, and something of it goes": {func(j *Judge) {
			began := j.Begin()
			j.Heard("b", Statement{"p", 11, 11})
			j.Looked(began, reading("p", map[string]Statement{"c": {"p", 10, 10}}))
			j.Vanished("b", 12)
		}, []string{"b"}},
		"one says what it had to say before an earlier state was restored: that does not come true with time": {func(j *Judge) {
			j.Back()
			for _, version := range []uint64{20, 30} {
				look(j, Reading{Place: "p", Version: version, Members: map[string]Statement{"b": {"p", 11, 21}, "c": {"p", 11, 20}}})
			}
		}, []string{"b"}},
		"the own heartbeat is missing, and a member too": {func(j *Judge) {
			j.Unsure()
			j.Looked(j.Begin(), Reading{Unheard: true, Place: "p", Members: map[string]Statement{"b": {"p", 10, 10}}})
		}, []string{"b", "c"}},
		"the own heartbeat is there again, as the others are": {func(j *Judge) {
			j.Unsure()
			j.Looked(j.Begin(), Reading{Unheard: true, Place: "p", Members: map[string]Statement{"b": {"p", 10, 10}}})
			look(j, reading("p", map[string]Statement{"b": {"p", 10, 10}}))
		}, []string{"c"}},
	} {
		t.Run(name, func(t *testing.T) {
			j := settled()
			test.happens(j)
			again := NewJudge(j.Memory())
			var got []string
			for _, id := range []string{"b", "c"} {
				if j.Doubts(id) {
					got = append(got, id)
				}
				if !again.Doubts(id) {
					t.Errorf("a judge that has not looked does not doubt %s", id)
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("doubts about %v, want %v", got, test.want)
			}
		})
	}
}

// TestOutdated has the cases in which what is there may be an earlier state. Pitfall 31.
func TestOutdated(t *testing.T) {
	both := map[string]Statement{"b": {"p", 10, 10}, "c": {"p", 10, 10}}
	j := NewJudge(Memory{})
	if !j.Outdated("b") {
		t.Error("nobody has looked")
	}
	look(j, reading("p", both))
	j.Vanished("b", 11)
	look(j, reading("q", map[string]Statement{"b": {}}))
	if j.Outdated("b") || j.Outdated("c") {
		t.Error("what there is in a new namespace is no earlier state")
	}
	look(j, reading("q", map[string]Statement{"b": {"q", 12, 12}, "c": {"q", 12, 12}}))
	j.Back()
	look(j, reading("q", map[string]Statement{"b": {"q", 12, 12}, "c": {"q", 12, 12}}))
	again := NewJudge(j.Memory())
	look(again, reading("q", map[string]Statement{"b": {"q", 12, 12}, "c": {"q", 13, 13}}))
	for _, j := range []*Judge{j, again} {
		if !j.Outdated("b") {
			t.Error("b has not published again what it had published last")
		}
	}
	look(j, reading("p", both))
	if !j.Doubts("b") || !j.Outdated("b") {
		t.Error("what was restored is a namespace that there was before, with what b said then")
	}
	if again.Outdated("c") {
		t.Error("c has")
	}
}

// TestRounds is about how often a member comes to be awaited: this cluster itself publishes everything again then.
func TestRounds(t *testing.T) {
	both := map[string]Statement{"b": {"p", 10, 10}, "c": {"p", 10, 10}}
	j := NewJudge(Memory{})
	look(j, reading("p", both))
	for i, step := range []struct {
		what    string
		happens func()
		want    int
	}{
		{"nothing", func() {}, 0},
		{"the namespace goes", func() { look(j, Reading{Going: true}) }, 1},
		{"it is going still", func() { look(j, Reading{Going: true}) }, 1},
		{"it is another one", func() { look(j, reading("q", both)) }, 2},
		{"it is the same", func() { look(j, reading("q", both)) }, 2},
		{"an earlier state is restored", j.Back, 3},
		{"and another one, before anybody has published again", j.Back, 4},
		{"a record vanishes", func() {
			look(j, reading("q", map[string]Statement{"b": {"q", 11, 11}, "c": {"q", 11, 11}}))
			j.Vanished("b", 12)
			look(j, reading("q", map[string]Statement{"b": {"q", 11, 11}, "c": {"q", 11, 11}}))
		}, 5},
	} {
		if step.happens(); j.Rounds("b") != step.want {
			t.Errorf("step %d, %s: %d rounds, want %d", i, step.what, j.Rounds("b"), step.want)
		}
	}
}

// TestMemory is about a process that ends in the middle of it.
func TestMemory(t *testing.T) {
	j := NewJudge(Memory{})
	look(j, reading("p", map[string]Statement{"b": {"p", 10, 10}, "c": {"p", 10, 10}}))

	again := NewJudge(j.Memory())
	look(again, reading("p", map[string]Statement{"b": {"p", 10, 10}}))
	if again.Doubts("b") || again.Doubts("c") {
		t.Error("c was removed meanwhile, and b is as it was")
	}

	again = NewJudge(j.Memory())
	look(again, reading("q", map[string]Statement{"b": {"q", 11, 11}}))
	again = NewJudge(again.Memory())
	look(again, reading("q", map[string]Statement{"b": {"q", 11, 11}}))
	if again.Doubts("b") || !again.Doubts("c") {
		t.Error("the broker is a new one, to which c has not come yet")
	}

	again = NewJudge(j.Memory())
	look(again, reading("p", map[string]Statement{"b": {"p", 7, 7}, "c": {"p", 10, 10}}))
	if !again.Doubts("b") {
		t.Error("b's statement is older than before")
	}
}

// TestFormerPlaces is about a backup of the namespace that there was before the broker was made anew.
func TestFormerPlaces(t *testing.T) {
	said := func(place string, at int64) map[string]Statement {
		return map[string]Statement{"b": {place, at, uint64(at)}}
	}
	j := NewJudge(Memory{})
	look(j, reading("p", said("p", 10)))
	for i := range 2 * maxFormer {
		look(j, reading(string(rune('a'+i)), said(string(rune('a'+i)), int64(20+i))))
	}
	if n := len(j.former); n != maxFormer {
		t.Errorf("%d are remembered", n)
	}
	look(j, reading("q", said("q", 50)))
	for _, j := range []*Judge{j, NewJudge(j.Memory())} {
		look(j, reading("q", said("q", 50)))
		last := string(rune('a' + 2*maxFormer - 1))
		if look(j, reading(last, said(last, 20+2*maxFormer-1))); !j.Doubts("b") || !j.Outdated("b") {
			t.Error("what it had said before counts again")
		}
		if look(j, reading(last, said(last, 51))); j.Doubts("b") {
			t.Error("it has published again")
		}
	}
}

// TestMembersThatMakeNoStatements is about those whose agents are older: what is missing of them
// is believed, but for a new broker, where they have to be seen first.
func TestMembersThatMakeNoStatements(t *testing.T) {
	j := NewJudge(Memory{})
	look(j, reading("p", map[string]Statement{"b": {}}))
	if j.Vanished("b", 11); j.Doubts("b") {
		t.Error("it does not withdraw what it deletes")
	}
	if look(j, reading("q", nil)); !j.Doubts("b") {
		t.Error("it is not known whether it was removed")
	}
	if look(j, reading("q", map[string]Statement{"b": {}})); j.Doubts("b") {
		t.Error("it is back, and can say no more")
	}
}

// A member that is taken back to an older version, whose agents make no statements, is one that does not withdraw: what goes of it has gone. One that is
// awaited is not, for the entry of a member that is about to say so looks the same.
func TestAMemberIsTakenBackToAnOlderVersion(t *testing.T) {
	for name, tt := range map[string]struct {
		before func(*Judge)
		doubts bool
	}{
		"it is":                   {func(*Judge) {}, false},
		"it has lost something":   {func(j *Judge) { j.Vanished("c1", 50) }, true},
		"the broker was put back": {func(j *Judge) { j.Back() }, true},
		"a copy is made anew":     {func(j *Judge) { j.Unsure() }, false},
	} {
		t.Run(name, func(t *testing.T) {
			j := NewJudge(Memory{})
			look := func(s Statement) {
				j.Looked(j.Begin(), Reading{Place: "uid", Version: 100, Members: map[string]Statement{"c1": s}, Shown: map[string]bool{"c1": true}})
			}
			look(Statement{Place: "uid", At: 1, Seen: 10})
			tt.before(j)
			if j.Heard("c1", Statement{}); j.Settled() {
				t.Fatal("nobody looks")
			}
			look(Statement{})
			j.Vanished("c1", 60)
			look(Statement{})
			if got := j.Doubts("c1"); got != tt.doubts {
				t.Errorf("doubts %t, want %t", got, tt.doubts)
			}
		})
	}
}

// What is read is never older than what was seen before, unless an earlier state was restored. What was seen while it was read says nothing.
func TestAReadingRecedes(t *testing.T) {
	for name, tt := range map[string]struct {
		seen func(*Judge)
		Reading
		want bool
	}{
		"a slice had gone":            {func(j *Judge) { j.Lacks("b", 50) }, Reading{Place: "p", Version: 40}, true},
		"a record had gone":           {func(j *Judge) { j.Vanished("b", 50) }, Reading{Place: "p", Version: 40}, true},
		"a reading was newer":         {func(j *Judge) { j.Looked(j.Begin(), Reading{Place: "p", Version: 50}) }, Reading{Place: "p", Version: 40}, true},
		"it is newer":                 {func(j *Judge) { j.Lacks("b", 50) }, Reading{Place: "p", Version: 50}, false},
		"in another place":            {func(j *Judge) { j.Lacks("b", 50) }, Reading{Place: "q", Version: 40}, false},
		"of which nobody knows where": {func(j *Judge) { j.Lacks("b", 50) }, Reading{Version: 40}, false},
		"that has been found":         {func(j *Judge) { j.Lacks("b", 50); j.Back() }, Reading{Place: "p", Version: 40}, false},
		"the place was another one":   {func(j *Judge) { j.Lacks("b", 50); j.Looked(j.Begin(), Reading{Place: "q", Version: 5}) }, Reading{Place: "q", Version: 6}, false},
		"the version is not known":    {func(j *Judge) { j.Lacks("b", 50) }, Reading{Place: "p"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			j := NewJudge(Memory{Place: "p"})
			tt.seen(j)
			j.Begin()
			if got := j.Receded(tt.Reading); got != tt.want {
				t.Errorf("it has receded %t, want %t", got, tt.want)
			}
		})
	}
	j := NewJudge(Memory{Place: "p"})
	j.Begin()
	j.Lacks("b", 50)
	if j.Receded(Reading{Place: "p", Version: 40}) {
		t.Error("it has receded, although it was read before a slice had gone")
	}
}
