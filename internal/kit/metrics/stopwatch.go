package metrics

import (
	"sync"
	"time"
)

// Stopwatch measures, for each key, the time from the first sight of something until it is handled. The zero value is
// ready for use.
type Stopwatch[K comparable] struct {
	mu    sync.Mutex
	since map[K]time.Time
}

// Start starts a measurement, unless one is running.
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

// Move moves a measurement to another key.
func (s *Stopwatch[K]) Move(from, to K) {
	if at, running := s.take(from); running {
		s.start(to, at)
	}
}

// Stop ends a measurement and returns its duration, or false if there was none.
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
