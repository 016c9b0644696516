package local

import (
	"hash/maphash"
	"slices"
	"sync"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/atoll-mcs/atoll/internal/sliceplan"
)

// overlaps tells, without a look at all of them, whether a slice of a Service holds an
// address that another one of it holds too. It knows what it was told last, so it is
// told before it is asked.
type overlaps struct {
	mu       sync.Mutex
	seed     maphash.Seed
	services map[types.NamespacedName]*addresses
}

// addresses are those of one Service, as hashes: two that are taken for one cost time and
// do no harm.
type addresses struct {
	holders map[uint64]int32 // how many slices hold an address
	of      map[string]held  // by the slice's name
}

type held struct {
	version   string
	addresses []uint64
}

func newOverlaps() *overlaps {
	return &overlaps{seed: maphash.MakeSeed(), services: map[types.NamespacedName]*addresses{}}
}

// alone tells whether neither what a slice was nor what it is overlaps others of its
// Service. all returns these, the slice too if it exists.
func (o *overlaps) alone(service types.NamespacedName, name string, slice *discoveryv1.EndpointSlice, all func() []*discoveryv1.EndpointSlice) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	a := o.services[service]
	if a == nil {
		a = &addresses{holders: map[uint64]int32{}, of: map[string]held{}}
		o.services[service] = a
		for _, s := range all() {
			a.put(s.Name, o.hold(s))
		}
	}
	before := a.of[name]
	shared := a.shared(before)
	if slice == nil {
		a.put(name, held{})
		if len(a.of) == 0 {
			delete(o.services, service)
		}
		return !shared
	}
	if before.version == slice.ResourceVersion {
		return !shared
	}
	now := o.hold(slice)
	a.put(name, now)
	return !shared && !a.shared(now)
}

// forget drops a Service.
func (o *overlaps) forget(service types.NamespacedName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.services, service)
}

// hold returns a slice's addresses, each once.
func (o *overlaps) hold(slice *discoveryv1.EndpointSlice) held {
	h := held{version: slice.ResourceVersion, addresses: make([]uint64, 0, len(slice.Endpoints))}
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
	for _, address := range a.of[name].addresses {
		if a.holders[address]--; a.holders[address] == 0 {
			delete(a.holders, address)
		}
	}
	for _, address := range now.addresses {
		a.holders[address]++
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
