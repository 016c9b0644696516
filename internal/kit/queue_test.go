package kit

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

// All workers end when the queue shuts down, whether they are busy or idle. With earlier versions of the library, a
// worker could leave the queue locked (kubernetes-sigs/controller-runtime#3538).
func TestQueueShutsDown(t *testing.T) {
	for _, busy := range []bool{true, false} {
		for range 50 {
			q := priorityqueue.New[int]("shut-down")
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
				t.Fatal("some workers did not end")
			}
			if _, _, shutdown := q.GetWithPriority(); !shutdown || !q.ShuttingDown() {
				t.Fatal("the queue still gives requests")
			}
		}
	}
}
