package controllers

import (
	"slices"
	"sync"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/atoll-mcs/atoll/internal/names"
	"github.com/atoll-mcs/atoll/internal/sliceplan"
)

// Triggers see to it that slices say when that happened which they are written for
// (endpoints.kubernetes.io/last-change-trigger-time): of changes that are written together the
// first one's time, as Kubernetes' own controller has it, and none where slices of a K are made
// again that had been taken away. The zero value knows of nothing.
type Triggers[K comparable] struct {
	mu    sync.Mutex
	first map[K]waiting
	// settled is what was said by source slices when what is made of them was as it should be. A time to compare with
	// would not do: a slice that comes while its service is being written says an earlier one, and of pods whole seconds.
	settled map[K]sliceplan.Times
}

// waiting are the first times of slices with changes that are not written yet, by the source slice that
// they are made of and their name.
type waiting map[string]map[string]time.Time

// note has a slice wait since at, unless it does so for longer.
func (w waiting) note(source, name string, at time.Time) {
	if w[source] == nil {
		w[source] = map[string]time.Time{}
	}
	if first, found := w[source][name]; !found || at.Before(first) {
		w[source][name] = at
	}
}

// Hold is called with changes of a K's slices that have to wait.
func (t *Triggers[K]) Hold(key K, changes sliceplan.Changes) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hold(key, changes)
}

// hold is called with mu held.
func (t *Triggers[K]) hold(key K, changes sliceplan.Changes) waiting {
	t.again(key, changes.Create)
	of := t.first[key]
	if of == nil {
		of = waiting{}
	}
	for _, s := range changes.Written() {
		if at, ok := triggerOf(s); ok {
			of.note(s.Annotations[names.AnnotationSourceSlice], s.Name, at)
		}
	}
	t.keep(key, of)
	return of
}

// again has slices say nothing that are created of what was there already when all was as it should be: they are
// for another reason, of which they know no time.
func (t *Triggers[K]) again(key K, created []*discoveryv1.EndpointSlice) {
	for _, s := range created {
		if slices.Contains(t.settled[key][s.Annotations[names.AnnotationSourceSlice]], s.Annotations[names.AnnotationLastChangeTriggerTime]) {
			delete(s.Annotations, names.AnnotationLastChangeTriggerTime)
		}
	}
}

// keep is called with mu held.
func (t *Triggers[K]) keep(key K, of waiting) {
	if len(of) == 0 {
		delete(t.first, key)
		return
	}
	if t.first == nil {
		t.first = map[K]waiting{}
	}
	t.first[key] = of
}

// Stamp is called with changes of a K's slices that are written now, and Wrote after that.
func (t *Triggers[K]) Stamp(key K, changes sliceplan.Changes) {
	t.mu.Lock()
	defer t.mu.Unlock()
	of := t.hold(key, changes) // until they are written
	for _, s := range changes.Written() {
		if first, found := of[s.Annotations[names.AnnotationSourceSlice]][s.Name]; found {
			if s.Annotations == nil {
				s.Annotations = map[string]string{}
			}
			s.Annotations[names.AnnotationLastChangeTriggerTime] = first.UTC().Format(time.RFC3339Nano)
		}
	}
}

// Wrote is called after an attempt to write changes, which were decided on versions: all that there are of
// what is made of a source slice of a K's, or with "" of all of the K. What has failed or come too late keeps its
// time for the next attempt. The rest is forgotten, also what has come to nothing while it waited.
func (t *Triggers[K]) Wrote(key K, source string, versions map[types.UID]string, changes sliceplan.Changes) {
	t.mu.Lock()
	defer t.mu.Unlock()
	of, left := t.first[key], waiting{}
	for from, since := range of {
		if source != "" && from != source {
			left[from] = since
		}
	}
	for _, s := range changes.Written() {
		from := s.Annotations[names.AnnotationSourceSlice]
		if since, found := of[from][s.Name]; found && !wrote(s, versions) {
			left.note(from, s.Name, since)
		}
	}
	t.keep(key, left)
}

// Settle is called when what is made of a source slice of a K's, or with "" of all of them, is as it should be. times are
// those of all source slices that there were when that was decided, also of those of which nothing is made.
func (t *Triggers[K]) Settle(key K, source string, times sliceplan.Times) {
	t.mu.Lock()
	defer t.mu.Unlock()
	of := t.settled[key]
	switch {
	case source == "":
		if t.settled == nil {
			t.settled = map[K]sliceplan.Times{}
		}
		t.settled[key] = times
	case of != nil && times[source] != nil:
		of[source] = times[source]
	default:
		delete(of, source)
	}
}

// Forget is called when there is nothing of a K any more.
func (t *Triggers[K]) Forget(key K) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.settled, key)
	delete(t.first, key)
}

// triggerOf returns the time that a slice says.
func triggerOf(s *discoveryv1.EndpointSlice) (time.Time, bool) {
	at, err := time.Parse(time.RFC3339Nano, s.Annotations[names.AnnotationLastChangeTriggerTime])
	return at, err == nil
}
