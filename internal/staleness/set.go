package staleness

import (
	"context"
	"slices"
	"sync"
)

// Set is the members whose endpoints are withdrawn, as told by the one that decides to those
// that act on it. It is not known before the first Replace.
type Set struct {
	mu       sync.Mutex
	known    chan struct{}
	members  []string
	handlers []func(member string)
}

// NewSet returns a set that is not known yet.
func NewSet() *Set { return &Set{known: make(chan struct{})} }

// Known tells whether it has been decided who is in the set.
func (s *Set) Known() bool {
	select {
	case <-s.known:
		return true
	default:
		return false
	}
}

// Await returns when the set is known, or with ctx's error.
func (s *Set) Await(ctx context.Context) error {
	select {
	case <-s.known:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Has tells whether a member is in the set.
func (s *Set) Has(member string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.members, member)
}

// OnChange has f called with each member that comes into the set or goes, once it is known.
func (s *Set) OnChange(f func(member string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handlers = append(s.handlers, f)
}

// Replace says who is in the set now. It is for one caller at a time.
func (s *Set) Replace(members []string) {
	s.mu.Lock()
	before, handlers := s.members, slices.Clone(s.handlers)
	s.members = slices.Clone(members)
	s.mu.Unlock()
	if !s.Known() {
		close(s.known)
		return // who waits for that looks at all
	}
	for _, m := range slices.Concat(before, members) {
		if slices.Contains(before, m) == slices.Contains(members, m) {
			continue
		}
		for _, f := range handlers {
			f(m)
		}
	}
}
