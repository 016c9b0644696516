package controllers

import (
	"strconv"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/atoll-mcs/atoll/internal/names"
	"github.com/atoll-mcs/atoll/internal/sliceplan"
)

// made is a slice that was made of a source slice, in a version; 0 for one that is new.
func made(name, source string, version int) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{names.AnnotationSourceSlice: source}}}
	if version > 0 {
		s.ResourceVersion = strconv.Itoa(version)
	}
	return s
}

// turnsOfWeb has the turns of one service tried, one second apart at most.
type turnsOfWeb struct {
	*testing.T
	turns Turns[string]
	start time.Time
}

func (t *turnsOfWeb) begin(what, source string, after, want time.Duration) {
	t.Helper()
	got, all := t.turns.Begin("web", source, t.start.Add(after))
	if got != want {
		t.Errorf("%s: waits for %v, want %v", what, got, want)
	}
	if want := got > 0 && t.turns.of["web"].again; all != want {
		t.Errorf("%s: all will be decided on: %v, want %v", what, all, want)
	}
}

func (t *turnsOfWeb) end(what, source string, written, want bool) {
	t.Helper()
	if got := t.turns.End("web", source, written, t.start); got != want {
		t.Errorf("%s: all again %v, want %v", what, got, want)
	}
}

func (t *turnsOfWeb) seen(what string, s *discoveryv1.EndpointSlice, want Arrival) {
	t.Helper()
	if got := t.turns.Seen("web", s, t.start.Add(time.Millisecond)); got != want {
		t.Errorf("%s: %+v, want %+v", what, got, want)
	}
}

func (t *turnsOfWeb) nothingIsRemembered() {
	t.Helper()
	if len(t.turns.of) > 0 {
		t.Errorf("remembered: %+v", t.turns.of)
	}
}

// What is decided on at the same time.
func TestTurns(t *testing.T) {
	w := turnsOfWeb{T: t, start: time.Now()}
	w.begin("one slice", "a", 0, 0)
	w.begin("another one", "b", 0, 0)
	w.begin("all, while it is theirs", "", 0, echoPatience)
	w.begin("one more slice, after that", "c", 0, echoPatience)
	if wait, _ := w.turns.Begin("other", "", w.start); wait > 0 {
		t.Errorf("another service waits for %v", wait)
	}
	w.turns.End("other", "", true, w.start)
	w.end("one of two", "a", true, false)
	w.end("the other one", "b", true, true)
	w.nothingIsRemembered()

	w.begin("all", "", 0, 0)
	w.begin("one slice, while it is the turn of all", "a", 0, echoPatience)
	w.end("all", "", true, true)
	w.begin("all, again", "", 0, 0)
	w.end("all, when nobody was refused", "", true, false)
	w.nothingIsRemembered()
}

// What is decided on before and after writes have come back.
func TestTurnsWaitForWhatWasWritten(t *testing.T) {
	w := turnsOfWeb{T: t, start: time.Now()}
	w.begin("all", "", 0, 0)
	created, unwritten := made("a.0", "a", 0), made("d.0", "d", 0)
	w.turns.Writing("web", sliceplan.Changes{
		Create: []*discoveryv1.EndpointSlice{created, unwritten}, Update: []*discoveryv1.EndpointSlice{made("b.0", "b", 5)},
		Delete: []*discoveryv1.EndpointSlice{made("a.1", "a", 7)},
	}, w.start)
	created.ResourceVersion = "8"
	w.seen("what was created, before that is known", made("a.0", "a", 8), Arrival{})
	w.end("all", "", true, false)
	w.begin("what was not written", "d", 0, 0)
	w.end("what was not written", "d", true, false)
	w.begin("another source", "c", 0, 0)
	w.end("another source", "c", true, false)
	w.begin("one that was written, later", "b", 300*time.Millisecond, echoPatience-300*time.Millisecond)
	w.seen("the version before", made("b.0", "b", 5), Arrival{})
	w.begin("one that has not come", "b", 0, echoPatience)
	w.seen("the new version", made("b.0", "b", 9), Arrival{})
	w.begin("one that has come", "b", 0, 0)
	w.end("one that has come", "b", true, false)
	w.begin("one of which a part has come", "a", 0, echoPatience)
	w.begin("all", "", 0, echoPatience)
	w.begin("another source, after that", "c", 0, echoPatience)
	w.seen("what is to go, in an old version", made("a.1", "a", 6), Arrival{})
	w.seen("what is gone", made("a.1", "a", 7), Arrival{Again: true})
	w.nothingIsRemembered()

	w.begin("one slice", "b", 0, 0)
	w.turns.Writing("web", sliceplan.Changes{Update: []*discoveryv1.EndpointSlice{made("b.0", "b", 9)}}, w.start)
	w.end("one slice", "b", true, false)
	w.seen("one write by itself, which nobody waits for", made("b.0", "b", 12), Arrival{Took: time.Millisecond})
	w.nothingIsRemembered()

	w.begin("one slice", "b", 0, 0)
	w.turns.Writing("web", sliceplan.Changes{Update: []*discoveryv1.EndpointSlice{made("b.0", "b", 12)}}, w.start)
	w.end("one slice, which failed", "b", false, false)
	w.nothingIsRemembered()

	w.begin("one slice", "a", 0, 0)
	w.turns.Writing("web", sliceplan.Changes{Update: []*discoveryv1.EndpointSlice{made("a.0", "a", 3)}}, w.start)
	w.end("one slice", "a", true, false)
	w.begin("all", "", 0, echoPatience)
	w.begin("another source, by a copy that is behind for long", "b", echoPatience, 0)
	w.end("another source", "b", true, false)
	w.begin("all, by a copy that is behind for long", "", echoPatience, 0)
	w.end("all", "", true, false)
	w.nothingIsRemembered()
}

// Of what an API server has left as it was nothing is heard, so that nothing waits for it.
func TestTurnsDoNotWaitForWhatWasNotStored(t *testing.T) {
	w := turnsOfWeb{T: t, start: time.Now()}
	w.begin("one slice", "a", 0, 0)
	sent := made("a.0", "a", 3)
	w.turns.Writing("web", sliceplan.Changes{Release: []*discoveryv1.EndpointSlice{sent}}, w.start)
	sent.ResourceVersion = ""
	w.end("one slice", "a", true, false)
	w.nothingIsRemembered()
}

// An echo that never comes keeps nobody waiting for ever.
func TestTurnsForgetLostEchoes(t *testing.T) {
	w := turnsOfWeb{T: t, start: time.Now().Add(-2 * echoPatience)}
	w.begin("one slice", "a", 0, 0)
	w.turns.Writing("web", sliceplan.Changes{Update: []*discoveryv1.EndpointSlice{made("a.0", "a", 3)}}, w.start)
	w.end("one slice", "a", true, false) // and it is never seen
	later := w.start.Add(echoPatience + time.Second)
	if wait, _ := w.turns.Begin("web", "b", later); wait > 0 {
		t.Fatalf("another slice waits for %v", wait)
	}
	if _, all := w.turns.Begin("web", "", later); !all {
		t.Fatal("all is decided on beside one slice")
	}
	if !w.turns.End("web", "b", true, later) {
		t.Error("nobody is told that all is to be decided on")
	}
	w.nothingIsRemembered()
}

// What somebody else has written between that a slice was read and that it is written is not awaited: the
// copy shows it already, and the write is refused.
func TestTurnsDoNotWaitForWhatHasBeenSeen(t *testing.T) {
	w := turnsOfWeb{T: t, start: time.Now()}
	w.begin("one slice", "a", 0, 0)
	w.seen("another one's write, of the version that is read then", made("b.0", "b", 3), Arrival{})
	w.seen("another one's write, after the slice was read", made("a.0", "a", 4), Arrival{})
	outdated, new := made("a.0", "a", 3), made("a.1", "a", 0)
	w.turns.Writing("web", sliceplan.Changes{Update: []*discoveryv1.EndpointSlice{outdated}, Create: []*discoveryv1.EndpointSlice{new}}, w.start)
	new.ResourceVersion = "5"
	w.end("one slice", "a", true, false)
	w.begin("again, where another slice has not come yet", "a", 0, echoPatience)
	w.seen("it has come", made("a.1", "a", 5), Arrival{})
	w.begin("again", "a", 0, 0)
	w.turns.Writing("web", sliceplan.Changes{Update: []*discoveryv1.EndpointSlice{made("a.0", "a", 4)}}, w.start)
	w.end("again", "a", true, false)
	w.begin("by the version that was shown last", "a", 0, echoPatience)
	w.seen("its echo", made("a.0", "a", 6), Arrival{Took: time.Millisecond})
	w.nothingIsRemembered()
}
