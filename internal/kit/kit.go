package kit

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

const (
	firstRetry = 5 * time.Millisecond
	lastRetry  = 30 * time.Second
	workers    = 8
	// syncTimeout is how long a controller waits for its caches. It is longer than an API server's outage.
	syncTimeout = 24 * time.Hour
	// reconcileTimeout frees a worker from an unresponsive API server. It allows two calls of a load balancer provider.
	reconcileTimeout = 3 * time.Minute
)

// Options returns a controller's options: parallel workers, low priority for first lists, and exponential backoff per
// request. There is no overall rate limit: the API server's priority and fairness sets it.
func Options[R comparable]() controller.TypedOptions[R] {
	return controller.TypedOptions[R]{
		MaxConcurrentReconciles: workers,
		UsePriorityQueue:        ptr.To(true),
		CacheSyncTimeout:        syncTimeout,
		ReconciliationTimeout:   reconcileTimeout,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[R](firstRetry, lastRetry),
		// A new connection's controllers reuse the previous one's names.
		SkipNameValidation: ptr.To(true),
	}
}

// New returns a controller without a manager, with the sources of its requests. After its Start, none of its handlers
// runs: a connection's controllers cannot receive late events.
func New[R comparable](name string, r reconcile.TypedReconciler[R], sources ...source.TypedSource[R]) (controller.TypedController[R], error) {
	options := Options[R]()
	options.Reconciler = r
	c, err := controller.NewTypedUnmanaged(name, options)
	if err != nil {
		return nil, fmt.Errorf("creating controller %s: %w", name, err)
	}
	ending := endingController[R]{TypedController: c}
	for _, s := range sources {
		if err := c.Watch(s); err != nil {
			return nil, fmt.Errorf("starting a source of controller %s: %w", name, err)
		}
		if w, ok := s.(interface{ wait() }); ok {
			ending.handlers = append(ending.handlers, w.wait)
		}
	}
	return ending, nil
}

// endingController is a controller that waits for its handlers.
type endingController[R comparable] struct {
	controller.TypedController[R]
	handlers []func()
}

// Start runs the controller until ctx is done and its handlers have ended.
func (c endingController[R]) Start(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		cancel() // the handlers, if the controller has failed
		for _, wait := range c.handlers {
			wait()
		}
	}()
	return c.TypedController.Start(ctx)
}

// After returns a result that requeues a request at normal priority. At the low priority of first lists, a request that
// is delayed repeatedly would starve.
func After(d time.Duration) reconcile.Result {
	return reconcile.Result{RequeueAfter: d, Priority: ptr.To(0)}
}

const (
	// statusDelay is how long a status write waits after its first cause, to combine several.
	statusDelay = 100 * time.Millisecond
	// startDelay is how long an object that has a status keeps it after a controller starts, so that other controllers
	// finish first.
	startDelay = 5 * time.Second
)

// Late delays writes of statuses and of catalogue entries. The zero value is ready for use.
type Late[R comparable] struct {
	mu    sync.Mutex
	start time.Time
	first map[R]time.Time
	fresh map[R]bool // objects that had no status; only used during startDelay
}

// Wait returns how long a request must wait for the delays and its stage, 0 if it is due. fresh means that its object
// has no status yet, so there is none to keep.
func (l *Late[R]) Wait(request R, fresh bool, order *Stages) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if l.start.IsZero() {
		l.start, l.first, l.fresh = now, map[R]time.Time{}, map[R]bool{}
	}
	if _, found := l.first[request]; !found {
		l.first[request] = now.Add(statusDelay)
	}
	if starting := l.start.Add(startDelay).Sub(now); starting <= 0 {
		l.fresh = nil
	} else if fresh {
		l.fresh[request] = true
	} else if !l.fresh[request] {
		return starting
	}
	if wait := l.first[request].Sub(now); wait > 0 {
		return wait
	}
	if wait := order.Wait(Reported, now); wait > 0 {
		return wait
	}
	delete(l.first, request)
	return 0
}

// Since remembers since when a condition has held. The zero value is ready for use.
type Since[K comparable] struct{ first sync.Map }

// For returns how long a condition has held; 0 the first time.
func (s *Since[K]) For(key K, now time.Time) time.Duration {
	first, _ := s.first.LoadOrStore(key, now)
	return now.Sub(first.(time.Time))
}

// Over records that a condition has ended.
func (s *Since[K]) Over(key K) { s.first.Delete(key) }
