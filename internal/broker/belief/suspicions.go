package belief

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// enough is how many comparisons of its owner a suspicion waits for. The first one may have begun before it.
const enough = 2

// worth is for how long it counts that an owner has vouched: what is on the broker has to be read soon after.
const worth = time.Minute

// Suspicions are the objects that wait for their owners to vouch for what is on the broker. Owners do so by a counter in their Lease, which each increases
// after it has compared everything that it publishes with a fresh list (package vouch). What counts are increases that were seen here. A Lease that was made
// anew or restored begins anew. Create one with NewSuspicions.
type Suspicions struct {
	mu  sync.Mutex
	all map[string]*suspicion
}

// Counter is how often a member has found everything right.
type Counter struct {
	// Lease is the UID of the Lease that says so.
	Lease types.UID
	Count int64
	// Refused says that some of what the member publishes is not there, because the broker refuses it.
	Refused bool
}

type suspicion struct {
	owner    names.ClusterID
	since    time.Time
	counter  Counter   // as it was read last; no Lease before it was read
	seen     int       // increases
	vouched  time.Time // when there were enough
	callback func()
}

// NewSuspicions returns no suspicions.
func NewSuspicions() *Suspicions { return &Suspicions{all: map[string]*suspicion{}} }

// Suspect notes that an object is suspicious, if that is new, and returns whether its owner has vouched a short while ago, and the counter by which it has.
// The counter has to stand after the object was read again: else the broker has lost both meanwhile. callback is called once when the owner has vouched; it must
// not wait. A suspicion is not begun anew by further changes of its object.
func (s *Suspicions) Suspect(object string, owner names.ClusterID, now time.Time, callback func()) (by Counter, vouched bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.all[object]
	if known == nil || known.seen >= enough && now.Sub(known.vouched) > worth {
		s.all[object] = &suspicion{owner: owner, since: now, callback: callback}
		return Counter{}, false
	}
	known.callback = callback
	return known.counter, known.seen >= enough
}

// Stands tells whether a counter that was read later shows that the broker has not been wiped or restored since it was at an earlier one.
func (c Counter) Stands(later Counter) bool { return later.Lease == c.Lease && later.Count >= c.Count }

// Clear notes that an object is not suspicious any more.
func (s *Suspicions) Clear(object string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, object)
}

// Waiting tells whether an object waits for its owner.
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

// Observe takes notice of the counters, as a read that began at a time has found them. Members without a Lease have none.
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
			of.vouched = began
			callbacks = append(callbacks, of.callback)
		}
	}
	s.mu.Unlock()
	for _, callback := range callbacks {
		callback()
	}
}
