package clusterset

import (
	"slices"
	"sync"
	"time"

	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

// objects is what the plugin knows of its cluster, and which services' answers
// are behind it.
type objects struct {
	mu       sync.Mutex
	imports  map[serviceKey]*serviceImport
	slices   map[sliceKey]*endpointSlice
	members  map[membersKey]members // of services with slices
	size     size
	dirty    map[serviceKey]struct{} // since take was last called
	triggers []time.Time             // of the changes since then

	// changed has an element when take has something new to say.
	changed chan struct{}
	// importsListed and slicesListed say that all objects of the kind are known.
	importsListed, slicesListed bool
}

// membersKey names the members of a service that are in Atoll's slices, or those in others.
type membersKey struct {
	service serviceKey
	ours    bool
}

// size is how much the plugin knows.
type size struct{ imports, slices, addresses int }

func newObjects() *objects {
	return &objects{
		imports: map[serviceKey]*serviceImport{},
		slices:  map[sliceKey]*endpointSlice{},
		members: map[membersKey]members{},
		dirty:   map[serviceKey]struct{}{},
		changed: make(chan struct{}, 1),
	}
}

// changes are what became different between two calls of take.
type changes struct {
	services []change
	// triggers are when the changes of endpoints happened, as far as the slices say.
	triggers []time.Time
	// size is how much is known now.
	size size
}

// change is a service with all that its answers are made of.
type change struct {
	key     serviceKey
	from    *serviceImport // nil: there is no such service
	members members
}

// take returns what changed since it was called last. Before both kinds are listed it
// returns nothing, and false: half of the objects make wrong answers.
func (o *objects) take() (changes, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.importsListed || !o.slicesListed {
		return changes{}, false
	}
	all := changes{services: make([]change, 0, len(o.dirty)), triggers: o.triggers, size: o.size}
	for key := range o.dirty {
		all.services = append(all.services, change{key, o.imports[key], o.membersOf(key)})
	}
	clear(o.dirty)
	o.triggers = nil
	return all, true
}

// membersOf are the members of a service: of an import that Atoll has made those in Atoll's slices alone. While
// a clusterset moves from another implementation of the API to Atoll, that one's slices are there too, for the same
// service and as old as they may be. Of an import that somebody else has made, all count.
func (o *objects) membersOf(key serviceKey) members {
	ours, others := o.members[membersKey{key, true}], o.members[membersKey{key, false}]
	from := o.imports[key]
	switch {
	case from != nil && from.ours, len(others) == 0:
		return ours
	case len(ours) == 0:
		return others
	}
	return others.replace(nil, ours)
}

func (o *objects) setImport(s *serviceImport) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.putImport(s)
}

func (o *objects) dropImport(s *serviceImport) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.removeImport(s.key)
}

// replaceImports makes all the only imports there are.
func (o *objects) replaceImports(all []*serviceImport) {
	o.mu.Lock()
	defer o.mu.Unlock()
	keep := make(map[serviceKey]struct{}, len(all))
	for _, s := range all {
		keep[s.key] = struct{}{}
		o.putImport(s)
	}
	for key := range o.imports {
		if _, ok := keep[key]; !ok {
			o.removeImport(key)
		}
	}
	o.importsListed = true
	o.wake()
}

func (o *objects) setSlice(s *endpointSlice) {
	o.mu.Lock()
	defer o.mu.Unlock()
	d, old := deltas{}, o.slices[s.key]
	// What a new slice says may be of long before its service was exported.
	if o.putSlice(s, d) && old != nil && !s.triggered.Equal(old.triggered) && !s.triggered.IsZero() && o.headless(s.service) {
		o.triggers = append(o.triggers, s.triggered)
	}
	o.apply(d)
}

func (o *objects) dropSlice(s *endpointSlice) {
	o.mu.Lock()
	defer o.mu.Unlock()
	d := deltas{}
	o.removeSlice(s.key, d)
	o.apply(d)
}

// replaceSlices makes all the only slices there are.
func (o *objects) replaceSlices(all []*endpointSlice) {
	o.mu.Lock()
	defer o.mu.Unlock()
	d := deltas{}
	keep := make(map[sliceKey]struct{}, len(all))
	for _, s := range all {
		keep[s.key] = struct{}{}
		o.putSlice(s, d)
	}
	for key := range o.slices {
		if _, ok := keep[key]; !ok {
			o.removeSlice(key, d)
		}
	}
	o.apply(d)
	o.slicesListed = true
	o.wake()
}

// What follows is called with the lock held.

func (o *objects) putImport(s *serviceImport) {
	old, ok := o.imports[s.key]
	if ok && old.equal(s) {
		return
	}
	o.imports[s.key] = s
	o.size.imports = len(o.imports)
	o.touch(s.key)
}

func (o *objects) removeImport(key serviceKey) {
	delete(o.imports, key)
	o.size.imports = len(o.imports)
	o.touch(key)
}

// deltas are the members that services lose and gain.
type deltas map[membersKey]*delta

type delta struct{ gone, come []*address }

func (d deltas) of(s *endpointSlice) *delta {
	key := membersKey{s.service, s.ours}
	if d[key] == nil {
		d[key] = &delta{}
	}
	return d[key]
}

// putSlice reports whether the slice makes a difference.
func (o *objects) putSlice(s *endpointSlice, to deltas) bool {
	if old, ok := o.slices[s.key]; ok && old.equal(s) {
		return false
	}
	o.removeSlice(s.key, to)
	o.slices[s.key] = s
	d := to.of(s)
	d.come = appendAddresses(d.come, s)
	return true
}

func (o *objects) removeSlice(key sliceKey, to deltas) {
	old, ok := o.slices[key]
	if !ok {
		return
	}
	delete(o.slices, key)
	d := to.of(old)
	d.gone = appendAddresses(d.gone, old)
}

// apply changes the members of services all at once, for many slices of one service
// may have changed.
func (o *objects) apply(all deltas) {
	for key, d := range all {
		slices.SortFunc(d.gone, inOrder)
		slices.SortFunc(d.come, inOrder)
		if m := o.members[key].replace(d.gone, d.come); len(m) > 0 {
			o.members[key] = m
		} else {
			delete(o.members, key)
		}
		o.size.addresses += len(d.come) - len(d.gone)
		if o.headless(key.service) {
			o.touch(key.service)
		}
	}
	o.size.slices = len(o.slices)
}

// headless reports whether the answers of a service are made of its slices.
func (o *objects) headless(key serviceKey) bool {
	from := o.imports[key]
	return from != nil && from.kind == mcsv1beta1.Headless
}

func (o *objects) touch(key serviceKey) {
	o.dirty[key] = struct{}{}
	o.wake()
}

func (o *objects) wake() {
	select {
	case o.changed <- struct{}{}:
	default:
	}
}
