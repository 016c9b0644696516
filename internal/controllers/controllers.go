// Package controllers holds what the controllers of agent and hub have in common. Each of them is a package below, owns
// one output, and has the same shape: it gathers what its decision depends on, has a pure package decide, and applies
// the difference.
//
//   - How they run: options, sources of requests, predicates and the queue (this file, predicates.go, queue.go).
//   - How they write: Writer, and what its errors mean (write.go, refusal.go).
//   - What they remember between two writes: Newest, of one object; Slices, what became of EndpointSlices; Said, of
//     Events; Notes, beyond a restart.
package controllers

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/atoll-mcs/atoll/internal/kit"
)

// Controller is what all controllers are to the program that runs them.
type Controller interface {
	// Name is the controller's in logs and metrics.
	Name() string
	// Register adds it to a manager.
	Register(manager.Manager) error
}

// Register adds controllers to a manager.
func Register(mgr manager.Manager, list []Controller) error {
	for _, c := range list {
		if err := c.Register(mgr); err != nil {
			return fmt.Errorf("registering controller %s: %w", c.Name(), err)
		}
	}
	return nil
}

const (
	firstRetry = 5 * time.Millisecond
	lastRetry  = 30 * time.Second
	workers    = 8
	// syncTimeout is how long a controller waits for its caches before it gives up,
	// which ends the agent: long enough to wait out an API server's absence.
	syncTimeout = 24 * time.Hour
)

// Options returns a controller's options: parallel workers, and retries that slow
// down for the object that fails alone. There is no limit to the overall rate.
func Options[request comparable]() controller.TypedOptions[request] {
	return controller.TypedOptions[request]{
		MaxConcurrentReconciles: workers,
		UsePriorityQueue:        ptr.To(true), // live changes before first lists
		NewQueue:                kit.NewQueue[request],
		CacheSyncTimeout:        syncTimeout,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[request](firstRetry, lastRetry),
	}
}

// Events is a source of requests that come from elsewhere than a controller-runtime
// cache. subscribe is called once, with a function that queues a request; initial says that
// nobody waits for it, and that all others come before it.
func Events[request comparable](subscribe func(add func(r request, initial bool))) source.TypedSource[request] {
	return source.TypedFunc[request](func(_ context.Context, queue workqueue.TypedRateLimitingInterface[request]) error {
		subscribe(func(r request, initial bool) { add(queue, initial, r) })
		return nil
	})
}

// Once is a source that queues requests one time, after await has returned. All others come
// before them.
func Once[request comparable](await func(context.Context) error, requests func(context.Context) ([]request, error)) source.TypedSource[request] {
	return source.TypedFunc[request](func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[request]) error {
		go func() {
			if await(ctx) != nil {
				return // the agent ends
			}
			all, err := requests(ctx)
			if err != nil {
				return // a cache that is synced does not fail before the agent ends
			}
			add(queue, true, all...)
		}()
		return nil
	})
}

// add queues requests. Those of first lists get the priority that controller-runtime gives
// those of its own caches.
func add[request comparable](queue workqueue.TypedRateLimitingInterface[request], initial bool, requests ...request) {
	priority := 0
	if initial {
		priority = handler.LowPriority
	}
	queue.(priorityqueue.PriorityQueue[request]).AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, requests...)
}
