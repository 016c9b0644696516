package broker

import (
	"context"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// firstRead and lastRead bound how long to wait, and up to twice that, before heartbeats that could not be read are
// read again.
const (
	firstRead = 200 * time.Millisecond
	lastRead  = 3 * time.Second
)

// Start reads the heartbeats until ctx is done. A read that fails is tried again.
func (h *Heartbeats) Start(ctx context.Context) error {
	pause := firstRead
	for ctx.Err() == nil {
		next := h.epoch.beats.next()
		if err := h.read(ctx); err != nil {
			h.epoch.log.Debug("reading the members' heartbeats failed, will try again", "error", err)
			sleep(ctx, wait.Jitter(pause, 1), next)
			pause = min(2*pause, lastRead)
			continue
		}
		pause = firstRead
		select {
		case <-ctx.Done():
		case <-next:
		}
	}
	return nil
}

// errEarlier says that what was read may be from before the broker was put back.
var errEarlier = errors.New("the broker was put back meanwhile, or is another one")

// read reads all heartbeats.
func (h *Heartbeats) read(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	before := h.epoch.Beat()
	list := &coordinationv1.LeaseList{}
	err := h.client.List(ctx, list, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: h.since(before)}},
		client.InNamespace(h.epoch.namespace), client.HasLabels{names.LabelSourceCluster})
	// client-go asks again by itself for a version that is yet to come, until there is no time left.
	h.tooNew = apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) || errors.Is(err, context.DeadlineExceeded)
	if err == nil && h.epoch.Beat().epoch != before.epoch {
		err = errEarlier
	}
	if err != nil {
		return fmt.Errorf("listing heartbeats: %w", err)
	}
	h.version, h.backs = list.ResourceVersion, before.epoch
	h.show(list.Items)
	h.epoch.heard(list.Items)
	return nil
}

// since is the version at which, or later, heartbeats are read: an API server answers that from memory. All that was written
// before the own one was renewed last is there then, and all that has been read before. Where the broker may be another one,
// or may have been put back to an earlier state, it is "", for what there is.
func (h *Heartbeats) since(beat Beat) string {
	switch {
	case beat.version == "" || beat.epoch != h.backs || h.tooNew:
		return ""
	case less(beat.version, h.version):
		return h.version
	default:
		return beat.version
	}
}

// show takes notice of what was read.
func (h *Heartbeats) show(leases []coordinationv1.Lease) {
	now := make(map[names.ClusterID]beat, len(leases))
	for _, lease := range leases {
		state := beat{version: lease.ResourceVersion}
		if lease.Spec.RenewTime != nil {
			state.renewed = *lease.Spec.RenewTime
		}
		now[names.ClusterID(lease.Name)] = state
	}
	h.mu.Lock()
	before := h.known
	h.known = now
	h.mu.Unlock()
	for id := range before {
		if _, there := now[id]; !there {
			h.tell(h.observer.Gone(id.String()))
			h.gone(id)
		}
	}
	renewed := func(id names.ClusterID) bool {
		had, was := before[id]
		is, there := now[id]
		return there && (!was || had != is)
	}
	self := h.epoch.self
	for id := range now {
		if id != self && renewed(id) {
			h.renewed(id, before != nil)
		}
	}
	// The own one is the last: by then all others have been seen.
	if renewed(self) {
		h.renewed(self, before != nil)
	}
	if before == nil {
		close(h.synced)
	}
}
