package belief

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// enough is how many comparisons by the owner a suspicion waits for. The first one may have begun before it.
const enough = 2

// worth is how long an owner's confirmation is valid: the broker must be read soon after.
const worth = time.Minute

// Suspicions are the objects that wait for their owners to confirm the data on the broker. An owner increases a
// counter in its Lease after it has compared all its objects with a fresh list (package compare). Only increases that
// this process sees count, and a new or restored Lease starts over. Create with NewSuspicions.
type Suspicions struct {
	mu  sync.Mutex
	all map[string]*suspicion
}

// Counter counts a member's comparisons that found everything right.
type Counter struct {
	// Lease is the UID of the member's Lease.
	Lease types.UID
	Count int64
	// Refused is true if the broker refuses some of the member's objects.
	Refused bool
}

type suspicion struct {
	owner     names.ClusterID
	since     time.Time
	counter   Counter   // as last read; no Lease before the first read
	seen      int       // increases seen
	confirmed time.Time // when enough increases were seen
	callback  func()
}

// NewSuspicions returns no suspicions.
func NewSuspicions() *Suspicions { return &Suspicions{all: map[string]*suspicion{}} }

// Suspect records a suspicious object. It returns whether the owner has confirmed recently, and the counter. The counter
// must still Stand after the object is read again, or the broker has lost both meanwhile. callback is called once when
// the owner confirms, and must not block. Further changes of the object do not restart a suspicion.
func (s *Suspicions) Suspect(object string, owner names.ClusterID, now time.Time, callback func()) (by Counter, confirmed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.all[object]
	if known == nil || known.seen >= enough && now.Sub(known.confirmed) > worth {
		s.all[object] = &suspicion{owner: owner, since: now, callback: callback}
		return Counter{}, false
	}
	known.callback = callback
	return known.counter, known.seen >= enough
}

// Stands reports whether later shows that the broker was not wiped or restored since c was read.
func (c Counter) Stands(later Counter) bool { return later.Lease == c.Lease && later.Count >= c.Count }

// Clear ends the suspicion of an object.
func (s *Suspicions) Clear(object string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, object)
}

// Waiting reports whether an object waits for its owner.
func (s *Suspicions) Waiting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, of := range s.all {
		if of.seen < enough {
			return true
		}
	}
	return false
}

// Observe records the counters from a read that began at began. Members without a Lease have none.
func (s *Suspicions) Observe(began time.Time, counters map[names.ClusterID]Counter) {
	var callbacks []func()
	s.mu.Lock()
	for _, of := range s.all {
		now, there := counters[of.owner]
		if !there || !began.After(of.since) || of.seen >= enough {
			continue
		}
		switch {
		case now.Lease != of.counter.Lease || now.Count < of.counter.Count:
			of.seen = 0
		case now.Count > of.counter.Count:
			of.seen++
		}
		if of.counter = now; of.seen == enough {
			of.confirmed = began
			callbacks = append(callbacks, of.callback)
		}
	}
	s.mu.Unlock()
	for _, callback := range callbacks {
		callback()
	}
}
