package lost

import (
	"maps"
	"net/netip"
	"slices"
	"sync"

	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Set is the members whose endpoints are withdrawn. The lost controller fills it, others act on it. It is unknown
// before the first Replace.
type Set struct {
	mu      sync.Mutex
	known   chan struct{}
	members []string
	changes *kit.Changes[kit.Scope]
	changed func(names.ClusterID)
	// endpoints are the withdrawn endpoints of members that are not in the set.
	endpoints map[string]map[netip.AddrPort]bool
}

// NewSet returns a set that is not known yet. It calls changed with members that join or leave it. It publishes everything
// when it becomes known, and members whose withdrawn endpoints change.
func NewSet(changes *kit.Changes[kit.Scope], changed func(names.ClusterID)) *Set {
	return &Set{known: make(chan struct{}), changes: changes, changed: changed}
}

// Known reports whether Replace has been called.
func (s *Set) Known() bool {
	select {
	case <-s.known:
		return true
	default:
		return false
	}
}

// Has reports whether a member is in the set.
func (s *Set) Has(member string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.members, member)
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
	for _, m := range slices.Concat(before, members) {
		if slices.Contains(before, m) != slices.Contains(members, m) {
			s.changed(names.ClusterID(m))
		}
	}
	if first {
		s.changes.Publish(kit.Scope{})
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
			s.changes.Publish(kit.Scope{Member: names.ClusterID(member)})
		}
	}
}
