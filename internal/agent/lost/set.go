package lost

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"sync"
)

// Set is the members whose endpoints are withdrawn. The lost controller fills it, others act on it. It is unknown
// before the first Replace.
type Set struct {
	mu      sync.Mutex
	known   chan struct{}
	members []string
	handler func(member string)
	// endpoints are the withdrawn endpoints of members that are not in the set.
	endpoints map[string]map[netip.AddrPort]bool
}

// NewSet returns a set that is not known yet.
func NewSet() *Set { return &Set{known: make(chan struct{})} }

// Known reports whether Replace has been called.
func (s *Set) Known() bool {
	select {
	case <-s.known:
		return true
	default:
		return false
	}
}

// Await waits until the set is known, or returns ctx's error.
func (s *Set) Await(ctx context.Context) error {
	select {
	case <-s.known:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Has reports whether a member is in the set.
func (s *Set) Has(member string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.members, member)
}

// OnChange sets the function for members that join or leave the set. The first Replace does not call it: use Await.
func (s *Set) OnChange(f func(member string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handler = f
}

// Replace sets the members. Only one goroutine may call it.
func (s *Set) Replace(members []string) {
	s.mu.Lock()
	before, first := s.members, !s.Known()
	s.members = slices.Clone(members)
	if first {
		close(s.known)
	}
	s.mu.Unlock()
	if first {
		return
	}
	for _, m := range slices.Concat(before, members) {
		if slices.Contains(before, m) != slices.Contains(members, m) {
			s.notify(m)
		}
	}
}

func (s *Set) notify(member string) {
	s.mu.Lock()
	f := s.handler
	s.mu.Unlock()
	if f != nil {
		f(member)
	}
}

// Endpoints returns the withdrawn endpoints of a member that is not in the set. Callers must not change the map.
func (s *Set) Endpoints(member string) map[netip.AddrPort]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.endpoints[member]
}

// ReplaceEndpoints sets the withdrawn endpoints by member. Only one goroutine may call it.
func (s *Set) ReplaceEndpoints(of map[string]map[netip.AddrPort]bool) {
	s.mu.Lock()
	before := s.endpoints
	s.endpoints = of
	s.mu.Unlock()
	either := maps.Clone(of)
	maps.Copy(either, before)
	for _, member := range slices.Sorted(maps.Keys(either)) {
		if !maps.Equal(before[member], of[member]) {
			s.notify(member)
		}
	}
}
