package slice

import (
	"context"
	"fmt"
	"sync"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/broker/border"
	"github.com/atoll-mcs/atoll/internal/mcs/endpoints"
)

// Rate limit for reading one member's slices beyond its budget: a burst, then a number per second. Slices within the
// budget, such as those of a new namespace, are read at once.
const (
	readsAtOnce    = 500
	readsPerSecond = 20
)

// reads remembers the inputs of imported slices, so that a stub is read again only when one of them changes.
type reads struct {
	pace *border.Pace
	of   sync.Map // of Request: the inputs of the imported slice (string)
}

// key is everything that an imported slice depends on, except its hints; the source's content counts by its hash.
func (in inputsOf) key(hash string, have *discoveryv1.EndpointSlice) string {
	version := ""
	if have != nil {
		version = have.ResourceVersion
	}
	return fmt.Sprint(hash, in.imp.UID, in.imp.Generation, in.derived, in.record.ResourceVersion, in.member != nil, in.out, version)
}

// made remembers a slice's inputs, if the cache holds a stub of its source and the slice is up to date.
func (r *reads) made(req Request, in inputsOf, have, want *discoveryv1.EndpointSlice) {
	if in.hash == "" || have == nil || !endpoints.Same(have, want) {
		r.of.Delete(req)
		return
	}
	r.of.Store(req, in.key(in.hash, have))
}

// read replaces a stub with the slice's content. It does nothing if the imported slice was made from the same content,
// or if the member is over its budget and its rate limit.
func (r *Reconciler) read(ctx context.Context, req Request, in *inputsOf, have *discoveryv1.EndpointSlice) error {
	if last, found := r.reads.of.Load(req); found && last == in.key(in.detail, have) {
		in.kept = true
		return nil
	}
	if r.Broker.Border.OverBudget(in.source) {
		now := time.Now()
		if in.again = r.reads.pace.Wait(req.Cluster.String(), "", req.key(), now); in.again > 0 {
			in.waits = true
			return nil
		}
		r.reads.pace.Done(req.Cluster.String(), "", req.key(), now)
	}
	slice := &discoveryv1.EndpointSlice{}
	err := r.Broker.Live.Get(ctx, client.ObjectKeyFromObject(in.source), slice)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	if in.source = nil; err != nil {
		return nil
	}
	in.hash = in.detail // an event follows if the content is newer than the stub
	r.Broker.Border.Admit(slice)
	in.source = slice
	in.state, in.detail = r.Broker.Border.State(slice)
	return nil
}
