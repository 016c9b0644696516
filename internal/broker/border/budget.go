package border

import (
	"sync"

	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// DefaultBudget is twice the size of a cluster at Kubernetes' limits (10,000 services, 150,000 endpoints: 60 MiB).
const DefaultBudget = 128 << 20

// Budget limits the bytes of each member's EndpointSlices in the cache. Counting a slice twice counts it once.
type Budget struct {
	limit int64
	room  func(kit.Scope)

	mu      sync.Mutex
	slices  map[string]entry // by name on the broker
	members map[names.ClusterID]*member
}

// entry is a slice's share of its member's budget, 0 bytes if it had no room.
type entry struct {
	member names.ClusterID
	bytes  int64
}

type member struct {
	bytes   int64
	held    int
	waiting map[string]waiting // slices without room
}

type waiting struct {
	slice kit.Scope
	bytes int64
}

// Usage is a member's use of its budget.
type Usage struct {
	// Bytes is the size on the wire of the slices that are held.
	Bytes int64
	// Waiting is the number of slices that are not held for lack of room.
	Waiting int
}

// NewBudget returns a budget with a limit in bytes for each member, 0 for none. When a member's usage falls, room (may be
// nil) is called, without locks, for the waiting slices that fit now. They count from then on.
func NewBudget(limit int64, room func(kit.Scope)) *Budget {
	if room == nil {
		room = func(kit.Scope) {}
	}
	return &Budget{limit: limit, room: room, slices: map[string]entry{}, members: map[names.ClusterID]*member{}}
}

// Hold replaces the count of a slice, which has the given name on the broker, with bytes, and returns whether there is
// room. A slice without room to grow is not held any more.
func (b *Budget) Hold(slice kit.Scope, name string, bytes int64) (ok bool) {
	return b.count(slice, name, bytes, false)
}

// Keep is Hold, whether there is room or not.
func (b *Budget) Keep(slice kit.Scope, name string, bytes int64) { b.count(slice, name, bytes, true) }

func (b *Budget) count(slice kit.Scope, name string, bytes int64, always bool) (ok bool) {
	b.change(name, func(had int64) {
		m := b.members[slice.Member]
		if m == nil {
			m = &member{waiting: map[string]waiting{}}
			b.members[slice.Member] = m
		}
		if ok = always || b.limit <= 0 || bytes <= had || m.bytes+bytes <= b.limit; ok {
			m.held++
			m.bytes += bytes
		} else {
			m.waiting[name], bytes = waiting{slice, bytes}, 0
		}
		b.slices[name] = entry{slice.Member, bytes}
	})
	return ok
}

// Waits reports whether a slice had no room when it was last counted.
func (b *Budget) Waits(name string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.members[b.slices[name].member]
	if m == nil {
		return false
	}
	_, waits := m.waiting[name]
	return waits
}

// Forget stops counting a slice.
func (b *Budget) Forget(name string) { b.change(name, func(int64) {}) }

// change removes a slice's count, then calls set with its previous bytes to count it again.
func (b *Budget) change(name string, set func(had int64)) {
	b.mu.Lock()
	old, counted := b.slices[name]
	m := b.members[old.member]
	if delete(b.slices, name); counted {
		if _, waits := m.waiting[name]; waits {
			delete(m.waiting, name)
		} else {
			m.bytes -= old.bytes
			m.held--
		}
	}
	set(old.bytes)
	var fit []kit.Scope
	if counted {
		if b.slices[name].bytes < old.bytes {
			fit = b.release(m)
		}
		if m.held+len(m.waiting) == 0 {
			delete(b.members, old.member)
		}
	}
	b.mu.Unlock()
	for _, slice := range fit {
		b.room(slice)
	}
}

// release returns the waiting slices of a member that fit now, and counts them.
func (b *Budget) release(m *member) (fit []kit.Scope) {
	for name, w := range m.waiting {
		if m.bytes+w.bytes <= b.limit {
			fit = append(fit, w.slice)
			delete(m.waiting, name)
			b.slices[name] = entry{w.slice.Member, w.bytes}
			m.bytes += w.bytes
			m.held++
		}
	}
	return fit
}

// Usage returns each member's usage.
func (b *Budget) Usage() map[names.ClusterID]Usage {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := map[names.ClusterID]Usage{}
	for name, m := range b.members {
		all[name] = Usage{Bytes: m.bytes, Waiting: len(m.waiting)}
	}
	return all
}
