package broker

import (
	"context"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/informers"
	"github.com/atoll-mcs/atoll/internal/liveness"
	"github.com/atoll-mcs/atoll/internal/names"
)

// Heartbeats follows the members' Leases on the broker and tells which members live.
type Heartbeats struct {
	epoch    *Epoch
	observer *liveness.Observer
	leases   cache.SharedIndexInformer
	handled  cache.ResourceEventHandlerRegistration

	mu        sync.Mutex
	handlers  []func(names.ClusterID)
	listeners []Listener
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
func NewHeartbeats(c client.WithWatch, e *Epoch, timeout time.Duration) *Heartbeats {
	h := &Heartbeats{
		epoch:    e,
		observer: liveness.NewObserver(e.self.String(), timeout),
		leases: informers.NewTapped(c, e.taps.leases, &coordinationv1.LeaseList{}, &coordinationv1.Lease{}, nil,
			client.InNamespace(e.namespace), client.HasLabels{names.LabelSourceCluster}),
	}
	// Fails only when the informer has stopped.
	h.handled, _ = h.leases.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(object any, initial bool) { h.renewed(object.(*coordinationv1.Lease), !initial) },
		UpdateFunc: func(old, new any) {
			if lease := new.(*coordinationv1.Lease); !informers.Same(old.(*coordinationv1.Lease), lease) {
				h.renewed(lease, true)
			}
		},
		DeleteFunc: func(object any) {
			if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = gone.Obj
			}
			if lease, ok := object.(*coordinationv1.Lease); ok {
				h.tell(h.observer.Gone(lease.Name))
				h.gone(names.ClusterID(lease.Name))
			}
		},
	})
	return h
}

// gone tells that another member has no heartbeat any more. Where that may not be its doing, the
// heartbeat is missing, and the member has not left.
func (h *Heartbeats) gone(id names.ClusterID) {
	if id == h.epoch.self {
		return // it is made again
	}
	again := func() {
		if _, back, err := h.leases.GetStore().GetByKey(h.epoch.namespace + "/" + id.String()); err == nil && !back {
			h.gone(id)
		}
	}
	missing := h.epoch.Hold(types.NamespacedName{}, id, h, again)
	for _, l := range h.listening() {
		if missing {
			l.Missed(id)
		} else {
			l.Gone(id)
		}
	}
}

// Start follows the Leases until ctx is done.
func (h *Heartbeats) Start(ctx context.Context) error {
	h.leases.RunWithContext(ctx)
	return nil
}

// NeedLeaderElection makes the heartbeats be followed on every replica, so that a new
// leader knows how long it has not seen one.
func (h *Heartbeats) NeedLeaderElection() bool { return false }

// Synced tells whether all members' heartbeats have been seen once: before that, one
// without is nothing of the kind.
func (h *Heartbeats) Synced() bool { return h.handled.HasSynced() }

// Await returns when all members' heartbeats have been seen once, or with ctx's error.
func (h *Heartbeats) Await(ctx context.Context) error {
	return informers.Await(ctx, h.handled.HasSyncedChecker())
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
	h.listeners = append(h.listeners, l)
	h.mu.Unlock()
	var members []names.ClusterID
	for _, lease := range h.leases.GetStore().List() {
		members = append(members, names.ClusterID(lease.(*coordinationv1.Lease).Name))
	}
	return members
}

func (h *Heartbeats) listening() []Listener {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.listeners
}

// renewed takes notice of a Lease: one that was renewed, or one that is seen for the first time.
// The admission policy sees to it that a member's bears its id as name and is written by
// itself alone.
func (h *Heartbeats) renewed(lease *coordinationv1.Lease, again bool) {
	changed := h.observer.Renewed(lease.Name, time.Now())
	h.tell(changed)
	for _, l := range h.listening() {
		for _, id := range changed {
			if !h.observer.Live(id) {
				l.Missed(names.ClusterID(id))
			}
		}
		if again {
			l.Renewed(names.ClusterID(lease.Name))
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
