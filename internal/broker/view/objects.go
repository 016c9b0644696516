// Package view holds the states of other members' and the hub's objects on the broker that this process has accepted
// (docs/explanation/protocol.md).
//
// Objects decides in the event: it does no I/O, starts no goroutine, and gets the time from its caller. View connects it
// with the broker.
package view

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"

	"github.com/atoll-mcs/atoll/internal/broker/belief"
	"github.com/atoll-mcs/atoll/internal/broker/border"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

const (
	// confirmations is how many comparisons by the owner a suspicion waits for. The first one may have begun before it.
	confirmations = 2
	// remembered is how many ended objects' revisions are remembered of each owner, so that a restored backup does not revive them.
	remembered = 20_000
)

// Object is an object on the broker.
type Object[O any] struct {
	Value O
	// Revision is 0 if it is unreadable.
	Revision int64
	// State says what Value has. Detail is the reason if it is Refused.
	State  border.State
	Detail string
}

func (o *Object[O]) found() *belief.Found {
	if o == nil {
		return nil
	}
	return &belief.Found{Revision: o.Revision, Withdrawn: o.State == border.Withdrawn}
}

// State says how certain an answer is.
type State int

const (
	// Unknown means that no list is complete yet, or that this process has not seen the content of an object that counts.
	Unknown State = iota
	// None means that there is no object.
	None
	// Believed means that the object counts.
	Believed
	// Kept means that the last believed object counts: what is on the broker is suspicious, or its content is being read.
	Kept
)

// Answer is what counts for one key.
type Answer[O any] struct {
	State State
	// Object is nil unless it is Believed or Kept. Do not change it.
	Object *Object[O]
}

// Rules are what differs between kinds of objects.
type Rules[K comparable, O any] struct {
	// Owner returns the owner of an object, OwnerState its state for an object of a service, that was last believed or, if it was
	// not, that is found.
	Owner      func(K) names.ClusterID
	OwnerState func(key K, service types.NamespacedName, last O) belief.Owner
	// Service returns the service of an object. Compare orders the objects of a service.
	Service func(K, O) types.NamespacedName
	Compare func(a, b K) int
	// Same reports whether two contents are the same version of an object.
	Same func(a, b O) bool
	// Wants reports whether the content of a stub must be read, Waits whether an object over its limit waits for room.
	Wants, Waits func(O) bool
}

// Objects are the objects of one kind. Callers serialize all calls, and take what they changed with Take. Create with
// NewObjects.
type Objects[K comparable, O any] struct {
	rules    Rules[K, O]
	entries  map[names.ClusterID]map[K]*entry[O] // by owner
	services groups[K]
	suspects map[K]*suspicion
	unread   map[K]bool                     // stubs whose content is to be read; until then the last one counts
	ended    map[names.ClusterID]*lru.Cache // of memory: the revisions of ended objects, by owner
	joined   map[names.ClusterID]int        // how often a removed owner has joined again
	complete bool                           // Replace was called
	number   int                            // of the last read for which Observe has asked
	changed  []Changed[K]
	reads    []K
	kept     map[K]*Object[O]
}

// Changed is an object whose answer has changed, with a service that it had before or has now.
type Changed[K comparable] struct {
	Key     K
	Service types.NamespacedName
}

// memory is the key of an ended object.
type memory[K comparable] struct {
	key    K
	joined int
}

type entry[O any] struct {
	cached   *Object[O] // as the broker was last seen to have it
	believed *Object[O] // nil for none, or before its content was seen
	applied  belief.Applied
	service  types.NamespacedName
}

// suspicion waits for an owner to confirm what is on the broker.
type suspicion struct {
	since   time.Time
	counter belief.Counter // as last read; no Lease before the first read
	seen    int            // increases seen
	read    int            // confirmed: the number of the read that decides; 0 for none
}

// NewObjects returns no objects.
func NewObjects[K comparable, O any](rules Rules[K, O]) *Objects[K, O] {
	return &Objects[K, O]{
		rules: rules, entries: map[names.ClusterID]map[K]*entry[O]{}, services: newGroups(rules.Compare), suspects: map[K]*suspicion{},
		unread: map[K]bool{}, ended: map[names.ClusterID]*lru.Cache{}, joined: map[names.ClusterID]int{},
	}
}

// Get returns what counts for a key.
func (s *Objects[K, O]) Get(key K) Answer[O] { return s.answer(key, s.find(key)) }

// find returns the entry of a key, or nil.
func (s *Objects[K, O]) find(key K) *entry[O] { return s.entries[s.rules.Owner(key)][key] }

// answer returns what counts for a key that has an entry, or nil.
func (s *Objects[K, O]) answer(key K, e *entry[O]) Answer[O] {
	waits := s.unread[key] || s.suspects[key] != nil
	switch {
	case !s.complete:
		return Answer[O]{State: Unknown}
	case e == nil:
		return Answer[O]{State: None}
	case e.believed == nil && e.applied.Exists, s.unread[key] && (e.believed == nil || e.believed.State == border.Stub):
		return Answer[O]{State: Unknown}
	case e.believed == nil, waits && e.believed.State == border.Stub: // its content was never seen, and has had no effect
		return Answer[O]{State: None}
	case waits:
		return Answer[O]{Kept, e.believed}
	}
	return Answer[O]{Believed, e.believed}
}

// Take returns the objects whose answers have changed since the last call, and those to be read, for Confirm or Content,
// from the broker without a cache.
func (s *Objects[K, O]) Take() (changed []Changed[K], reads []K) {
	changed, reads = s.changed, s.reads
	s.changed, s.reads = nil, nil
	return changed, reads
}

// TakeKept returns the objects whose contents are kept since the last call although the broker has something else, and as
// nil those that are not any more.
func (s *Objects[K, O]) TakeKept() map[K]*Object[O] {
	kept := s.kept
	s.kept = nil
	return kept
}

// keeps returns an entry's content if it is kept although the broker has something else.
func (e *entry[O]) keeps() *Object[O] {
	if e.believed == nil || e.believed == e.cached || e.believed.State != border.Full {
		return nil
	}
	return e.believed
}

// Applied records that this cluster applied an object before this process began. Call it before Replace.
func (s *Objects[K, O]) Applied(key K, service types.NamespacedName, revision int64) {
	if s.find(key) != nil {
		return // it was seen since: the first connection has ended early
	}
	e := s.entry(key)
	e.applied = belief.Applied{Exists: true, Revision: revision}
	s.group(key, e, service)
}

// Replace records all objects that a connection's cache shows when it is complete. Pointers are stored: do not change the
// objects. The first call changes all answers, and Take returns none of them.
func (s *Objects[K, O]) Replace(all map[K]*Object[O], now time.Time) {
	for key, object := range all {
		s.Put(key, object, now)
	}
	for _, owned := range s.entries {
		for key := range owned {
			if all[key] == nil {
				s.Put(key, nil, now)
			}
		}
	}
	if !s.complete {
		s.complete, s.changed = true, nil
	}
}

// Put records an object that the cache shows, or nil if the cache no longer shows it.
func (s *Objects[K, O]) Put(key K, object *Object[O], now time.Time) {
	if object == nil && s.find(key) == nil {
		return
	}
	s.update(key, func(e *entry[O]) {
		e.cached = object
		if suspect := s.suspects[key]; suspect != nil {
			suspect.read = 0 // what is being read may be older
		}
		s.decide(key, e, belief.Owner{}, now)
	})
}

// Owner decides again about all objects of an owner whose state has changed. joined is set if a removed member has joined
// again: its revisions may start at any number.
func (s *Objects[K, O]) Owner(id names.ClusterID, joined bool, now time.Time) {
	if joined {
		s.joined[id]++
	}
	for key := range s.entries[id] {
		s.update(key, func(e *entry[O]) {
			if joined && e.believed == nil {
				e.applied = belief.Applied{}
			}
			s.decide(key, e, belief.Owner{}, now)
		})
	}
}

// Want decides again about an object after a change of what Wants returns for it, and drops unwanted content. without
// returns the content of a stub.
func (s *Objects[K, O]) Want(key K, without func(O) O, now time.Time) {
	s.update(key, func(e *entry[O]) {
		if e.cached != nil && (e.cached.State == border.Full || e.cached.State == border.OverLimit) && !s.rules.Wants(e.cached.Value) {
			e.cached = &Object[O]{Value: without(e.cached.Value), Revision: e.cached.Revision, State: border.Stub}
		}
		s.decide(key, e, belief.Owner{}, now)
	})
}

// Again decides again about an object if it is suspicious, after a change of what OwnerState returns for it.
func (s *Objects[K, O]) Again(key K, now time.Time) {
	if s.suspects[key] != nil {
		s.update(key, func(e *entry[O]) { s.decide(key, e, belief.Owner{}, now) })
	}
}

// Room decides again about an object that does not wait for room any more.
func (s *Objects[K, O]) Room(key K, now time.Time) {
	if e := s.find(key); e != nil {
		s.Put(key, e.cached, now)
	}
}

// Observe records the owners' counters from a read that began at began. What they confirm is to be read: first the object,
// then its owner's counter. The result goes to Confirm.
func (s *Objects[K, O]) Observe(began time.Time, counters map[names.ClusterID]belief.Counter) {
	for key, of := range s.suspects {
		now, there := counters[s.rules.Owner(key)]
		if !there || !began.After(of.since) || of.read > 0 {
			continue
		}
		switch {
		case now.Lease != of.counter.Lease || now.Count < of.counter.Count:
			of.seen = 0
		case now.Count > of.counter.Count:
			of.seen++
		}
		if of.counter = now; of.seen >= confirmations {
			s.number++
			of.read = s.number
			s.reads = append(s.reads, key)
		}
	}
}

// Reading returns the keys of which Take has said that they are to be read, and that still wait for it.
func (s *Objects[K, O]) Reading() (keys []K) {
	for key, of := range s.suspects {
		if of.read > 0 {
			keys = append(keys, key)
		}
	}
	for key := range s.unread {
		keys = append(keys, key)
	}
	return keys
}

// Read returns what a key waits for: the number of a read for Confirm, 0 for none, and the stub for Content, or nil. Get it
// before reading.
func (s *Objects[K, O]) Read(key K) (number int, stub *Object[O]) {
	if of := s.suspects[key]; of != nil {
		number = of.read
	}
	if s.unread[key] {
		stub = s.find(key).cached
	}
	return number, stub
}

// Content records the content of a stub from Read, nil if the object is missing: an event follows. If an event of the object
// has come since Read, it does nothing.
func (s *Objects[K, O]) Content(key K, stub, object *Object[O], now time.Time) {
	if object != nil && s.unread[key] && s.find(key).cached == stub {
		s.Put(key, object, now)
	}
}

// Confirm decides by an object (nil if missing) that was read because of Observe, and the counter that was read after it.
// number is from Read. An event of the object since Observe voids the read: the next Observe asks for it again.
func (s *Objects[K, O]) Confirm(key K, number int, object *Object[O], counter belief.Counter, now time.Time) {
	of := s.suspects[key]
	if of == nil || of.read == 0 || of.read != number {
		return
	}
	s.update(key, func(e *entry[O]) {
		if !s.isSame(e.cached, object) {
			e.cached = object // the event follows
		}
		s.decide(key, e, belief.Owner{Confirmed: of.counter.Stands(counter), Refused: counter.Refused}, now)
		if s.suspects[key] == of { // the broker has lost the object since it was confirmed, or refuses it
			s.suspects[key] = &suspicion{since: now}
		}
	})
}

// Suspicious returns the number of objects that wait for their owners.
func (s *Objects[K, O]) Suspicious() int { return len(s.suspects) }

// update changes the entry of a key, and records whether its answer changes, or whether there is something to believe: a stub counts
// for a member's number of objects also if there is no answer for it.
func (s *Objects[K, O]) update(key K, change func(*entry[O])) {
	e := s.entry(key)
	before := s.answer(key, e)
	service, kept, counted := e.service, e.keeps(), e.believed != nil
	if change(e); e.believed != nil {
		s.group(key, e, s.rules.Service(key, e.believed.Value))
	} else if e.cached != nil {
		s.group(key, e, s.rules.Service(key, e.cached.Value))
	}
	now := e.service
	if keeps := e.keeps(); keeps != kept {
		if s.kept == nil {
			s.kept = map[K]*Object[O]{}
		}
		s.kept[key] = keeps
	}
	s.release(key, e)
	if after := s.answer(key, e); after.State == before.State && s.isSame(after.Object, before.Object) && counted == (e.believed != nil) {
		return
	}
	s.changed = append(s.changed, Changed[K]{key, now})
	if service != now && service.Name != "" {
		s.changed = append(s.changed, Changed[K]{key, service})
	}
}

// isSame reports whether two objects, or nil, say the same.
func (s *Objects[K, O]) isSame(a, b *Object[O]) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a == b || a.State == b.State && a.Revision == b.Revision && s.rules.Same(a.Value, b.Value)
}

// decide applies the rules of belief.Decide to what an entry's object is on the broker.
func (s *Objects[K, O]) decide(key K, e *entry[O], confirmation belief.Owner, now time.Time) {
	object := e.cached
	if delete(s.unread, key); object != nil && object.State == border.OverLimit && !s.rules.Waits(object.Value) {
		object = &Object[O]{Value: object.Value, Revision: object.Revision, State: border.Stub}
		e.cached = object
	}
	var last O
	service := e.service
	if e.believed != nil {
		last = e.believed.Value
		service = s.rules.Service(key, last)
	} else if object != nil {
		last = object.Value
		service = s.rules.Service(key, last)
	}
	owner := s.rules.OwnerState(key, service, last)
	owner.Confirmed, owner.Refused = confirmation.Confirmed, confirmation.Refused
	switch belief.Decide(e.applied, object.found(), owner) {
	case belief.Keep:
		if s.suspects[key] == nil {
			s.suspects[key] = &suspicion{since: now}
		}
		return
	case belief.Apply:
		if object.State == border.Stub && s.rules.Wants(object.Value) {
			s.unread[key] = true
			s.reads = append(s.reads, key)
			break
		}
		e.believed, e.applied = object, belief.Applied{Exists: true, Revision: object.Revision}
	case belief.Remove:
		e.believed, e.applied.Exists = nil, false
		if object != nil {
			e.applied.Revision = object.Revision
		} else if owner.Confirmed {
			e.applied.Revision = 0 // the next one may start at any revision
		}
	}
	delete(s.suspects, key)
}

// release remembers the revision of an object that does not count any more, and drops an entry that says nothing.
func (s *Objects[K, O]) release(key K, e *entry[O]) {
	if s.suspects[key] != nil || e.applied.Exists || s.unread[key] {
		return
	}
	if e.applied.Revision > 0 {
		s.endedOf(key).Add(s.memory(key), e.applied.Revision)
	} else {
		s.endedOf(key).Remove(s.memory(key))
	}
	if e.cached != nil {
		return
	}
	s.group(key, e, types.NamespacedName{})
	id := s.rules.Owner(key)
	if delete(s.entries[id], key); len(s.entries[id]) == 0 {
		delete(s.entries, id)
	}
}

// entry returns the entry of a key, and creates it with what is remembered.
func (s *Objects[K, O]) entry(key K) *entry[O] {
	id := s.rules.Owner(key)
	owned := s.entries[id]
	if owned == nil {
		owned = map[K]*entry[O]{}
		s.entries[id] = owned
	}
	e := owned[key]
	if e != nil {
		return e
	}
	e = &entry[O]{}
	if revision, found := s.endedOf(key).Get(s.memory(key)); found {
		e.applied.Revision = revision.(int64)
		s.endedOf(key).Remove(s.memory(key))
	}
	owned[key] = e
	return e
}

// group files an entry under its service, or under none.
func (s *Objects[K, O]) group(key K, e *entry[O], service types.NamespacedName) {
	if service == e.service {
		return
	}
	s.services.remove(e.service, key)
	e.service = service
	s.services.add(service, key)
}

func (s *Objects[K, O]) endedOf(key K) *lru.Cache {
	id := s.rules.Owner(key)
	if s.ended[id] == nil {
		s.ended[id] = lru.New(remembered)
	}
	return s.ended[id]
}

func (s *Objects[K, O]) memory(key K) memory[K] { return memory[K]{key, s.joined[s.rules.Owner(key)]} }
