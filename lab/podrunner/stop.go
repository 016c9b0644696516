package podrunner

import (
	"context"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
)

// hookRest is what a container has left to end by itself when its preStop hook
// has used up the grace period, as with the kubelet.
const hookRest = 2 * time.Second

// stopper ends a container. Its time can be cut short.
type stopper struct {
	deadline time.Time
	sooner   chan time.Time
}

// stop makes the container end: preStop hook, SIGTERM, and SIGKILL when grace is
// over. Called again it can only shorten that.
func (c *managed) stop(grace time.Duration) {
	run := c.run
	if run == nil {
		return
	}
	if grace <= 0 {
		run.process.Kill()
		return
	}
	deadline := time.Now().Add(grace)
	if run.stopper == nil {
		run.stopper = &stopper{deadline: deadline, sooner: make(chan time.Time, 1)}
		go run.end(run.stopper, deadline)
		return
	}
	if s := run.stopper; deadline.Before(s.deadline.Add(-100 * time.Millisecond)) {
		s.deadline = deadline
		select {
		case <-s.sooner: // replaced
		default:
		}
		s.sooner <- deadline
	}
}

// end is the goroutine of a stopper.
func (i *instance) end(s *stopper, deadline time.Time) {
	kill := time.NewTimer(time.Until(deadline))
	defer kill.Stop()
	hook := i.preStop(deadline)
	if hook == nil {
		_ = i.process.Signal(i.stopSignal())
	}
	for {
		select {
		case <-i.process.Done():
			return
		case sooner := <-s.sooner:
			deadline = sooner
			kill.Reset(time.Until(deadline))
		case <-hook: // never ready when nil
			hook = nil
			_ = i.process.Signal(i.stopSignal())
			kill.Reset(max(time.Until(deadline), hookRest))
		case <-kill.C:
			if hook == nil {
				i.process.Kill()
				return
			}
			hook = nil
			_ = i.process.Signal(i.stopSignal())
			kill.Reset(hookRest)
		}
	}
}

// preStop starts the container's hook, if it has one, and returns a channel that
// is closed at its end.
func (i *instance) preStop(deadline time.Time) <-chan struct{} {
	if i.spec.Lifecycle == nil || i.spec.Lifecycle.PreStop == nil {
		return nil
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		ctx, cancel := context.WithDeadline(i.ctx, deadline)
		defer cancel()
		if err := i.handle(ctx, i.spec.Lifecycle.PreStop); err != nil && i.ctx.Err() == nil {
			i.worker.event(corev1.EventTypeWarning, "FailedPreStopHook", "PreStopHook failed: %v", err)
		}
	}()
	return done
}

func (i *instance) stopSignal() syscall.Signal {
	if i.spec.Lifecycle != nil && i.spec.Lifecycle.StopSignal != nil {
		if s := unix.SignalNum(string(*i.spec.Lifecycle.StopSignal)); s != 0 {
			return s
		}
	}
	return syscall.SIGTERM
}
