// Package view holds what this process believes about the objects of other members, and of the hub, on the broker
// (docs/explanation/protocol.md).
//
// Objects decides in the event: it does no I/O, starts no goroutine, and gets the time from its caller. View connects it
// with the broker, for policies and records: about EndpointSlices, package broker's Beliefs still decide when controllers
// ask.
package view

import (
	"time"

	"k8s.io/utils/lru"

	"github.com/atoll-mcs/atoll/internal/broker/belief"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

const (
	// confirmations is how many comparisons by the owner a suspicion waits for. The first one may have begun before it.
	confirmations = 2
	// remembered is how many ended objects' revisions are remembered, so that a restored backup does not revive them.
	remembered = 100_000
)

// Object is an object on the broker.
type Object[O any] struct {
	Value O
	// Revision is 0 if it is unreadable.
	Revision int64
	// Withdrawn is set if the owner has ended the object, Refused if the object must not be used. Neither has a value.
	Withdrawn, Refused bool
}

func (o *Object[O]) found() *belief.Found {
	if o == nil {
		return nil
	}
	return &belief.Found{Revision: o.Revision, Withdrawn: o.Withdrawn}
}

// State says how certain an answer is.
type State int

const (
	// Unknown means that no list is complete yet, or that this cluster has applied an object which is missing, and whose
	// content this process has not seen.
	Unknown State = iota
	// None means that there is no object.
	None
	// Believed means that the object counts.
	Believed
	// Kept means that the last believed object counts, because what is on the broker is suspicious.
	Kept
)

// Answer is what counts for one key.
type Answer[O any] struct {
	State State
	// Object is nil unless it is Believed or Kept. Do not change it.
	Object *Object[O]
}

// Objects are the objects of one kind. Callers serialize all calls. Create with NewObjects.
type Objects[K comparable, O any] struct {
	owner    func(K) names.ClusterID
	state    func(owner names.ClusterID, believed O) belief.Owner
	entries  map[K]*entry[O]
	owned    map[names.ClusterID]map[K]bool
	suspects map[K]*suspicion
	ended    *lru.Cache              // of memory: the revisions of ended objects
	joined   map[names.ClusterID]int // how often a removed owner has joined again
	complete bool                    // Replace was called
	read     int                     // the number of the last read that Observe has asked for
	index    func(K, bool)           // called with keys that begin or cease to have an entry
}

// memory is the key of an ended object.
type memory[K comparable] struct {
	key    K
	joined int
}

type entry[O any] struct {
	cached   *Object[O]
	believed *Object[O] // nil for none, or before its content was seen
	applied  belief.Applied
}

// suspicion waits for an owner to confirm what is on the broker.
type suspicion struct {
	since   time.Time
	counter belief.Counter // as last read; no Lease before the first read
	seen    int            // increases seen
	read    int            // confirmed: the number of the read that decides; 0 for none
}

// NewObjects returns no objects. state returns the state of an owner for an object, of which believed is the last content.
func NewObjects[K comparable, O any](owner func(K) names.ClusterID, state func(owner names.ClusterID, believed O) belief.Owner) *Objects[K, O] {
	return &Objects[K, O]{
		owner: owner, state: state, entries: map[K]*entry[O]{}, owned: map[names.ClusterID]map[K]bool{}, suspects: map[K]*suspicion{}, ended: lru.New(remembered), joined: map[names.ClusterID]int{},
		index: func(K, bool) {},
	}
}

// Get returns what counts for a key.
func (s *Objects[K, O]) Get(key K) Answer[O] {
	e := s.entries[key]
	switch {
	case !s.complete, e != nil && e.believed == nil && e.applied.Exists:
		return Answer[O]{State: Unknown}
	case e == nil, e.believed == nil:
		return Answer[O]{State: None}
	case s.suspects[key] != nil:
		return Answer[O]{Kept, e.believed}
	}
	return Answer[O]{Believed, e.believed}
}

// Applied records that this cluster applied an object before this process began. Call it before Replace.
func (s *Objects[K, O]) Applied(key K, revision int64) {
	s.entry(key).applied = belief.Applied{Exists: true, Revision: revision}
}

// Replace records all objects that a connection's cache shows when it is complete, and returns the keys whose answers
// changed; after the first call, all have. Pointers are stored: do not change the objects.
func (s *Objects[K, O]) Replace(all map[K]*Object[O], now time.Time) (changed []K) {
	s.complete = true
	for key, object := range all {
		if s.Put(key, object, now) {
			changed = append(changed, key)
		}
	}
	for key := range s.entries {
		if all[key] == nil && s.Put(key, nil, now) {
			changed = append(changed, key)
		}
	}
	return changed
}

// Put records an object that the cache shows, or nil if the cache no longer shows it, and reports whether the answer for
// the key has changed.
func (s *Objects[K, O]) Put(key K, object *Object[O], now time.Time) (changed bool) {
	if object == nil && s.entries[key] == nil {
		return false
	}
	before := s.Get(key)
	s.entry(key).cached = object
	if suspect := s.suspects[key]; suspect != nil {
		suspect.read = 0 // what is being read may be older
	}
	s.decide(key, object, belief.Owner{}, now)
	return s.Get(key) != before
}

// Owner decides again about all objects of an owner whose state has changed. joined is set if a removed member has joined
// again: its revisions may start at any number.
func (s *Objects[K, O]) Owner(id names.ClusterID, joined bool, now time.Time) (changed []K) {
	if joined {
		s.joined[id]++
	}
	for key := range s.owned[id] {
		before := s.Get(key)
		if e := s.entries[key]; joined && e.believed == nil {
			e.applied = belief.Applied{}
		}
		s.decide(key, s.entries[key].cached, belief.Owner{}, now)
		if s.Get(key) != before {
			changed = append(changed, key)
		}
	}
	return changed
}

// Observe records the owners' counters from a read that began at began, and returns the keys to read: first the object,
// then its owner's counter, both without a cache. The result goes to Confirm.
func (s *Objects[K, O]) Observe(began time.Time, counters map[names.ClusterID]belief.Counter) (read []K) {
	for key, of := range s.suspects {
		now, there := counters[s.owner(key)]
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
			s.read++
			of.read = s.read
			read = append(read, key)
		}
	}
	return read
}

// Reading returns the keys that Observe has returned, and that wait for Confirm.
func (s *Objects[K, O]) Reading() (keys []K) {
	for key, of := range s.suspects {
		if of.read > 0 {
			keys = append(keys, key)
		}
	}
	return keys
}

// Read returns the number of the read that a key waits for, 0 for none. Get it before reading.
func (s *Objects[K, O]) Read(key K) (number int) {
	if of := s.suspects[key]; of != nil {
		return of.read
	}
	return 0
}

// Confirm decides by an object (nil if missing) that was read because of Observe, and the counter that was read after it.
// number is from Read. An event of the object since Observe voids the read: the next Observe returns the key again.
func (s *Objects[K, O]) Confirm(key K, number int, object *Object[O], counter belief.Counter, now time.Time) (changed bool) {
	of := s.suspects[key]
	if of == nil || of.read == 0 || of.read != number {
		return false
	}
	before := s.Get(key)
	s.decide(key, object, belief.Owner{Confirmed: of.counter.Stands(counter), Refused: counter.Refused}, now)
	if s.suspects[key] == of { // the broker has lost the object since it was confirmed, or refuses it
		s.suspects[key] = &suspicion{since: now}
	}
	return s.Get(key) != before
}

// Suspicious returns the number of objects that wait for their owners.
func (s *Objects[K, O]) Suspicious() int { return len(s.suspects) }

// decide applies the rules of belief.Decide to an object that was found, or nil.
func (s *Objects[K, O]) decide(key K, object *Object[O], confirmation belief.Owner, now time.Time) {
	e := s.entries[key]
	var last O
	if e.believed != nil {
		last = e.believed.Value
	}
	owner := s.state(s.owner(key), last)
	owner.Confirmed, owner.Refused = confirmation.Confirmed, confirmation.Refused
	switch belief.Decide(e.applied, object.found(), owner) {
	case belief.Keep:
		if s.suspects[key] == nil {
			s.suspects[key] = &suspicion{since: now}
		}
		return
	case belief.Apply:
		e.believed, e.applied = object, belief.Applied{Exists: true, Revision: object.Revision}
		if object.Refused {
			e.believed, e.applied.Exists = nil, false
		}
	case belief.Remove:
		e.believed, e.applied.Exists = nil, false
		if object != nil {
			e.applied.Revision = object.Revision
		} else if owner.Confirmed {
			e.applied.Revision = 0 // the next one may start at any revision
		}
	}
	delete(s.suspects, key)
	s.release(key, e)
}

// release drops an entry that says nothing, and remembers its revision.
func (s *Objects[K, O]) release(key K, e *entry[O]) {
	if e.believed != nil {
		s.ended.Remove(s.memory(key))
		return
	}
	if e.applied.Revision > 0 {
		s.ended.Add(s.memory(key), e.applied.Revision)
	} else {
		s.ended.Remove(s.memory(key))
	}
	if e.cached != nil {
		return
	}
	delete(s.entries, key)
	s.index(key, false)
	id := s.owner(key)
	if delete(s.owned[id], key); len(s.owned[id]) == 0 {
		delete(s.owned, id)
	}
}

// entry returns the entry of a key, and creates it with what is remembered.
func (s *Objects[K, O]) entry(key K) *entry[O] {
	e := s.entries[key]
	if e != nil {
		return e
	}
	e = &entry[O]{}
	if revision, found := s.ended.Get(s.memory(key)); found {
		e.applied.Revision = revision.(int64)
	}
	s.entries[key] = e
	s.index(key, true)
	id := s.owner(key)
	if s.owned[id] == nil {
		s.owned[id] = map[K]bool{}
	}
	s.owned[id][key] = true
	return e
}

func (s *Objects[K, O]) memory(key K) memory[K] { return memory[K]{key, s.joined[s.owner(key)]} }
