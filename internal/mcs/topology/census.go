package topology

import (
	"sync"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Census counts where services have ready endpoints, by their imported slices in this cluster, without listing them
// each time. The zero value is empty.
type Census struct {
	mu       sync.Mutex
	services map[types.NamespacedName]*tally
}

// tally counts a service's slices with ready endpoints in each place.
type tally struct {
	slices map[string]Ready // by name, without slices that have none
	counts map[discoveryv1.AddressType]map[Place]int
}

// Put sets the places of a slice's ready endpoints, none if it is deleted, and returns whether its service's places
// change.
func (c *Census) Put(service types.NamespacedName, slice string, ready Ready) (changed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.services[service]
	if t == nil {
		if len(ready) == 0 {
			return false
		}
		if c.services == nil {
			c.services = map[types.NamespacedName]*tally{}
		}
		t = &tally{slices: map[string]Ready{}, counts: map[discoveryv1.AddressType]map[Place]int{}}
		c.services[service] = t
	}
	before := t.slices[slice]
	if before.Equal(ready) {
		return false
	}
	was := t.ready()
	t.add(before, -1)
	t.add(ready, 1)
	t.slices[slice] = ready
	if len(ready) == 0 {
		delete(t.slices, slice)
	}
	if len(t.slices) == 0 {
		delete(c.services, service)
	}
	return !was.Equal(t.ready())
}

// Without returns the places of a service's ready endpoints in slices other than the named ones.
func (c *Census) Without(service types.NamespacedName, slices ...string) Ready {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.services[service]
	if t == nil {
		return Ready{}
	}
	for _, name := range slices {
		t.add(t.slices[name], -1)
	}
	ready := t.ready()
	for _, name := range slices {
		t.add(t.slices[name], 1)
	}
	return ready
}

// add adds n to the counts of a slice's places.
func (t *tally) add(ready Ready, n int) {
	for addressType, places := range ready {
		if t.counts[addressType] == nil {
			t.counts[addressType] = map[Place]int{}
		}
		for place := range places {
			if t.counts[addressType][place] += n; t.counts[addressType][place] == 0 {
				delete(t.counts[addressType], place)
			}
		}
	}
}

// ready returns the places with a positive count.
func (t *tally) ready() Ready {
	ready := Ready{}
	for addressType, places := range t.counts {
		for place := range places {
			if ready[addressType] == nil {
				ready[addressType] = map[Place]bool{}
			}
			ready[addressType][place] = true
		}
	}
	return ready
}
