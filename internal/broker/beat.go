package broker

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Beat is what is known of the own heartbeat. Whoever asks the broker about it, or writes it, takes this first: the
// answer may be from before the broker was put back, and come when that has been found already. That it is older now would
// be found once more, and who has published again in between would be awaited for ever.
type Beat struct {
	version string // "" for none
	epoch   int    // how often the broker was found to be put back, or another one
}

// tellWithin is for how long after it was found that the broker was put back the heartbeat may come to say so. A replica that hears
// of it later has believed what others have said meanwhile, and would wait for ever for that to be said again.
const tellWithin = 3 * time.Second

// Found is called with the own heartbeat as it was read. before is what Beat returned before
// that. It tells whether the heartbeat is to say that the broker was put back, which this replica has found and no other one has said. In another namespace than before
// versions can't be compared, which a look deals with.
func (e *Epoch) Found(ctx context.Context, before Beat, lease *coordinationv1.Lease) (tell bool, err error) {
	if less(lease.ResourceVersion, before.version) {
		place, _, err := e.placed(ctx)
		if err != nil {
			return false, err
		}
		if !e.at(place) {
			e.kick()
			return false, nil
		}
	}
	return e.compare(before, lease), nil
}

// Outran is called with the own entry as the copy had it when the broker has refused a change of that as outdated. before is what Beat returned
// before that. Where the broker has an older one than the copy, it was put back, to a state that is as young as the heartbeat or younger, which
// nothing else tells. Where the copy does not come to show what there is, its watch is deaf, and all copies are made anew.
func (e *Epoch) Outran(ctx context.Context, before Beat, had *brokerv1alpha1.MemberCluster) error {
	have := &brokerv1alpha1.MemberCluster{}
	if err := e.client.Get(ctx, client.ObjectKeyFromObject(had), have); err != nil {
		return fmt.Errorf("reading the MemberCluster: %w", err)
	}
	older := have.UID == had.UID && less(have.ResourceVersion, had.ResourceVersion)
	if older {
		place, _, err := e.placed(ctx)
		if err != nil {
			return err
		}
		older = e.at(place)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	first := e.outran.version != had.ResourceVersion // a copy that is being made anew stays what it was meanwhile
	switch {
	case before.epoch != e.beat.epoch:
	case first && older:
		e.foundHere()
		e.kick()
		fallthrough
	case first:
		e.outran = outran{had.ResourceVersion, time.Now()}
	case time.Since(e.outran.since) >= deafFor:
		e.log.Warn("what the broker has is not shown by a watch: all is listed anew")
		e.begin(e.beat.version)
		e.outran.since = time.Now()
	}
	return nil
}

// foundHere is called when it was found by something else than the heartbeat that the broker was put back, for the heartbeat to say
// so. That the heartbeat is older too is no news then. mu is held.
func (e *Epoch) foundHere() {
	e.foundAt = time.Now()
	e.back("")
}

// outran is a version of the own entry that the broker has outrun, and since when.
type outran struct {
	version string
	since   time.Time
}

// deafFor is how long a watch may take to show what the broker has.
const deafFor = 5 * time.Second

// at tells whether a namespace is the clusterset's, as far as either is known.
func (e *Epoch) at(place string) bool {
	known := e.Place()
	return known == place || known == "" || place == ""
}

// compare is Found where the namespace is the same.
func (e *Epoch) compare(before Beat, lease *coordinationv1.Lease) (tell bool) {
	e.mu.Lock()
	if before.epoch != e.beat.epoch {
		e.mu.Unlock()
		return false
	}
	restored := lease.Annotations[names.AnnotationRestored]
	older := before.version != "" && less(lease.ResourceVersion, before.version)
	said := restored != "" && restored != e.restored && e.beat.version != ""
	// What two replicas find is one thing: whoever has published again since the first has found it would be awaited for ever.
	// So would who hears of it late: what others have said since a look has been believed.
	told := said && e.foundAt.IsZero() && e.judge.Unseen()
	e.restored = restored
	switch {
	case said:
		e.foundAt = time.Time{}
	case older:
		e.foundAt = time.Now()
	}
	if older || told {
		e.back(lease.ResourceVersion)
	} else if less(e.beat.version, lease.ResourceVersion) {
		e.beat.version = lease.ResourceVersion
	}
	tell = time.Since(e.foundAt) < tellWithin
	e.mu.Unlock()
	if older || told {
		e.kick()
	}
	return tell
}

// tellOthers has the heartbeat say what this replica has found.
func (e *Epoch) tellOthers() {
	e.mu.Lock()
	f := e.onBack
	e.mu.Unlock()
	if f != nil {
		f()
	}
}

// back is called when the broker is found to be put back, with what is known of the own heartbeat from then on. mu is held.
func (e *Epoch) back(version string) {
	e.log.Warn("the broker was put back to an earlier state: what other members export is kept until they have published it again")
	e.begin(version)
	e.judge.Back()
}

// begin is called when the broker is found to be put back, or another one, with what is known of the own heartbeat from then on.
// All copies are made anew: a watch may have gone on as if nothing had happened, and what it has still to bring
// is from before. mu is held.
func (e *Epoch) begin(version string) {
	e.taps.expire()
	e.beat = Beat{version, e.beat.epoch + 1}
}

// Beat is what is known of the own heartbeat.
func (e *Epoch) Beat() Beat {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.beat
}

// Beaten is called each time that the own heartbeat was renewed, by this replica or another one, or could not be: that is
// when the others' are read.
func (e *Epoch) Beaten() { e.beats.ring() }

// saw is called when a watch shows that the own heartbeat was renewed, perhaps by another replica. What that has found is looked
// into at once, before others have published again.
func (e *Epoch) saw(version, restored string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if restored != "" && restored != e.restored {
		e.kick()
	}
	if less(e.beat.version, version) {
		e.beat.version = version
	}
}

// OnBack has f called when a look has found that the broker was put back, for the heartbeat to say so.
func (e *Epoch) OnBack(f func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.onBack = f
}

// Renewed is called with the own heartbeat as it was written. before is what Beat returned before that. One that was made, and is
// older than the one that there was, is looked into: it may have been missing because an earlier state was restored, in which
// this cluster was no member yet.
func (e *Epoch) Renewed(before Beat, lease *coordinationv1.Lease) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case before.epoch != e.beat.epoch:
	case e.beat.version != "" && less(lease.ResourceVersion, e.beat.version):
		e.kick()
	default:
		e.beat.version = lease.ResourceVersion
		if restored := lease.Annotations[names.AnnotationRestored]; restored != e.restored {
			e.restored, e.foundAt = restored, time.Time{}
		}
	}
}

// unheard tells whether the own heartbeat is missing as it would be in a backup from before this cluster joined: with the
// entry that there was. Of somebody who has deleted the heartbeat alone there is nothing to fear.
func (e *Epoch) unheard(heartbeat *coordinationv1.Lease, entry types.UID) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if heartbeat != nil {
		e.entry = entry
		return false
	}
	return entry == "" || entry != e.entry
}

// heartbeat reads the own heartbeat, and returns nil where there is none.
func (e *Epoch) heartbeat(ctx context.Context) (*coordinationv1.Lease, error) {
	lease := &coordinationv1.Lease{}
	err := e.client.Get(ctx, client.ObjectKey{Namespace: e.namespace, Name: e.self.String()}, lease)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the own heartbeat: %w", err)
	}
	return lease, nil
}
