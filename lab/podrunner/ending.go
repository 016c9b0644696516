package podrunner

import (
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/atoll-mcs/atoll/lab/podrunner/internal/podstatus"
)

// finish ends the Pod within grace, then reports its end, and deletes it if that
// was asked for. The API says when it is gone.
func (w *worker) finish(grace time.Duration) {
	w.end(grace)
	if w.running() {
		w.report(false)
		return
	}
	w.facts.Ended = true
	w.clear()
	w.report(w.pod.DeletionTimestamp != nil)
}

// end makes all containers end within grace: the main ones first, then those
// that accompany them. A shorter grace replaces a longer one.
func (w *worker) end(grace time.Duration) {
	if w.killAt.IsZero() {
		for _, c := range w.containers {
			if c.run != nil {
				w.event(corev1.EventTypeNormal, "Killing", "Stopping container %s", c.Name)
			}
		}
	}
	if at := time.Now().Add(grace); w.killAt.IsZero() || at.Before(w.killAt) {
		w.killAt = at
	}
	rest := max(time.Until(w.killAt), 0)
	if grace == 0 {
		rest = 0
	}
	others := false
	for _, c := range w.containers {
		if c.Kind != podstatus.Sidecar && c.run != nil {
			others = true
			c.stop(rest)
		}
	}
	for _, c := range slices.Backward(w.containers) {
		if c.Kind == podstatus.Sidecar && c.run != nil && (!others || rest == 0) {
			c.stop(rest)
		}
	}
}

func (w *worker) running() bool {
	return slices.ContainsFunc(w.containers, func(c *managed) bool { return c.run != nil })
}

func (w *worker) grace() time.Duration {
	if s := w.pod.Spec.TerminationGracePeriodSeconds; s != nil {
		return time.Duration(*s) * time.Second
	}
	return corev1.DefaultTerminationGracePeriodSeconds * time.Second
}

// deadline is when the Pod is active for too long; zero means never.
func (w *worker) deadline() time.Time {
	if s := w.pod.Spec.ActiveDeadlineSeconds; s != nil {
		return w.facts.StartTime.Add(time.Duration(*s) * time.Second)
	}
	return time.Time{}
}

// shutDown ends the Pod's processes quickly, without a word to the API.
func (w *worker) shutDown() {
	for {
		w.mail.run()
		w.end(shutdownGrace)
		if !w.running() {
			break
		}
		<-w.mail.wake
	}
	w.clear()
}

// clear removes what was made on the host, but the logs.
func (w *worker) clear() {
	w.facts.NetworkReady = false
	var err error
	if w.sandbox != nil {
		err = w.sandbox.release()
		w.sandbox = nil
	}
	if err := errors.Join(err, removeTree(w.dir)); err != nil {
		w.log.Warn("clearing away", "error", err)
	}
}
