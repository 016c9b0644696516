package compare

import (
	"context"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/agent/inputs"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/kit"
)

// Counter counts. A metric implements it.
type Counter interface{ Inc() }

// Writes remembers which versions of this cluster's objects on the broker are this agent's, and counts changes by other
// writers: whoever has this cluster's credentials, or the broker's administrators. Field managers prove nothing, because
// the writer chooses them. It belongs to one connection, which ends when the broker is restored.
//
// The unknown is not counted: deletions, which look like a wiped broker, and older revisions, which look like a restored
// one. Another writer's first version of an object that this agent has not seen may be its predecessor's.
type Writes struct {
	count Counter

	mu      sync.Mutex
	own     map[key]version
	foreign []string // objects that others have changed since the last report, without duplicates
}

type version struct {
	resource string
	revision int64
}

func versionOf(o client.Object) version { return version{o.GetResourceVersion(), layout.Revision(o)} }

// NewWrites returns Writes that count in a metric.
func NewWrites(count Counter) *Writes {
	return &Writes{count: count, own: map[key]version{}}
}

// Observe notes a cached object. isRight says that it needs no write.
func (w *Writes) Observe(o client.Object, isRight bool) {
	k, now := keyOf(o, layout.Source(o)), versionOf(o)
	w.mu.Lock()
	defer w.mu.Unlock()
	own, known := w.own[k]
	switch {
	case known && now.revision < own.revision && now.revision > 0: // an outdated cache, or a restored broker
	case isRight:
		w.own[k] = now
	case known && now.resource != own.resource:
		w.own[k] = now // count it once
		w.count.Inc()
		if name := o.GetName(); !slices.Contains(w.foreign, name) {
			w.foreign = append(w.foreign, name)
		}
	}
}

// Wrote notes a write of an object, or with isDeleted, its deletion.
func (w *Writes) Wrote(o client.Object, isDeleted bool, err error) {
	k := keyOf(o, layout.Source(o))
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err == nil && !isDeleted:
		w.own[k] = versionOf(o)
	case !apierrors.IsConflict(err): // after a lost response, the next version may be this agent's
		delete(w.own, k)
	}
}

// Apply deletes or writes an object on the broker as kit.Apply does, and notes the write.
func Apply[O client.Object](ctx context.Context, w *Writes, to *inputs.Broker, have, want O, remove bool) error {
	err := kit.Apply(ctx, to, to.Live, have, want, remove)
	switch none := any(*new(O)); {
	case remove:
		w.Wrote(have, true, err)
	case any(want) != none:
		w.Wrote(want, false, err)
	}
	return err
}

// takeForeign returns the names of the objects that others have changed since the last call.
func (w *Writes) takeForeign() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.foreign
	w.foreign = nil
	return all
}
