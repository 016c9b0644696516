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
			return newWatchdog(w, maxSilence), nil
		},
	}, of, resync, indexers)
}

// watchdog is a watch that ends with an error when it brings nothing for a while.
type watchdog struct {
	apiwatch.Interface
	result chan apiwatch.Event
	once   sync.Once
	stop   chan struct{}
}

func newWatchdog(w apiwatch.Interface, silence time.Duration) *watchdog {
	h := &watchdog{Interface: w, result: make(chan apiwatch.Event), stop: make(chan struct{})}
	go h.run(silence)
	return h
}

// run hands over events.
func (h *watchdog) run(silence time.Duration) {
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
func (h *watchdog) ResultChan() <-chan apiwatch.Event { return h.result }

// Stop implements watch.Interface.
func (h *watchdog) Stop() { h.once.Do(func() { close(h.stop) }) }
