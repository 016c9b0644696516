package kit

import (
	"math"
	"sync"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

// endingQueue is controller-runtime's priority queue, but that it can be shut down while its workers wait for requests. In the
// version that Atoll needs a worker that gives up waiting at that moment may leave the queue locked for ever, so that
// the process ends half a minute late and with an error (kubernetes-sigs/controller-runtime#3538, mended in a version for
// a later Kubernetes). So here all workers go with a request in hand, one after the other, and the queue below last.
type endingQueue[T comparable] struct {
	priorityqueue.PriorityQueue[T]

	mu      sync.Mutex
	waiting int // workers
	ended   bool
}

// NewQueue returns a queue whose ShutDown always ends its workers. It is the NewQueue of a controller's options.
func NewQueue[T comparable](name string, limiter workqueue.TypedRateLimiter[T]) workqueue.TypedRateLimitingInterface[T] {
	return &endingQueue[T]{PriorityQueue: priorityqueue.New(name, func(o *priorityqueue.Opts[T]) { o.RateLimiter = limiter })}
}

// GetWithPriority waits for a request, or for the end.
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

// Get is GetWithPriority for those that the priority does not concern.
func (q *endingQueue[T]) Get() (item T, shutdown bool) {
	item, _, shutdown = q.GetWithPriority()
	return item, shutdown
}

// ShutDown has workers get nothing more.
func (q *endingQueue[T]) ShutDown() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.ended {
		q.ended = true
		q.dismiss()
	}
}

// ShutDownWithDrain is ShutDown, as it is in controller-runtime's.
func (q *endingQueue[T]) ShutDownWithDrain() { q.ShutDown() }

// ShuttingDown tells whether workers get nothing more.
func (q *endingQueue[T]) ShuttingDown() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.ended
}

// dismiss has the next of the waiting workers go, or ends the queue when there are none. q.mu is held.
func (q *endingQueue[T]) dismiss() {
	if q.waiting == 0 {
		q.PriorityQueue.ShutDown()
		return
	}
	var any T // which nobody acts on
	q.AddWithOpts(priorityqueue.AddOpts{Priority: ptr.To(math.MaxInt)}, any)
}
