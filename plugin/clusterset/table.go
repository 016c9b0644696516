package clusterset

import (
	"hash/maphash"
	"sync/atomic"
)

// table is a hash table by name for any number of readers, without locks or allocations, and one writer at a time.
// sync.Map would allocate for every looked-up name.
type table[V any] struct {
	seed  maphash.Seed
	slots atomic.Pointer[[]atomic.Pointer[slot[V]]]
	// used slots have a name, live ones also a value. Only the writer uses them.
	used, live int
}

// slot is a name and its current value. A deleted name keeps its slot until the table is rebuilt.
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

// get returns the value of a name, or nil.
func (t *table[V]) get(name string) *V {
	if _, s := t.find(*t.slots.Load(), name); s != nil {
		return s.value.Load()
	}
	return nil
}

// find returns the name's place and slot, or its free place and nil.
func (t *table[V]) find(slots []atomic.Pointer[slot[V]], name string) (*atomic.Pointer[slot[V]], *slot[V]) {
	last := uint64(len(slots) - 1)
	for at := maphash.String(t.seed, name); ; at++ {
		place := &slots[at&last]
		if s := place.Load(); s == nil || s.name == name {
			return place, s
		}
	}
}

// set stores the value of a name; nil deletes it.
func (t *table[V]) set(name string, value *V) {
	_, s := t.find(*t.slots.Load(), name)
	if s == nil {
		if value == nil {
			return
		}
		place := t.place(name)
		s = &slot[V]{name: name}
		defer place.Store(s) // deferred, so that readers see the slot only with its value
		t.used++
	}
	if old := s.value.Swap(value); old == nil && value != nil {
		t.live++
	} else if old != nil && value == nil {
		t.live--
	}
}

// place returns a free slot for a new name. It rebuilds the table above 3/4 load, so that searches stay short.
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
