package kit

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

// Workers that take requests as fast as they come all end when the queue is shut down, at whatever moment that is, and those
// that have nothing to do.
func TestQueueShutsDown(t *testing.T) {
	for _, busy := range []bool{true, false} {
		for range 200 {
			q := NewQueue[int]("shut-down", workqueue.DefaultTypedControllerRateLimiter[int]()).(priorityqueue.PriorityQueue[int])
			var workers sync.WaitGroup
			started := make(chan struct{}, 20)
			for range cap(started) {
				workers.Go(func() {
					started <- struct{}{}
					for {
						item, _, shutdown := q.GetWithPriority()
						if shutdown {
							return
						}
						if busy {
							q.Add(rand.Int())
						}
						q.Done(item)
					}
				})
			}
			for i := range cap(started) {
				<-started
				if busy {
					q.Add(i)
				}
			}
			q.ShutDown()
			ended := make(chan struct{})
			go func() { workers.Wait(); close(ended) }()
			select {
			case <-ended:
			case <-time.After(30 * time.Second):
				t.Fatal("workers wait for ever")
			}
			if _, _, shutdown := q.GetWithPriority(); !shutdown || !q.ShuttingDown() {
				t.Fatal("the queue goes on")
			}
		}
	}
}
