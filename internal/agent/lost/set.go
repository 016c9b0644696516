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
	mu       sync.Mutex
	known    chan struct{}
	members  []string
	alive    []string // members that are not in it, before it is known
	handlers []func(member string)
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

// Knows tells whether it has been decided whether a member is in the set.
func (s *Set) Knows(member string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.knows(member)
}

// knows is called with mu held.
func (s *Set) knows(member string) bool {
	return s.Known() || slices.Contains(s.alive, member) || slices.Contains(s.members, member)
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

// OnChange has f called with each member that comes into the set or goes, or of which it becomes
// known whether it is in it before that is known of all.
func (s *Set) OnChange(f func(member string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handlers = append(s.handlers, f)
}

// Suppose says what is known as long as nobody knows who has been in the set before: who is in it
// now, and who is alive.
func (s *Set) Suppose(members, alive []string) {
	s.mu.Lock()
	before := s.verdicts(members, alive)
	s.members, s.alive = slices.Clone(members), slices.Clone(alive)
	s.notify(before) // unlocks
}

// Replace says who is in the set now. It is for one caller at a time.
func (s *Set) Replace(members []string) {
	s.mu.Lock()
	if !s.Known() {
		s.members, s.alive = slices.Clone(members), nil
		close(s.known)
		s.mu.Unlock()
		return // who waits for that looks at all
	}
	before := s.verdicts(members, nil)
	s.members = slices.Clone(members)
	s.notify(before) // unlocks
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
	before, handlers := s.endpoints, slices.Clone(s.handlers)
	s.endpoints = of
	s.mu.Unlock()
	either := maps.Clone(of)
	maps.Copy(either, before)
	for _, member := range slices.Sorted(maps.Keys(either)) {
		if maps.Equal(before[member], of[member]) {
			continue
		}
		for _, f := range handlers {
			f(member)
		}
	}
}

// verdict is what is known of one member.
type verdict struct{ known, in bool }

// verdicts returns what is known of all members of which anything is, or is about to be. It is
// called with mu held.
func (s *Set) verdicts(others ...[]string) map[string]verdict {
	all := map[string]verdict{}
	for _, m := range slices.Concat(append(others, s.members, s.alive)...) {
		all[m] = verdict{s.knows(m), slices.Contains(s.members, m)}
	}
	return all
}

// notify calls the handlers for each member of which something else is known than before. It is
// called with mu held, and unlocks it.
func (s *Set) notify(before map[string]verdict) {
	now, handlers := s.verdicts(slices.Collect(maps.Keys(before))), slices.Clone(s.handlers)
	s.mu.Unlock()
	for _, m := range slices.Sorted(maps.Keys(now)) {
		if now[m] == before[m] {
			continue
		}
		for _, f := range handlers {
			f(m)
		}
	}
}
