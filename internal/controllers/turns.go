package controllers

import (
	"maps"
	"sync"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/atoll-mcs/atoll/internal/names"
	"github.com/atoll-mcs/atoll/internal/sliceplan"
)

// echoPatience is how long a copy may be behind a write. Most of what is decided by one that
// is behind is refused, so that to wait costs little; but what is written may be lost to a copy
// for good, where it has gone again while its watch was broken.
const echoPatience = 10 * time.Second

// Turns keep a K, which has slices, from being decided on while somebody else does that, and
// before the copy of its slices shows what was written for them last: the same would be
// written again. A turn is about what is made of one source slice, or with "" about all of a K;
// those about different source slices do not keep each other waiting. The zero value is of
// nobody's turn.
type Turns[K comparable] struct {
	mu sync.Mutex
	of map[K]*turns
}

// turns are those of one K, for as long as there is anything to know of them.
type turns struct {
	all     bool // somebody's turn is about all
	slices  int  // whose is about one slice each
	awaited map[string]map[string]echo
	// shown are the versions in which the copy has shown slices, by name, since a turn began. One that
	// somebody else has written since it was decided on is not awaited: it has been seen.
	shown map[string]string
	// again says that somebody was refused who is dealt with when all is decided on.
	again bool
}

// echo is a write that the copy does not show yet.
type echo struct {
	// slice is what was written. It gets a version then, unless there was no need.
	slice *discoveryv1.EndpointSlice
	// before is the version that the write was decided on, "" for a slice that there was not.
	before string
	// deleted says that the slice is to go.
	deleted bool
	began   time.Time
	// alone says that nothing was written with it.
	alone bool
	// until is when it is not awaited any more: zero while the write is under way.
	until time.Time
}

// Arrival is what a slice that appears in a copy, changes or goes amounts to.
type Arrival struct {
	// Took is how long a write took that was made by itself, from its beginning until now; 0
	// for what was not.
	Took time.Duration
	// Again tells that all of the K is to be decided on now.
	Again bool
}

// Begin returns 0 where the turn is the caller's, who then has to call End. Otherwise it
// returns after how long to ask again at the latest, and whether all of the K is decided on
// before that, of which End and Seen tell. Else the caller asks again when Seen was called.
func (t *Turns[K]) Begin(key K, source string, now time.Time) (wait time.Duration, all bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	of := t.get(key)
	wait = of.wait(source, now)
	if of.all || source == "" && of.slices > 0 || source != "" && of.again && of.busy(now) {
		wait, all = echoPatience, true
	}
	if wait > 0 {
		all = all || source == ""
		of.again = of.again || all
		return wait, all
	}
	if source == "" {
		of.all, of.again, of.awaited = true, false, map[string]map[string]echo{}
	} else {
		of.slices++
		delete(of.awaited, source)
	}
	return 0, false
}

// busy tells whether something is under way. Who waits for the turn of all then goes first, or
// might wait for ever where one slice after the other changes.
func (of *turns) busy(now time.Time) bool { return of.slices > 0 || of.wait("", now) > 0 }

// wait is how long the writes for a source slice are awaited, or with "" for all.
func (of *turns) wait(source string, now time.Time) (longest time.Duration) {
	if source == "" {
		for each := range of.awaited {
			longest = max(longest, of.waitOne(each, now))
		}
		return longest
	}
	return of.waitOne(source, now)
}

func (of *turns) waitOne(source string, now time.Time) (longest time.Duration) {
	for _, e := range of.awaited[source] {
		if e.until.IsZero() {
			return echoPatience
		}
		longest = max(longest, e.until.Sub(now))
	}
	return longest
}

// Writing says that changes are being written in the caller's turn.
func (t *Turns[K]) Writing(key K, changes sliceplan.Changes, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	of := t.get(key)
	alone := len(changes.Replace)+len(changes.Delete)+len(changes.Written()) == 1
	for i, list := range [][]*discoveryv1.EndpointSlice{changes.Replace, changes.Delete, changes.Written()} {
		for _, s := range list {
			source := s.Annotations[names.AnnotationSourceSlice]
			if of.awaited[source] == nil {
				of.awaited[source] = map[string]echo{}
			}
			e := echo{slice: s, before: s.ResourceVersion, deleted: i < 2, began: now, alone: alone}
			if version, found := of.shown[s.Name]; found && e.before != "" && e.after(version) {
				continue
			}
			of.awaited[source][s.Name] = e
		}
	}
}

// End says that the caller's turn is over, and whether all has been written. It returns true
// where all of the K is to be decided on now.
func (t *Turns[K]) End(key K, source string, written bool, now time.Time) (again bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	of := t.get(key)
	if source == "" {
		of.all = false
		for each := range of.awaited {
			of.end(each, written, now)
		}
	} else {
		of.slices--
		of.end(source, written, now)
	}
	return t.done(key, of, now)
}

// end has writes be awaited from now on, unless some have failed: nobody knows which.
func (of *turns) end(source string, written bool, now time.Time) {
	if !written {
		delete(of.awaited, source)
		return
	}
	for name, e := range of.awaited[source] {
		if e.slice.ResourceVersion == "" {
			delete(of.awaited[source], name) // nothing came of it: its namespace is going, say
			continue
		}
		e.slice, e.until = nil, now.Add(echoPatience)
		of.awaited[source][name] = e
	}
	if len(of.awaited[source]) == 0 {
		delete(of.awaited, source)
	}
}

// Seen says that the copy shows a slice of a K so, or that it is gone, having been so. Any
// version after the one that was decided on will do: a write that was refused is decided on
// again when the copy shows why.
func (t *Turns[K]) Seen(key K, s *discoveryv1.EndpointSlice, now time.Time) Arrival {
	t.mu.Lock()
	defer t.mu.Unlock()
	of := t.of[key]
	if of == nil {
		return Arrival{}
	}
	source := s.Annotations[names.AnnotationSourceSlice]
	of.shown[s.Name] = s.ResourceVersion
	e, found := of.awaited[source][s.Name]
	if !found || !e.shownBy(s.ResourceVersion) {
		return Arrival{}
	}
	if delete(of.awaited[source], s.Name); len(of.awaited[source]) == 0 {
		delete(of.awaited, source)
	}
	var arrival Arrival
	if e.alone {
		arrival.Took = now.Sub(e.began)
	}
	arrival.Again = t.done(key, of, now)
	return arrival
}

// shownBy tells whether a copy that shows a version of the slice is not behind any more. Of one
// that is gone it may show the last version that it knew, the one before. A version that can't
// be compared is taken for a new one, so that nothing waits for it.
func (e echo) shownBy(version string) bool {
	if e.before == "" {
		return true
	}
	return e.after(version) || version == e.before && e.deleted
}

// after tells whether a version is a later one than was decided on.
func (e echo) after(version string) bool {
	order, err := resourceversion.CompareResourceVersion(version, e.before)
	return err != nil || order > 0
}

// get is called with mu held.
func (t *Turns[K]) get(key K) *turns {
	of := t.of[key]
	if of == nil {
		if t.of == nil {
			t.of = map[K]*turns{}
		}
		of = &turns{awaited: map[string]map[string]echo{}, shown: map[string]string{}}
		t.of[key] = of
	}
	return of
}

// done forgets a K of which nothing is under way, and tells whether it is to be decided on as
// a whole. It is called with mu held.
func (t *Turns[K]) done(key K, of *turns, now time.Time) (again bool) {
	of.expire(now)
	if of.all || of.slices > 0 || len(of.awaited) > 0 {
		return false
	}
	delete(t.of, key)
	return of.again
}

// expire forgets the echoes that were awaited for long enough: they do not come any more, and who
// waits for them all would wait for ever.
func (of *turns) expire(now time.Time) {
	for source, echoes := range of.awaited {
		maps.DeleteFunc(echoes, func(_ string, e echo) bool { return !e.until.IsZero() && !e.until.After(now) })
		if len(echoes) == 0 {
			delete(of.awaited, source)
		}
	}
}
