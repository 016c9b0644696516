package lost

import (
	"maps"
	"net/netip"
	"slices"
	"sync"

	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Set has the members that are lost or silent. The lost controller fills it, others act on it. It is unknown before the first
// Replace.
type Set struct {
	mu      sync.Mutex
	known   bool
	state   State
	changes *kit.Changes[kit.Scope]
	changed func(names.ClusterID)
}

// State is what the lost controller decided.
type State struct {
	// Lost are the members whose endpoints are withdrawn. Silent are the members that get traffic only if no other has a usable
	// endpoint.
	Lost, Silent []names.ClusterID
	// Endpoints are the withdrawn endpoints of members that are not lost.
	Endpoints map[names.ClusterID]map[netip.AddrPort]bool
}

// NewSet returns a set that is not known yet. It calls changed with members that become lost, or are not any more. It
// publishes everything when it becomes known, and members that become silent or not, or whose withdrawn endpoints change.
func NewSet(changes *kit.Changes[kit.Scope], changed func(names.ClusterID)) *Set {
	return &Set{changes: changes, changed: changed}
}

// Known reports whether Replace has been called.
func (s *Set) Known() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known
}

// Has reports whether a member is lost.
func (s *Set) Has(id names.ClusterID) bool { return slices.Contains(s.State().Lost, id) }

// Silent reports whether a member is silent.
func (s *Set) Silent(id names.ClusterID) bool { return slices.Contains(s.State().Silent, id) }

// Endpoints returns the withdrawn endpoints of a member that is not lost. Callers must not change the map.
func (s *Set) Endpoints(id names.ClusterID) map[netip.AddrPort]bool { return s.State().Endpoints[id] }

// State returns everything. Callers must not change it.
func (s *Set) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// Replace sets everything. Only one goroutine may call it, and it must not change what it passed.
func (s *Set) Replace(now State) {
	s.mu.Lock()
	before, first := s.state, !s.known
	s.state, s.known = now, true
	s.mu.Unlock()
	for _, id := range both(before.Lost, now.Lost) {
		if slices.Contains(before.Lost, id) != slices.Contains(now.Lost, id) {
			s.changed(id)
		}
	}
	if first {
		s.changes.Publish(kit.Scope{})
		return
	}
	members := both(before.Silent, now.Silent)
	members = both(members, both(slices.Collect(maps.Keys(before.Endpoints)), slices.Collect(maps.Keys(now.Endpoints))))
	for _, id := range members {
		if slices.Contains(before.Silent, id) != slices.Contains(now.Silent, id) || !maps.Equal(before.Endpoints[id], now.Endpoints[id]) {
			s.changes.Publish(kit.Scope{Member: id})
		}
	}
}

// both returns the members of two lists, sorted, each once.
func both(a, b []names.ClusterID) []names.ClusterID {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(a, b))))
}
