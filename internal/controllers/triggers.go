package controllers

import (
	"sync"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/atoll-mcs/atoll/internal/names"
	"github.com/atoll-mcs/atoll/internal/sliceplan"
)

// Triggers see to it that slices say when that happened which they are written for
// (endpoints.kubernetes.io/last-change-trigger-time): of changes that are written together the
// first one's time, as Kubernetes' own controller has it, and none where slices of a K are made
// again that had been taken away. The zero value knows of nothing.
type Triggers[K comparable] struct {
	mu      sync.Mutex
	first   map[K]waiting
	settled map[K]time.Time
}

// waiting are slices with changes that wait, by the source slice that they are made of and their name.
type waiting map[string]map[string]time.Time

// Hold is called with changes of a K's slices that have to wait.
func (t *Triggers[K]) Hold(key K, changes sliceplan.Changes) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range changes.Written() {
		at, ok := triggerOf(s)
		source := s.Annotations[names.AnnotationSourceSlice]
		if first, found := t.first[key][source][s.Name]; ok && (!found || at.Before(first)) {
			if t.first == nil {
				t.first = map[K]waiting{}
			}
			if t.first[key] == nil {
				t.first[key] = waiting{}
			}
			if t.first[key][source] == nil {
				t.first[key][source] = map[string]time.Time{}
			}
			t.first[key][source][s.Name] = at
		}
	}
}

// Stamp is called with changes that are written now: all that there are of what is made of a source slice of a
// K's, or with "" of all of the K. What is created because of something older than when all of the K was as it should
// be is created for another reason, of which the slice knows no time.
func (t *Triggers[K]) Stamp(key K, source string, changes sliceplan.Changes) {
	t.mu.Lock()
	defer t.mu.Unlock()
	settled, known := t.settled[key]
	for _, s := range changes.Create {
		if at, ok := triggerOf(s); ok && known && at.Before(settled) {
			delete(s.Annotations, names.AnnotationLastChangeTriggerTime)
		}
	}
	of := t.first[key]
	for _, s := range changes.Written() {
		if first, found := of[s.Annotations[names.AnnotationSourceSlice]][s.Name]; found {
			if s.Annotations == nil {
				s.Annotations = map[string]string{}
			}
			s.Annotations[names.AnnotationLastChangeTriggerTime] = first.UTC().Format(time.RFC3339Nano)
		}
	}
	// Also what has come to nothing while it waited.
	if delete(of, source); source == "" || len(of) == 0 {
		delete(t.first, key)
	}
}

// Settle is called when all of a K is as it should be.
func (t *Triggers[K]) Settle(key K, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.settled == nil {
		t.settled = map[K]time.Time{}
	}
	t.settled[key] = now
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
