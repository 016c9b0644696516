package lifecycle

import (
	"net/http"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiwatch "k8s.io/apimachinery/pkg/watch"
)

// maxSilence is how long a watch may be silent. API servers send a bookmark every minute. A server restored from a
// backup is silent until it reaches the watch's resource version.
const maxSilence = 2 * time.Minute

// watchdog is a watch that ends with an error after a silence.
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

// run forwards events.
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
				Status: metav1.StatusFailure, Code: http.StatusGone, Reason: metav1.StatusReasonExpired, Message: "the watch has delivered no events for too long",
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
