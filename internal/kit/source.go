package kit

import (
	"context"
	"fmt"
	"slices"
	"sync"

	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Event is a change of an object in a cache.
type Event[O client.Object] struct {
	// Old and New are the object before and after the change; nil if it did not or does not exist.
	Old, New O
	// Initial is true if the object existed when the controller started.
	Initial bool
}

// Latest returns the object after the change, or the deleted object.
func (e Event[O]) Latest() O {
	if any(e.New) == any(*new(O)) {
		return e.Old
	}
	return e.New
}

// Versions returns the existing objects of Old and New.
func (e Event[O]) Versions() []O {
	return slices.DeleteFunc([]O{e.Old, e.New}, func(o O) bool { return any(o) == any(*new(O)) })
}

// Deleted reports whether the object was deleted.
func (e Event[O]) Deleted() bool { return any(e.New) == any(*new(O)) }

// Watch is a source of requests for changes of cached objects. Unlike controller-runtime's source.Kind (v0.25.2), it
// removes its handler when its controller ends: a cache may outlive it. First lists get low priority.
func Watch[O client.Object, R comparable](from cache.Cache, of O, requests func(context.Context, Event[O]) []R) source.TypedSyncingSource[R] {
	return &watch[O, R]{cache: from, object: of, requests: requests, synced: make(chan error, 1)}
}

type watch[O client.Object, R comparable] struct {
	cache    cache.Cache
	object   O
	requests func(context.Context, Event[O]) []R
	synced   chan error
	// handlers has the running handler. The controller waits for it (New).
	handlers sync.WaitGroup
}

// String returns the source's name in logs.
func (w *watch[O, R]) String() string { return fmt.Sprintf("watch of %T", w.object) }

// Start implements source.TypedSource. It does not wait for the cache.
func (w *watch[O, R]) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[R]) error {
	w.handlers.Go(func() {
		w.synced <- follow(ctx, &w.handlers, w.cache, w.object, func(ctx context.Context, e Event[O]) { Add(queue, e.Initial, w.requests(ctx, e)...) })
	})
	return nil
}

// wait waits until the handler has ended, after the context of Start.
func (w *watch[O, R]) wait() { w.handlers.Wait() }

// Follow calls f for the changes of cached objects until ctx is done. It returns after the calls for the first list.
func Follow[O client.Object](ctx context.Context, from cache.Cache, of O, f func(context.Context, Event[O])) error {
	return follow(ctx, &sync.WaitGroup{}, from, of, f)
}

// follow is Follow. After ctx, running has the handler until its last call has returned.
func follow[O client.Object](ctx context.Context, running *sync.WaitGroup, from cache.Cache, of O, f func(context.Context, Event[O])) error {
	informer, err := from.GetInformer(ctx, of, cache.BlockUntilSynced(false)) // the handler runs while the cache fills
	if err != nil {
		return fmt.Errorf("getting the informer of %T: %w", of, err)
	}
	shared, ok := informer.(toolscache.SharedInformer)
	if !ok {
		return fmt.Errorf("watching %T: the cache must be of one namespace or of all", of)
	}
	call := func(e Event[O]) {
		if ctx.Err() == nil { // else the handler ends without its remaining events
			f(ctx, e)
		}
	}
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(object any, initial bool) { call(Event[O]{New: object.(O), Initial: initial}) },
		UpdateFunc: func(old, new any) { call(Event[O]{Old: old.(O), New: new.(O)}) },
		DeleteFunc: func(object any) {
			if gone, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
				object = gone.Obj
			}
			if object, ok := object.(O); ok {
				call(Event[O]{Old: object})
			}
		},
	})
	if err != nil {
		return fmt.Errorf("watching %T: %w", of, err)
	}
	running.Add(1)
	context.AfterFunc(ctx, func() {
		defer running.Done()
		_ = toolscache.ShutDownEventHandler(shared, registration) // fails only for registrations of other informers
	})
	select { // WaitForCacheSync would poll
	case <-registration.HasSyncedChecker().Done():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// WaitForSync implements source.TypedSyncingSource.
func (w *watch[O, R]) WaitForSync(ctx context.Context) error {
	select {
	case err := <-w.synced:
		return err
	case <-ctx.Done():
		return nil // the controller ends
	}
}

// WaitFor is a source without requests that delays a controller's start until a channel is closed. The log names what it waits for.
func WaitFor[R comparable](what string, closed <-chan struct{}) source.TypedSyncingSource[R] {
	return waitFor[R]{what, closed}
}

type waitFor[R comparable] struct {
	what   string
	closed <-chan struct{}
}

func (w waitFor[R]) String() string { return w.what }

// Start implements source.TypedSource.
func (waitFor[R]) Start(context.Context, workqueue.TypedRateLimitingInterface[R]) error { return nil }

// WaitForSync implements source.TypedSyncingSource.
func (w waitFor[R]) WaitForSync(ctx context.Context) error {
	select {
	case <-w.closed:
	case <-ctx.Done(): // the controller ends
	}
	return nil
}

// Add queues requests; those of first lists get controller-runtime's low priority.
func Add[R comparable](queue workqueue.TypedRateLimitingInterface[R], initial bool, requests ...R) {
	priority := 0
	if initial {
		priority = handler.LowPriority
	}
	queue.(priorityqueue.PriorityQueue[R]).AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, requests...)
}

// Same maps an object to the request of its own name.
func Same[O client.Object](_ context.Context, e Event[O]) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(e.Latest())}}
}
