package broker

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/liveness"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Heartbeats reads the members' Leases on the broker and tells which members live.
//
// It reads them all whenever this member has looked after its own, and does not watch them: each of n members
// would get n changes in the time in which it wants to know them once (docs/adr/0038-heartbeats-are-read.md).
type Heartbeats struct {
	epoch    *Epoch
	observer *liveness.Observer
	client   client.Reader
	synced   chan struct{} // closed after the first read

	// version is that of the broker's data when they were read last, of which backs says how often it had been put back by
	// then. tooNew tells that what was asked for may be yet to come. They are Start's.
	version string
	backs   int
	tooNew  bool

	mu        sync.Mutex
	known     map[names.ClusterID]beat // as they were read last, nil before that
	handlers  []func(names.ClusterID)
	listeners []Listener
}

// beat tells one state of a Lease from others. The version alone does not: an API server that was put back to an
// earlier state gives the same ones out again.
type beat struct {
	version string
	renewed metav1.MicroTime
}

// Listener hears of every heartbeat.
type Listener interface {
	// Renewed is called when a member's has been renewed. This member's own is seen as the
	// others' are, so that all has been seen that was written before.
	Renewed(names.ClusterID)
	// Missed is called when another member's has been missing for too long.
	Missed(names.ClusterID)
	// Gone is called when another member has none any more.
	Gone(names.ClusterID)
}

// NewHeartbeats returns heartbeats as e's member sees them; a member is lost when its Lease has
// not been renewed for timeout.
func NewHeartbeats(c client.Reader, e *Epoch, timeout time.Duration) *Heartbeats {
	h := &Heartbeats{epoch: e, client: c, observer: liveness.NewObserver(e.self.String(), timeout), synced: make(chan struct{})}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.live = h.Live
	return h
}

// gone tells that another member has no heartbeat any more. Where that may not be its doing, the
// heartbeat is missing, and the member has not left.
func (h *Heartbeats) gone(id names.ClusterID) {
	if id == h.epoch.self {
		return // it is made again
	}
	h.epoch.metered.Budget.Removed(id.String())
	again := func() {
		if !h.has(id) {
			h.gone(id)
		}
	}
	missing := h.epoch.holdHeartbeat(id, h, again)
	for _, l := range h.listening() {
		if missing {
			l.Missed(id)
		} else {
			l.Gone(id)
		}
	}
}

// has tells whether there was a heartbeat when they were read last.
func (h *Heartbeats) has(id names.ClusterID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, there := h.known[id]
	return there
}

// NeedLeaderElection makes the heartbeats be read on every replica, so that a new
// leader knows how long it has not seen one.
func (h *Heartbeats) NeedLeaderElection() bool { return false }

// Synced tells whether all members' heartbeats have been seen once: before that, one
// without is nothing of the kind.
func (h *Heartbeats) Synced() bool {
	select {
	case <-h.synced:
		return true
	default:
		return false
	}
}

// Await returns when all members' heartbeats have been seen once, or with ctx's error.
func (h *Heartbeats) Await(ctx context.Context) error {
	select {
	case <-h.synced:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Live tells whether a member lives.
func (h *Heartbeats) Live(cluster names.ClusterID) bool { return h.observer.Live(cluster.String()) }

// Renewals returns when the heartbeat of each other member was last seen here to have been
// renewed, or when it was seen for the first time.
func (h *Heartbeats) Renewals() map[string]time.Time { return h.observer.Renewals() }

// Own returns when this member's own heartbeat has last come back from the broker, the zero time if it never has.
func (h *Heartbeats) Own() time.Time { return h.observer.Own() }

// Members returns the members that live, sorted by id.
func (h *Heartbeats) Members() []names.ClusterID {
	var members []names.ClusterID
	for _, id := range h.observer.Members() {
		members = append(members, names.ClusterID(id))
	}
	return members
}

// OnChange has f called with each member that is lost or comes back.
func (h *Heartbeats) OnChange(f func(names.ClusterID)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.handlers = append(h.handlers, f)
}

// Listen has a listener hear of all heartbeats from now on, and returns the members of which
// there is one.
func (h *Heartbeats) Listen(l Listener) []names.ClusterID {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.listeners = append(h.listeners, l)
	return slices.Sorted(maps.Keys(h.known))
}

func (h *Heartbeats) listening() []Listener {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.listeners
}

// renewed takes notice of a heartbeat that was renewed, again or as the first thing that is seen of it.
// The admission policy sees to it that a member's Lease bears its id as name and is written by
// itself alone.
func (h *Heartbeats) renewed(id names.ClusterID, again bool) {
	changed := h.observer.Renewed(id.String(), time.Now())
	h.tell(changed)
	for _, l := range h.listening() {
		for _, other := range changed {
			if !h.observer.Live(other) {
				l.Missed(names.ClusterID(other))
			}
		}
		if again {
			l.Renewed(id)
		}
	}
}

func (h *Heartbeats) tell(changed []string) {
	h.mu.Lock()
	handlers := h.handlers
	h.mu.Unlock()
	for _, id := range changed {
		for _, handler := range handlers {
			handler(names.ClusterID(id))
		}
	}
}
