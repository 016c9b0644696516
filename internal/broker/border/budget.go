package border

import "sync"

// DefaultBudget is twice the size of a cluster at Kubernetes' limits (10,000 services, 150,000 endpoints: 60 MiB).
const DefaultBudget = 128 << 20

// Budget limits the bytes of each member's EndpointSlices in the cache. Counting a slice twice counts it once.
type Budget struct {
	limit int64
	room  func(member string)

	mu      sync.Mutex
	slices  map[string]entry // by name on the broker
	members map[string]*member
}

// entry is a slice's share of its member's budget, 0 bytes if it had no room.
type entry struct {
	member string
	bytes  int64
}

type member struct {
	bytes   int64
	held    int
	waiting map[string]bool // slices without room
}

// Usage is a member's use of its budget.
type Usage struct {
	// Bytes is the size on the wire of the slices that are held.
	Bytes int64
	// Waiting is the number of slices that are stubs for lack of room.
	Waiting int
}

// NewBudget returns a budget with a limit in bytes for each member, 0 for none. When a member's usage falls to 90 % of
// the limit, its waiting slices are released, and room (may be nil) is called without locks.
func NewBudget(limit int64, room func(member string)) *Budget {
	if room == nil {
		room = func(string) {}
	}
	return &Budget{limit: limit, room: room, slices: map[string]entry{}, members: map[string]*member{}}
}

// Hold replaces a slice's count with bytes, and returns whether there is room. A slice without room to grow is not held
// any more.
func (b *Budget) Hold(of, slice string, bytes int64) (ok bool) {
	b.change(slice, func(had int64) {
		m := b.members[of]
		if m == nil {
			m = &member{waiting: map[string]bool{}}
			b.members[of] = m
		}
		if ok = b.limit <= 0 || bytes <= had || m.bytes+bytes <= b.limit; !ok {
			m.waiting[slice], bytes = true, 0
		} else {
			m.held++
		}
		m.bytes += bytes
		b.slices[slice] = entry{of, bytes}
	})
	return ok
}

// Waits reports whether a slice had no room when it was last counted.
func (b *Budget) Waits(slice string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.members[b.slices[slice].member]
	return m != nil && m.waiting[slice]
}

// Forget stops counting a slice.
func (b *Budget) Forget(slice string) { b.change(slice, func(int64) {}) }

// change removes a slice's count, then calls set with its previous bytes to count it again.
func (b *Budget) change(slice string, set func(had int64)) {
	b.mu.Lock()
	old := b.slices[slice]
	m := b.members[old.member]
	delete(b.slices, slice)
	if m != nil {
		if m.bytes -= old.bytes; m.waiting[slice] {
			delete(m.waiting, slice)
		} else {
			m.held--
		}
	}
	set(old.bytes)
	room := false
	if m != nil {
		if b.slices[slice].bytes < old.bytes && m.bytes <= b.limit-b.limit/10 {
			for name := range m.waiting {
				if name != slice {
					delete(b.slices, name)
					delete(m.waiting, name)
					room = true
				}
			}
		}
		if m.held+len(m.waiting) == 0 {
			delete(b.members, old.member)
		}
	}
	b.mu.Unlock()
	if room {
		b.room(old.member)
	}
}

// Usage returns each member's usage.
func (b *Budget) Usage() map[string]Usage {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := map[string]Usage{}
	for name, m := range b.members {
		all[name] = Usage{Bytes: m.bytes, Waiting: len(m.waiting)}
	}
	return all
}
