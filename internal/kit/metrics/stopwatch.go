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
func (s *Stopwatch[K]) Start(key K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.since == nil {
		s.since = map[K]time.Time{}
	}
	if _, running := s.since[key]; !running {
		s.since[key] = time.Now()
	}
}

// Stop ends a measurement and returns its duration, or false if there was none.
func (s *Stopwatch[K]) Stop(key K) (time.Duration, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, running := s.since[key]
	delete(s.since, key)
	return time.Since(at), running
}
