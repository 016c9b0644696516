package local

import (
	"hash/maphash"
	"slices"
	"sync"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/atoll-mcs/atoll/internal/sliceplan"
)

// Overlaps tells, without a look at all of them, whether a slice of a Service holds an
// address that another one of it holds too, or decides whether that matters. Each controller has its own, for it compares with
// what a slice was when that was asked last, and whoever asks must have dealt with that.
type Overlaps struct {
	sources *Sources

	mu       sync.Mutex
	seed     maphash.Seed
	services map[types.NamespacedName]*addresses
}

// addresses are those of one Service, as hashes: two that are taken for one cost time and
// do no harm.
type addresses struct {
	holders map[uint64]int32 // how many slices hold an address
	of      map[string]held  // by the slice's name
	strange int              // how many slices there are that have all be searched (sliceplan.MayOverlap)
}

type held struct {
	version   string
	addresses []uint64
	strange   bool
}

// NewOverlaps returns what tells of the slices in sources.
func NewOverlaps(sources *Sources) *Overlaps {
	return &Overlaps{sources: sources, seed: maphash.MakeSeed(), services: map[types.NamespacedName]*addresses{}}
}

// Alone tells whether neither what a slice of a Service is, nor what it was when that was
// asked last, overlaps other slices of the Service, nor that has the others be searched for what they share: what
// follows of it then does not depend on the others, nor they on it. The first time that it is asked about a Service the answer is no, for nobody
// knows what the slice was before.
func (o *Overlaps) Alone(service types.NamespacedName, name string) bool {
	return o.alone(service, name, o.sources.Get(service, name), func() []*discoveryv1.EndpointSlice { return o.sources.Of(service) })
}

// alone is Alone for slice, nil where it does not exist. all returns the Service's slices.
func (o *Overlaps) alone(service types.NamespacedName, name string, slice *discoveryv1.EndpointSlice, all func() []*discoveryv1.EndpointSlice) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	a := o.services[service]
	if a == nil {
		a = &addresses{holders: map[uint64]int32{}, of: map[string]held{}}
		o.services[service] = a
		for _, s := range all() {
			a.put(s.Name, o.hold(s))
		}
		return false
	}
	before, searched := a.of[name], a.strange > 0
	shared := a.shared(before)
	var now held
	switch {
	case slice == nil:
	case before.version == slice.ResourceVersion:
		return !shared
	default:
		now = o.hold(slice)
	}
	a.put(name, now)
	if len(a.of) == 0 {
		delete(o.services, service)
	}
	return !shared && !a.shared(now) && searched == (a.strange > 0)
}

// Forget drops what is remembered of a Service.
func (o *Overlaps) Forget(service types.NamespacedName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.services, service)
}

// hold returns a slice's addresses, each once, and whether they may be others' too.
func (o *Overlaps) hold(slice *discoveryv1.EndpointSlice) held {
	h := held{version: slice.ResourceVersion, addresses: make([]uint64, 0, len(slice.Endpoints)), strange: sliceplan.MayOverlap(slice)}
	for i := range slice.Endpoints {
		for _, address := range slice.Endpoints[i].Addresses {
			h.addresses = append(h.addresses, maphash.String(o.seed, sliceplan.Canonical(address)))
		}
	}
	slices.Sort(h.addresses)
	h.addresses = slices.Compact(h.addresses)
	return h
}

func (a *addresses) put(name string, now held) {
	before := a.of[name]
	for _, address := range before.addresses {
		if a.holders[address]--; a.holders[address] == 0 {
			delete(a.holders, address)
		}
	}
	for _, address := range now.addresses {
		a.holders[address]++
	}
	if before.strange {
		a.strange--
	}
	if now.strange {
		a.strange++
	}
	if now.version == "" {
		delete(a.of, name)
	} else {
		a.of[name] = now
	}
}

func (a *addresses) shared(h held) bool {
	return slices.ContainsFunc(h.addresses, func(address uint64) bool { return a.holders[address] > 1 })
}
