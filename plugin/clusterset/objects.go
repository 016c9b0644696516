package clusterset

import (
	"slices"
	"sync"
	"time"

	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

// objects is the known state of the cluster, with the services whose answers are outdated.
type objects struct {
	mu       sync.Mutex
	imports  map[serviceKey]*serviceImport
	slices   map[sliceKey]*endpointSlice
	members  map[membersKey]members // of services with slices
	size     size
	dirty    map[serviceKey]struct{} // services changed since the last take
	triggers []time.Time             // times of those changes

	// changed has an element when take has changes.
	changed chan struct{}
	// importsListed and slicesListed say that the first list of the kind is complete.
	importsListed, slicesListed bool
}

// membersKey names the members of a service in Atoll's slices, or in all other slices.
type membersKey struct {
	service serviceKey
	ours    bool
}

// size counts the known objects.
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

// changes are the differences between two calls of take.
type changes struct {
	services []change
	// triggers are the times of endpoint changes, where the slices have them.
	triggers []time.Time
	// size counts the objects known now.
	size size
}

// change is a service with everything that its answers need.
type change struct {
	key     serviceKey
	from    *serviceImport // nil when the service does not exist
	members members
}

// take returns the changes since the last call. It returns false until both kinds are listed, because partial data
// gives wrong answers.
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

// membersOf returns the members of a service. For Atoll's own imports, only Atoll's slices count: during a migration
// from another implementation, that implementation's slices remain and may be outdated. For other imports, all slices
// count.
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

// replaceImports replaces all known imports.
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
	// The trigger time of a new slice may be long before the export of its service, so only updates count.
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

// replaceSlices replaces all known slices.
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

// The following functions need the lock to be held.

func (o *objects) putImport(s *serviceImport) {
	old := o.imports[s.key]
	if s = s.after(old); old != nil && old.equal(s) {
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

// deltas are the members that each service loses and gains.
type deltas map[membersKey]*delta

type delta struct{ gone, come []*address }

func (d deltas) of(s *endpointSlice) *delta {
	key := membersKey{s.service, s.ours}
	if d[key] == nil {
		d[key] = &delta{}
	}
	return d[key]
}

// putSlice stores a slice and reports whether it changed.
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

// apply changes the members of each service once, because many slices of one service may have changed.
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

// headless reports whether the answers of a service come from its slices.
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
