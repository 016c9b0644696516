package kit

import (
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
	// syncTimeout is how long a controller waits for its caches before it fails. It outlasts the absence of an API server.
	syncTimeout = 24 * time.Hour
	// reconcileTimeout keeps an API server that never answers from holding a worker for ever. It outlasts two calls of a load balancer's provider.
	reconcileTimeout = 3 * time.Minute
)

// Options returns the options of a controller: parallel workers, a queue in which first lists come last, and an exponential backoff for each
// request. There is no limit to the overall rate: the API server's priority and fairness sets it.
func Options[R comparable]() controller.TypedOptions[R] {
	return controller.TypedOptions[R]{
		MaxConcurrentReconciles: workers,
		UsePriorityQueue:        ptr.To(true),
		NewQueue:                NewQueue[R],
		CacheSyncTimeout:        syncTimeout,
		ReconciliationTimeout:   reconcileTimeout,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[R](firstRetry, lastRetry),
		// A session's controllers have the names of those of the session before.
		SkipNameValidation: ptr.To(true),
	}
}

// New returns a controller that is in no manager, with the sources of its requests.
func New[R comparable](name string, r reconcile.TypedReconciler[R], sources ...source.TypedSource[R]) (controller.TypedController[R], error) {
	options := Options[R]()
	options.Reconciler = r
	c, err := controller.NewTypedUnmanaged(name, options)
	if err != nil {
		return nil, fmt.Errorf("making controller %s: %w", name, err)
	}
	for _, s := range sources {
		if err := c.Watch(s); err != nil {
			return nil, fmt.Errorf("starting a source of controller %s: %w", name, err)
		}
	}
	return c, nil
}

// After returns a result that has a request reconciled again. It comes before first lists then, of which it may be a part: a request of low
// priority that is put off again and again would starve.
func After(d time.Duration) reconcile.Result {
	return reconcile.Result{RequeueAfter: d, Priority: ptr.To(0)}
}

const (
	// statusDelay is how long the status of an object waits after the first reason to write it, so that one write says all.
	statusDelay = 100 * time.Millisecond
	// startDelay is how long it waits after the start of its controller, until other controllers have done their part: what a status said before
	// stands until then.
	startDelay = 5 * time.Second
)

// Late delays the writing of statuses. The zero value is ready for use.
type Late[R comparable] struct {
	mu    sync.Mutex
	start time.Time
	first map[R]time.Time
}

// Wait returns how long a request has to wait, 0 when its time has come: after the delays, and in its stage.
func (l *Late[R]) Wait(request R, order *Stages) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if l.start.IsZero() {
		l.start, l.first = now, map[R]time.Time{}
	}
	if _, found := l.first[request]; !found {
		l.first[request] = now.Add(statusDelay)
	}
	if wait := max(l.first[request].Sub(now), l.start.Add(startDelay).Sub(now)); wait > 0 {
		return wait
	}
	if wait := order.Wait(Reported, now); wait > 0 {
		return wait
	}
	delete(l.first, request)
	return 0
}

// Since remembers since when something has been so. The zero value remembers nothing.
type Since[K comparable] struct{ first sync.Map }

// For returns for how long something has been so, which is 0 the first time.
func (s *Since[K]) For(key K, now time.Time) time.Duration {
	first, _ := s.first.LoadOrStore(key, now)
	return now.Sub(first.(time.Time))
}

// Over notes that something is not so any more.
func (s *Since[K]) Over(key K) { s.first.Delete(key) }
