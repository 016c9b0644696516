package border

import "sync"

// DefaultBudget is twice what a cluster at the limits of Kubernetes publishes: 10,000 services and 150,000 endpoints are some 60 MiB.
const DefaultBudget = 128 << 20

// Budget bounds how many bytes of each member's EndpointSlices a cluster's cache holds. It is a ledger by slice: one that is counted twice counts once.
type Budget struct {
	limit int64
	room  func(member string)

	mu      sync.Mutex
	slices  map[string]entry // by their names on the broker
	members map[string]*member
}

// entry is what one slice takes of its member's budget, 0 bytes for one that had no room.
type entry struct {
	member string
	bytes  int64
}

type member struct {
	bytes   int64
	held    int
	waiting map[string]bool // slices that had no room
}

// Usage is what one member uses of its budget.
type Usage struct {
	// Bytes are those of the slices that are held, by their size on the wire.
	Bytes int64
	// Waiting is how many slices are stubs because there is no room for them.
	Waiting int
}

// NewBudget returns a budget of a number of bytes for each member, 0 for any number. When a member that gives something up is a tenth below the limit, its
// slices that had no room wait no longer, and room, or nil, is called without any lock.
func NewBudget(limit int64, room func(member string)) *Budget {
	if room == nil {
		room = func(string) {}
	}
	return &Budget{limit: limit, room: room, slices: map[string]entry{}, members: map[string]*member{}}
}

// Hold counts a slice with these bytes, in place of what it was before, and tells whether there is room for it. One that may grow no more is not held
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

// Waits tells whether a slice had no room when it was counted last.
func (b *Budget) Waits(slice string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.members[b.slices[slice].member]
	return m != nil && m.waiting[slice]
}

// Forget counts a slice no longer.
func (b *Budget) Forget(slice string) { b.change(slice, func(int64) {}) }

// change has a slice count as nothing, and then as what set says, which is called with the bytes that it had.
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

// Usage returns what each member uses.
func (b *Budget) Usage() map[string]Usage {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := map[string]Usage{}
	for name, m := range b.members {
		all[name] = Usage{Bytes: m.bytes, Waiting: len(m.waiting)}
	}
	return all
}
