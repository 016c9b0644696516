package clusterset

import (
	"hash/maphash"
	"sync/atomic"
)

// table is a hash table by name. Any number of goroutines may look up in it; they
// take no locks and allocate nothing. (sync.Map would put every name that is asked
// for on the heap.) One goroutine at a time may write.
type table[V any] struct {
	seed  maphash.Seed
	slots atomic.Pointer[[]atomic.Pointer[slot[V]]]
	// used slots have a name, live ones also a value. They are the writer's.
	used, live int
}

// slot is a name and what belongs to it now. A name that was deleted keeps its slot
// until the slots are laid out anew.
type slot[V any] struct {
	name  string
	value atomic.Pointer[V]
}

// minSlots is the size of an empty table. Sizes are powers of two.
const minSlots = 16

func newTable[V any]() *table[V] {
	t := &table[V]{seed: maphash.MakeSeed()}
	slots := make([]atomic.Pointer[slot[V]], minSlots)
	t.slots.Store(&slots)
	return t
}

// get returns what belongs to the name, or nil.
func (t *table[V]) get(name string) *V {
	if _, s := t.find(*t.slots.Load(), name); s != nil {
		return s.value.Load()
	}
	return nil
}

// find returns where the name stands, and its slot; or the free place where it would
// stand, and nil.
func (t *table[V]) find(slots []atomic.Pointer[slot[V]], name string) (*atomic.Pointer[slot[V]], *slot[V]) {
	last := uint64(len(slots) - 1)
	for at := maphash.String(t.seed, name); ; at++ {
		place := &slots[at&last]
		if s := place.Load(); s == nil || s.name == name {
			return place, s
		}
	}
}

// set makes value what belongs to the name; nil deletes it.
func (t *table[V]) set(name string, value *V) {
	_, s := t.find(*t.slots.Load(), name)
	if s == nil {
		if value == nil {
			return
		}
		place := t.place(name)
		s = &slot[V]{name: name}
		defer place.Store(s) // with its value
		t.used++
	}
	if old := s.value.Swap(value); old == nil && value != nil {
		t.live++
	} else if old != nil && value == nil {
		t.live--
	}
}

// place returns a free slot for a name that has none, of which there are enough that
// a search soon comes to one.
func (t *table[V]) place(name string) *atomic.Pointer[slot[V]] {
	slots := *t.slots.Load()
	if (t.used+1)*4 <= len(slots)*3 {
		place, _ := t.find(slots, name)
		return place
	}
	size := minSlots
	for size < (t.live+1)*2 {
		size *= 2
	}
	fresh := make([]atomic.Pointer[slot[V]], size)
	for i := range slots {
		if s := slots[i].Load(); s != nil && s.value.Load() != nil {
			place, _ := t.find(fresh, s.name)
			place.Store(s)
		}
	}
	t.used = t.live
	t.slots.Store(&fresh)
	place, _ := t.find(fresh, name)
	return place
}
