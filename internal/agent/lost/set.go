package lost

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"sync"
)

// Set is the members whose endpoints are withdrawn, as told by the one that decides to those
// that act on it. It is not known before the first Replace.
type Set struct {
	mu      sync.Mutex
	known   chan struct{}
	members []string
	handler func(member string)
	// endpoints are withdrawn of members that are not in the set.
	endpoints map[string]map[netip.AddrPort]bool
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

// OnChange has f called with each member that comes into the set or goes, but not by the first Replace: who awaits that looks at all.
func (s *Set) OnChange(f func(member string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handler = f
}

// Replace says who is in the set now. It is for one caller at a time.
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

// notify calls the handler about a member.
func (s *Set) notify(member string) {
	s.mu.Lock()
	f := s.handler
	s.mu.Unlock()
	if f != nil {
		f(member)
	}
}

// Endpoints returns the endpoints of a member that are withdrawn although the member is not. The map must not be changed.
func (s *Set) Endpoints(member string) map[netip.AddrPort]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.endpoints[member]
}

// ReplaceEndpoints says which endpoints of which members are withdrawn. It is for one caller at a time.
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
