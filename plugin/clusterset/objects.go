package clusterset

import (
	"slices"
	"sync"
)

// objects is what the plugin knows of its cluster, and which services' answers
// are behind it.
type objects struct {
	mu      sync.Mutex
	imports map[serviceKey]*serviceImport
	slices  map[sliceKey]*endpointSlice
	// of holds the slices of each service, in no order.
	of map[serviceKey][]*endpointSlice
	// dirty are the services that changed since take was last called.
	dirty map[serviceKey]struct{}
	// changed has an element when take has something new to say.
	changed chan struct{}
	// importsListed and slicesListed say that all objects of the kind are known.
	importsListed, slicesListed bool
}

func newObjects() *objects {
	return &objects{
		imports: map[serviceKey]*serviceImport{},
		slices:  map[sliceKey]*endpointSlice{},
		of:      map[serviceKey][]*endpointSlice{},
		dirty:   map[serviceKey]struct{}{},
		changed: make(chan struct{}, 1),
	}
}

// change is a service with all that its answers are made of.
type change struct {
	key    serviceKey
	from   *serviceImport // nil: there is no such service
	slices []*endpointSlice
}

// take returns the services that changed since it was called last. Before both
// kinds are listed it returns nothing, and false: half of the objects make wrong
// answers.
func (o *objects) take() ([]change, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.importsListed || !o.slicesListed {
		return nil, false
	}
	changes := make([]change, 0, len(o.dirty))
	for key := range o.dirty {
		changes = append(changes, change{key, o.imports[key], slices.Clone(o.of[key])})
	}
	o.dirty = map[serviceKey]struct{}{}
	return changes, true
}

// count returns how many objects of each kind are known.
func (o *objects) count() (imports, slices int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.imports), len(o.slices)
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
	o.putSlice(s)
}

func (o *objects) dropSlice(s *endpointSlice) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.removeSlice(s.key)
}

// replaceSlices makes all the only slices there are.
func (o *objects) replaceSlices(all []*endpointSlice) {
	o.mu.Lock()
	defer o.mu.Unlock()
	keep := make(map[sliceKey]struct{}, len(all))
	for _, s := range all {
		keep[s.key] = struct{}{}
		o.putSlice(s)
	}
	for key := range o.slices {
		if _, ok := keep[key]; !ok {
			o.removeSlice(key)
		}
	}
	o.slicesListed = true
	o.wake()
}

// What follows is called with the lock held.

func (o *objects) putImport(s *serviceImport) {
	if old, ok := o.imports[s.key]; ok && old.equal(s) {
		return
	}
	o.imports[s.key] = s
	o.touch(s.key)
}

func (o *objects) removeImport(key serviceKey) {
	delete(o.imports, key)
	o.touch(key)
}

func (o *objects) putSlice(s *endpointSlice) {
	if old, ok := o.slices[s.key]; ok && old.equal(s) {
		return
	}
	o.removeSlice(s.key)
	o.slices[s.key] = s
	o.of[s.service] = append(o.of[s.service], s)
	o.touch(s.service)
}

func (o *objects) removeSlice(key sliceKey) {
	old, ok := o.slices[key]
	if !ok {
		return
	}
	delete(o.slices, key)
	i := slices.Index(o.of[old.service], old)
	if rest := slices.Delete(o.of[old.service], i, i+1); len(rest) > 0 {
		o.of[old.service] = rest
	} else {
		delete(o.of, old.service)
	}
	o.touch(old.service)
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
