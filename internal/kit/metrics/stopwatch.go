package metrics

import (
	"sync"
	"time"
)

// Stopwatch measures from when something was first seen until it is dealt with, each K
// for itself. The zero value measures nothing yet.
type Stopwatch[K comparable] struct {
	mu    sync.Mutex
	since map[K]time.Time
}

// Start begins to measure, unless that is being done already.
func (s *Stopwatch[K]) Start(key K) { s.start(key, time.Now()) }

func (s *Stopwatch[K]) start(key K, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.since == nil {
		s.since = map[K]time.Time{}
	}
	if before, running := s.since[key]; !running || at.Before(before) {
		s.since[key] = at
	}
}

// Move has what was measured for one be measured for another.
func (s *Stopwatch[K]) Move(from, to K) {
	if at, running := s.take(from); running {
		s.start(to, at)
	}
}

// Stop ends measuring and returns how long it took, false where nothing was measured.
func (s *Stopwatch[K]) Stop(key K) (time.Duration, bool) {
	at, running := s.take(key)
	return time.Since(at), running
}

func (s *Stopwatch[K]) take(key K) (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, running := s.since[key]
	delete(s.since, key)
	return at, running
}
