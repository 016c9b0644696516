package controllers

import (
	"fmt"
	"slices"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

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
	version := 0
	// write writes changes of a source slice, or all with "", of which those named fail.
	write := func(source string, changes sliceplan.Changes, failing ...string) {
		t.Helper()
		for _, s := range changes.Update {
			s.UID, s.ResourceVersion = types.UID("uid of "+s.Name), "0"
		}
		versions := Versions(changes)
		triggers.Stamp("web", changes)
		for _, s := range changes.Written() {
			if version++; !slices.Contains(failing, s.Name) {
				s.UID, s.ResourceVersion = types.UID("uid of "+s.Name), fmt.Sprint(version)
			}
		}
		triggers.Wrote("web", source, versions, changes)
	}
	hold := func(s *discoveryv1.EndpointSlice) { triggers.Hold("web", sliceplan.Changes{Update: list(s)}) }
	settle := func(source string, sources ...*discoveryv1.EndpointSlice) {
		triggers.Settle("web", source, sliceplan.Publication{}.Times(sources))
	}

	first := slice("a", 1)
	write("", sliceplan.Changes{Create: list(first)})
	expect("the first one", first, 1)
	settle("", slice("a", 1))

	// Three changes are written together; another slice of the same service has nothing to do with them.
	hold(slice("a", 3))
	hold(slice("a", 4))
	last, other, hinted := slice("a", 5), slice("b", 5), slice("c", -1)
	write("", sliceplan.Changes{Update: list(last, other, hinted)})
	expect("changes that waited", last, 3)
	expect("one that did not", other, 5)
	expect("one for another reason", hinted, -1)
	next := slice("a", 6)
	write("", sliceplan.Changes{Update: list(next)})
	expect("the next one", next, 6)

	// What has waited and come to nothing is not remembered, of all or of one source slice.
	hold(slice("a", 7))
	write("", sliceplan.Changes{Update: list(slice("b", 8))})
	again := slice("a", 9)
	write("", sliceplan.Changes{Update: list(again)})
	expect("a change after that", again, 9)
	hold(slice("a", 10))
	hold(slice("b", 10))
	write("a", sliceplan.Changes{}) // its source slice has gone again
	again, other = slice("a", 11), slice("b", 11)
	write("", sliceplan.Changes{Create: list(again), Update: list(other)})
	expect("one of that name", again, 11)
	expect("what waits for another source slice", other, 10)

	// What has failed, or come too late, is tried again with what has changed since, and says when the first change was.
	hold(slice("a", 12))
	write("a", sliceplan.Changes{Update: list(slice("a", 13))}, "a")
	write("", sliceplan.Changes{Update: list(slice("a", 14), slice("b", 14)), Create: list(slice("c", 14))}, "a", "c")
	last, other, made := slice("a", 15), slice("b", 15), slice("c", 15)
	write("", sliceplan.Changes{Update: list(last, other), Create: list(made)})
	expect("one that failed twice", last, 12)
	expect("one that did not", other, 15)
	expect("one that could not be created", made, 14)
	last = slice("a", 16)
	write("a", sliceplan.Changes{Update: list(last)})
	expect("one after that", last, 16)

	// All was taken away and is made again, of sources that have not changed; but one has, and another has come while
	// the rest was written, for something that happened before.
	settle("", slice("a", 9), slice("b", 9))
	settle("b", slice("b", 17))
	old, changed, fresh := slice("a", 9), slice("b", 18), slice("c", 8)
	write("", sliceplan.Changes{Create: list(old, changed, fresh)})
	expect("made again", old, -1)
	expect("made anew", changed, 18)
	expect("new", fresh, 8)
	triggers.Hold("web", sliceplan.Changes{Create: list(slice("b", 17))})
	changed = slice("b", 19)
	write("", sliceplan.Changes{Create: list(changed)})
	expect("made anew, after it waited to be made again", changed, 19)
	settle("c", slice("c", 8))
	settle("c")
	fresh = slice("c", 8)
	write("c", sliceplan.Changes{Create: list(fresh)})
	expect("made of one that had gone", fresh, 8)

	hold(slice("a", 22))
	triggers.Forget("web")
	settle("a", slice("a", 22)) // of something that has gone
	if len(triggers.first)+len(triggers.settled) > 0 {
		t.Errorf("remembered: %v, %v", triggers.first, triggers.settled)
	}
}
