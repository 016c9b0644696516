package importedslice

import (
	"context"
	"fmt"
	"slices"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/agent/imports/imported"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/endpoints"
)

// promoteTime is how long a write that takes endpoints out of use waits for the writes that bring others into use. Without the
// wait, a proxy could see no ready endpoint for a moment.
const promoteTime = 2 * time.Second

// states returns a slice as it is, and as it is being written.
func (r *Reconciler) states(ctx context.Context, set *roleSet, req Request) (states, error) {
	last, found := set.last[req]
	if !found {
		var err error
		if last, err = imported.Slice(ctx, r.Cluster.Client, req.name()); err != nil {
			return nil, fmt.Errorf("reading the imported EndpointSlice of %v: %w", req, err)
		}
	}
	if writing, found := set.writing[req]; found {
		return states{last, writing}, nil
	}
	return states{last}, nil
}

// states are the possible states of a slice.
type states []*discoveryv1.EndpointSlice

// promotes reports whether a write may bring endpoints that stood by into use.
func (s states) promotes(want *discoveryv1.EndpointSlice) bool {
	return slices.ContainsFunc(s, func(have *discoveryv1.EndpointSlice) bool { return promotes(have, want) })
}

// have reports whether something is true in all states.
func (s states) have(is func(*discoveryv1.EndpointSlice) bool) bool {
	return !slices.ContainsFunc(s, func(have *discoveryv1.EndpointSlice) bool { return !is(have) })
}

// awaitsOthers reports whether a write that takes something out of use must wait for other slices of the service: for endpoints
// that it is to bring into use, and for ports that move to another slice of the same source. A write that brings endpoints into use
// itself waits only for ports that move: two of them would wait for each other. isLast is set if without the others a port would
// have no ready endpoint.
func (r *Reconciler) awaitsOthers(ctx context.Context, set *roleSet, req Request, have, want *discoveryv1.EndpointSlice) (awaits, isLast bool, _ error) {
	set.mu.Lock()
	defer set.mu.Unlock()
	awaits = !promotes(have, want) && set.promotesOther(req)
	without := lastReady(have, want)
	var come []discoveryv1.EndpointPort
	for other, wanted := range set.wanted {
		isSibling := other.source() == req.source()
		if other == req || len(without) == 0 && !isSibling {
			continue
		}
		theirs, err := r.states(ctx, set, other)
		if err != nil {
			return false, false, err
		}
		awaits = awaits || isSibling && slices.ContainsFunc(wanted.Ports, func(p discoveryv1.EndpointPort) bool {
			return hasPort(have, p) && !hasPort(want, p) && !theirs.have(func(s *discoveryv1.EndpointSlice) bool { return hasPort(s, p) })
		})
		without = slices.DeleteFunc(without, func(p discoveryv1.EndpointPort) bool {
			return isServedAt(wanted, have, p) && theirs.have(func(s *discoveryv1.EndpointSlice) bool { return isServedAt(s, have, p) })
		})
		come = append(come, slices.DeleteFunc(slices.Clone(without), func(p discoveryv1.EndpointPort) bool { return !isServedAt(wanted, have, p) })...)
	}
	isLast = slices.ContainsFunc(without, func(p discoveryv1.EndpointPort) bool { return hasPort(&discoveryv1.EndpointSlice{Ports: come}, p) })
	if awaits = awaits || isLast; awaits {
		set.waiting[req] = true
	}
	return awaits, isLast, nil
}

// promotesOther reports whether another slice is to bring endpoints into use.
func (s *roleSet) promotesOther(req Request) bool {
	return len(s.promoted) > 1 || len(s.promoted) == 1 && !s.promoted[req]
}

// begin records that a slice is about to be written: what others decide meanwhile must hold before and after the write.
func (s *roleSet) begin(req Request, want *discoveryv1.EndpointSlice) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writing[req] = want
}

// asWritten returns a slice as this process wrote it, or as the cache has it.
func (s *roleSet) asWritten(req Request, have *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last, found := s.last[req]; found {
		return last
	}
	return have
}

// current returns a slice as it is. If the cache shows what is wanted, but this process wrote something else last, it reads the slice: the
// cache may not show that write yet, and others must not take for written what is not.
func (r *Reconciler) current(ctx context.Context, req Request, set *roleSet, have, want *discoveryv1.EndpointSlice) (*discoveryv1.EndpointSlice, error) {
	if set == nil || have == nil || want == nil || !endpoints.Same(have, want) || endpoints.Same(have, set.asWritten(req, have)) {
		return have, nil
	}
	live, err := kit.Get(ctx, r.Cluster.Live, client.ObjectKeyFromObject(have), &discoveryv1.EndpointSlice{})
	if err != nil {
		return nil, fmt.Errorf("reading the imported EndpointSlice of %v: %w", req, err)
	}
	return live, nil
}

// failed records that a slice may have been written or not.
func (s *roleSet) failed(req Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.writing, req)
	delete(s.last, req)
}

// done records that a slice has been written, and queues those that waited for it.
func (r *Reconciler) done(set *roleSet, req Request, have, written *discoveryv1.EndpointSlice) {
	set.mu.Lock()
	delete(set.writing, req)
	delete(set.waiting, req) // it has waited long enough; while the cache shows the old slice, it would write again and again
	if set.last[req] = written; written == nil {
		delete(set.last, req)
	}
	if !promotes(written, set.wanted[req]) { // else it was decided again during the write
		delete(set.promoted, req)
	}
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
