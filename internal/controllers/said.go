package controllers

import (
	"maps"
	"slices"
	"sync"
)

// Said remembers what was said of Ks by Events, so that it is said once: there is no condition that could remember it. The
// zero value remembers nothing.
type Said[K, V comparable] struct {
	mu   sync.Mutex
	said map[K]V
}

// News tells whether this was not the last thing said of a K, and has it count as said.
func (s *Said[K, V]) News(key K, now V) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last, found := s.said[key]; found && last == now {
		return false
	}
	if s.said == nil {
		s.said = map[K]V{}
	}
	s.said[key] = now
	return true
}

// Forget has the next that is said of a K be news, and tells whether anything was said of it.
func (s *Said[K, V]) Forget(key K) (said bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, said = s.said[key]
	delete(s.said, key)
	return said
}

// Has tells whether something was said of a K.
func (s *Said[K, V]) Has(key K) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, said := s.said[key]
	return said
}

// All returns the Ks of which something was said.
func (s *Said[K, V]) All() []K {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.said))
}
