package kit

import (
	"context"
	"net/http"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// maxSilence is how long a watch may bring nothing. API servers send a bookmark every minute.
const maxSilence = 2 * time.Minute

// NewInformer returns an informer that does not trust a watch which brings neither an event nor a bookmark: it lists anew. A server that was restored from
// a backup brings nothing until it has reached the version that the watch goes on from. It is for cache.Options.NewInformer.
func NewInformer(from cache.ListerWatcher, of runtime.Object, resync time.Duration, indexers cache.Indexers) cache.SharedIndexInformer {
	lw := cache.ToListerWatcherWithContext(from)
	return cache.NewSharedIndexInformer(&cache.ListWatch{
		ListWithContextFunc: lw.ListWithContext,
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (apiwatch.Interface, error) {
			w, err := lw.WatchWithContext(ctx, options)
			if err != nil {
				return nil, err
			}
			return newHeard(w, maxSilence), nil
		},
	}, of, resync, indexers)
}

// heard is a watch that ends with an error when nothing is heard of it for a while.
type heard struct {
	apiwatch.Interface
	result chan apiwatch.Event
	once   sync.Once
	stop   chan struct{}
}

func newHeard(w apiwatch.Interface, silence time.Duration) *heard {
	h := &heard{Interface: w, result: make(chan apiwatch.Event), stop: make(chan struct{})}
	go h.run(silence)
	return h
}

// run hands over events.
func (h *heard) run(silence time.Duration) {
	defer close(h.result)
	defer h.Interface.Stop()
	timer := time.NewTimer(silence)
	defer timer.Stop()
	for {
		var e apiwatch.Event
		open := true
		select {
		case <-h.stop:
			return
		case <-timer.C:
			e = apiwatch.Event{Type: apiwatch.Error, Object: &metav1.Status{
				Status: metav1.StatusFailure, Code: http.StatusGone, Reason: metav1.StatusReasonExpired, Message: "the watch has been silent for too long",
			}}
			open = false
		case e, open = <-h.Interface.ResultChan():
			if !open {
				return
			}
		}
		select {
		case <-h.stop:
			return
		case h.result <- e:
		}
		if !open {
			return
		}
		timer.Reset(silence)
	}
}

// ResultChan implements watch.Interface.
func (h *heard) ResultChan() <-chan apiwatch.Event { return h.result }

// Stop implements watch.Interface.
func (h *heard) Stop() { h.once.Do(func() { close(h.stop) }) }
