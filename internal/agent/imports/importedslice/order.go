package importedslice

import (
	"context"
	"fmt"
	"slices"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/atoll-mcs/atoll/internal/agent/imports/imported"
)

// promoteTime is how long a write that takes endpoints out of use waits for the writes that bring others into use. Without the
// wait, a proxy could see no ready endpoint for a moment.
const promoteTime = 2 * time.Second

// written returns a slice as it is.
func (r *Reconciler) written(ctx context.Context, set *roleSet, req Request) (*discoveryv1.EndpointSlice, error) {
	if last, found := set.last[req]; found {
		return last, nil
	}
	slice, err := imported.Slice(ctx, r.Cluster.Client, req.name())
	if err != nil {
		return nil, fmt.Errorf("reading the imported EndpointSlice of %v: %w", req, err)
	}
	return slice, nil
}

// awaitsOthers reports whether a write that takes something out of use must wait for other slices of the service: for endpoints
// that it is to bring into use, and for ports that move to another slice of the same source. A write that brings endpoints into use
// itself waits only for ports that move: two of them would wait for each other. isLast is set if without the others a port would
// have no ready endpoint.
func (r *Reconciler) awaitsOthers(ctx context.Context, set *roleSet, req Request, have, want *discoveryv1.EndpointSlice) (awaits, isLast bool, _ error) {
	set.mu.Lock()
	defer set.mu.Unlock()
	for other := range set.promoted {
		awaits = awaits || other != req && !promotes(have, want)
	}
	without := lastReady(have, want)
	var come []discoveryv1.EndpointPort
	for other, wanted := range set.wanted {
		isSibling := other.source() == req.source()
		if other == req || len(without) == 0 && !isSibling {
			continue
		}
		theirs, err := r.written(ctx, set, other)
		if err != nil {
			return false, false, err
		}
		awaits = awaits || isSibling && slices.ContainsFunc(wanted.Ports, func(p discoveryv1.EndpointPort) bool {
			return hasPort(have, p) && !hasPort(want, p) && !hasPort(theirs, p)
		})
		without = slices.DeleteFunc(without, func(p discoveryv1.EndpointPort) bool {
			return isServedAt(theirs, have, p) && isServedAt(wanted, have, p)
		})
		come = append(come, slices.DeleteFunc(slices.Clone(without), func(p discoveryv1.EndpointPort) bool { return !isServedAt(wanted, have, p) })...)
	}
	isLast = slices.ContainsFunc(without, func(p discoveryv1.EndpointPort) bool { return hasPort(&discoveryv1.EndpointSlice{Ports: come}, p) })
	if awaits = awaits || isLast; awaits {
		set.waiting[req] = true
	}
	return awaits, isLast, nil
}

// done records that a slice has been written, and queues those that waited for it.
func (r *Reconciler) done(set *roleSet, req Request, have, written *discoveryv1.EndpointSlice) {
	set.mu.Lock()
	if set.last[req] = written; written == nil {
		delete(set.last, req)
	}
	delete(set.promoted, req)
	serves := written != nil && (have == nil || len(lastReady(written, have)) > 0) // at a port where it did not
	var waited []Request
	for waiting := range set.waiting {
		if len(set.promoted) == 0 || serves || waiting.source() == req.source() {
			waited = append(waited, waiting)
			delete(set.waiting, waiting)
		}
	}
	set.mu.Unlock()
	r.roles.changes.Publish(waited...)
}
