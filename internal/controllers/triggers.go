package controllers

import (
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
	mu      sync.Mutex
	first   map[types.NamespacedName]time.Time // of slices with changes that wait
	settled map[K]time.Time
}

// Hold is called with changes that have to wait.
func (t *Triggers[K]) Hold(changes sliceplan.Changes) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range changes.Written() {
		at, ok := triggerOf(s)
		if first, found := t.first[keyOf(s)]; ok && (!found || at.Before(first)) {
			if t.first == nil {
				t.first = map[types.NamespacedName]time.Time{}
			}
			t.first[keyOf(s)] = at
		}
	}
}

// Stamp is called with changes that are written now: those from have of a K to want. What is
// created because of something older than when all of the K was as it should be is created for
// another reason, of which the slice knows no time.
func (t *Triggers[K]) Stamp(key K, changes sliceplan.Changes, want []discoveryv1.EndpointSlice) {
	t.mu.Lock()
	defer t.mu.Unlock()
	settled, known := t.settled[key]
	for _, s := range changes.Create {
		if at, ok := triggerOf(s); ok && known && at.Before(settled) {
			delete(s.Annotations, names.AnnotationLastChangeTriggerTime)
		}
	}
	if len(t.first) == 0 {
		return
	}
	for _, s := range changes.Written() {
		if first, found := t.first[keyOf(s)]; found {
			if s.Annotations == nil {
				s.Annotations = map[string]string{}
			}
			s.Annotations[names.AnnotationLastChangeTriggerTime] = first.UTC().Format(time.RFC3339Nano)
		}
	}
	for i := range want { // also what has come to nothing while it waited
		delete(t.first, keyOf(&want[i]))
	}
	for _, s := range changes.Delete {
		delete(t.first, keyOf(s))
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
}

func keyOf(s *discoveryv1.EndpointSlice) types.NamespacedName {
	return types.NamespacedName{Namespace: s.Namespace, Name: s.Name}
}

// triggerOf returns the time that a slice says.
func triggerOf(s *discoveryv1.EndpointSlice) (time.Time, bool) {
	at, err := time.Parse(time.RFC3339Nano, s.Annotations[names.AnnotationLastChangeTriggerTime])
	return at, err == nil
}
