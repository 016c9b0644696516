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
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Reads of one member's slices for which its budget has no room: this many at once, and then so many a second. What a namespace needs that has just
// appeared is within the budget, and read at once.
const (
	readsAtOnce    = 500
	readsPerSecond = 20
)

// reads remembers what imported slices were made of, so that a stub is read again only when something of that changes.
type reads struct {
	pace *border.Pace
	of   sync.Map // of Request: what the imported slice was made of (string)
}

// key is everything that an imported slice depends on but for its hints and the content of its source, of which it has the hash.
func (in inputsOf) key(hash string, have *discoveryv1.EndpointSlice) string {
	version := ""
	if have != nil {
		version = have.ResourceVersion
	}
	return fmt.Sprint(hash, in.imp.UID, in.imp.Generation, in.imp.Annotations[names.AnnotationDerivedService], in.record.ResourceVersion, in.member != nil, in.out, version)
}

// made remembers what a slice was made of, if the cache has a stub of its source and the slice stands as it should be.
func (r *reads) made(req Request, in inputsOf, have, want *discoveryv1.EndpointSlice) {
	if in.hash == "" || have == nil || !endpoints.Same(have, want) {
		r.of.Delete(req)
		return
	}
	r.of.Store(req, in.key(in.hash, have))
}

// read puts the content of a slice of which the cache has a stub in its place. It does not where the imported slice is made of just that, which is kept,
// or where too much has been read of a member that is over its budget: then nothing is to be done now.
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
	in.hash = in.detail // an event follows if it is newer than the stub
	r.Broker.Border.Admit(slice)
	in.source = slice
	in.state, in.detail = r.Broker.Border.State(slice)
	return nil
}
