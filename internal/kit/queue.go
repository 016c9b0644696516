package kit

import (
	"math"
	"sync"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

// endingQueue is controller-runtime's priority queue with a reliable shutdown. In our version, a worker that stops
// waiting during the shutdown may leave the queue locked forever: the process then ends half a minute late with an
// error (kubernetes-sigs/controller-runtime#3538, fixed in a version for a later Kubernetes). Therefore each worker
// first gets a dummy request, one after another, and the underlying queue shuts down last.
type endingQueue[T comparable] struct {
	priorityqueue.PriorityQueue[T]

	mu      sync.Mutex
	waiting int // number of workers
	ended   bool
}

// NewQueue returns a queue whose ShutDown always ends its workers. Use it as a controller's NewQueue option.
func NewQueue[T comparable](name string, limiter workqueue.TypedRateLimiter[T]) workqueue.TypedRateLimitingInterface[T] {
	return &endingQueue[T]{PriorityQueue: priorityqueue.New(name, func(o *priorityqueue.Opts[T]) { o.RateLimiter = limiter })}
}

// GetWithPriority waits for a request or the shutdown.
func (q *endingQueue[T]) GetWithPriority() (item T, priority int, shutdown bool) {
	q.mu.Lock()
	if q.ended {
		q.mu.Unlock()
		return item, 0, true
	}
	q.waiting++
	q.mu.Unlock()
	got, priority, _ := q.PriorityQueue.GetWithPriority()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting--
	if !q.ended {
		return got, priority, false
	}
	q.PriorityQueue.Done(got)
	q.dismiss()
	return item, 0, true
}

// Get is GetWithPriority without the priority.
func (q *endingQueue[T]) Get() (item T, shutdown bool) {
	item, _, shutdown = q.GetWithPriority()
	return item, shutdown
}

// ShutDown stops giving requests to workers.
func (q *endingQueue[T]) ShutDown() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.ended {
		q.ended = true
		q.dismiss()
	}
}

// ShutDownWithDrain is ShutDown, as in controller-runtime.
func (q *endingQueue[T]) ShutDownWithDrain() { q.ShutDown() }

// ShuttingDown reports whether ShutDown was called.
func (q *endingQueue[T]) ShuttingDown() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.ended
}

// dismiss ends the next waiting worker, or the queue if there are none. The caller holds q.mu.
func (q *endingQueue[T]) dismiss() {
	if q.waiting == 0 {
		q.PriorityQueue.ShutDown()
		return
	}
	var any T // ignored
	q.AddWithOpts(priorityqueue.AddOpts{Priority: ptr.To(math.MaxInt)}, any)
}
