// Package controllers holds what all controllers of the agent have in common.
// Each of them is a package below, owns one output, and has the same shape: it
// gathers what its decision depends on, has a pure package decide, and applies the
// difference.
package controllers

import (
	"context"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

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
		CacheSyncTimeout:        syncTimeout,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[request](firstRetry, lastRetry),
	}
}

// Events is a source of requests that come from elsewhere than a controller-runtime
// cache. subscribe is called once, with a function that queues a request.
func Events[request comparable](subscribe func(add func(request))) source.TypedSource[request] {
	return source.TypedFunc[request](func(_ context.Context, queue workqueue.TypedRateLimitingInterface[request]) error {
		subscribe(queue.Add)
		return nil
	})
}

// Once is a source that queues requests one time, after await has returned.
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
			for _, r := range all {
				queue.Add(r)
			}
		}()
		return nil
	})
}
