package controllers

import (
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/atoll-mcs/atoll/internal/names"
	"github.com/atoll-mcs/atoll/internal/sliceplan"
)

func TestTriggers(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	slice := func(name string, seconds int) *discoveryv1.EndpointSlice {
		s := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{names.AnnotationSourceSlice: name}}}
		if seconds >= 0 {
			s.Annotations[names.AnnotationLastChangeTriggerTime] = at(seconds).Format(time.RFC3339Nano)
		}
		return s
	}
	list := func(s ...*discoveryv1.EndpointSlice) []*discoveryv1.EndpointSlice { return s }
	var triggers Triggers[string]
	expect := func(what string, s *discoveryv1.EndpointSlice, seconds int) {
		t.Helper()
		want := ""
		if seconds >= 0 {
			want = at(seconds).Format(time.RFC3339Nano)
		}
		if got := s.Annotations[names.AnnotationLastChangeTriggerTime]; got != want {
			t.Errorf("%s: it says %q, want %q", what, got, want)
		}
	}
	stamp := func(changes sliceplan.Changes) { triggers.Stamp("web", "", changes) }
	hold := func(s *discoveryv1.EndpointSlice) { triggers.Hold("web", sliceplan.Changes{Update: list(s)}) }

	first := slice("a", 1)
	stamp(sliceplan.Changes{Create: list(first)})
	expect("the first one", first, 1)
	triggers.Settle("web", at(2))

	// Three changes are written together; another slice of the same service has nothing to do with them.
	hold(slice("a", 3))
	hold(slice("a", 4))
	last, other, hinted := slice("a", 5), slice("b", 5), slice("c", -1)
	stamp(sliceplan.Changes{Update: list(last, other, hinted)})
	expect("changes that waited", last, 3)
	expect("one that did not", other, 5)
	expect("one for another reason", hinted, -1)
	next := slice("a", 6)
	stamp(sliceplan.Changes{Update: list(next)})
	expect("the next one", next, 6)

	// What has waited and come to nothing is not remembered, of all or of one source slice.
	hold(slice("a", 7))
	stamp(sliceplan.Changes{Update: list(slice("b", 8))})
	again := slice("a", 9)
	stamp(sliceplan.Changes{Update: list(again)})
	expect("a change after that", again, 9)
	hold(slice("a", 10))
	hold(slice("b", 10))
	triggers.Stamp("web", "a", sliceplan.Changes{}) // its source slice has gone again
	again, other = slice("a", 11), slice("b", 11)
	stamp(sliceplan.Changes{Create: list(again), Update: list(other)})
	expect("one of that name", again, 11)
	expect("what waits for another source slice", other, 10)

	// All was taken away and is made again, of sources that have not changed; but one has.
	triggers.Settle("web", at(20))
	old, changed := slice("a", 9), slice("b", 21)
	stamp(sliceplan.Changes{Create: list(old, changed)})
	expect("made again", old, -1)
	expect("made anew", changed, 21)
	hold(slice("a", 22))
	triggers.Forget("web")
	if len(triggers.first)+len(triggers.settled) > 0 {
		t.Errorf("remembered: %v, %v", triggers.first, triggers.settled)
	}
}
