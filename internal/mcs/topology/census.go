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
	// planned are the service's places that slices were given hints for, if they were others than those counted then.
	planned map[string]Ready
}

// Put sets the places of a slice's ready endpoints, none if it is deleted, and returns whether its service's places
// change, or are not those that a slice was given hints for.
func (c *Census) Put(service types.NamespacedName, slice string, ready Ready) (changed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.services[service] == nil && len(ready) == 0 {
		return false
	}
	t := c.tally(service)
	before := t.slices[slice]
	delete(t.planned, slice)
	if before.Equal(ready) && len(t.planned) == 0 {
		c.release(service, t)
		return false
	}
	was := t.ready()
	t.add(before, -1)
	t.add(ready, 1)
	t.slices[slice] = ready
	if len(ready) == 0 {
		delete(t.slices, slice)
	}
	now, outdated := t.ready(), false
	for _, planned := range t.planned {
		outdated = outdated || !planned.Equal(now)
	}
	c.release(service, t)
	return outdated || !was.Equal(now)
}

// Plan returns the places that hints of a slice are for, when the slice has the given ones: two slices that are written
// at the same time do not see each other, and Put finds that.
func (c *Census) Plan(service types.NamespacedName, slice *discoveryv1.EndpointSlice) Ready {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tally(service)
	now := t.ready()
	ready := t.without(slice.Name)
	ready.Add(slice)
	if delete(t.planned, slice.Name); !ready.Equal(now) {
		t.planned[slice.Name] = ready
	}
	c.release(service, t)
	return ready
}

func (c *Census) tally(service types.NamespacedName) *tally {
	if c.services == nil {
		c.services = map[types.NamespacedName]*tally{}
	}
	t := c.services[service]
	if t == nil {
		t = &tally{slices: map[string]Ready{}, counts: map[discoveryv1.AddressType]map[Place]int{}, planned: map[string]Ready{}}
		c.services[service] = t
	}
	return t
}

func (c *Census) release(service types.NamespacedName, t *tally) {
	if len(t.slices)+len(t.planned) == 0 {
		delete(c.services, service)
	}
}

// without returns the places of ready endpoints in slices other than the named one.
func (t *tally) without(slice string) Ready {
	t.add(t.slices[slice], -1)
	ready := t.ready()
	t.add(t.slices[slice], 1)
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
