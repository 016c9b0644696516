package podrunner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/atoll-mcs/atoll/lab/podrunner/internal/container"
	"github.com/atoll-mcs/atoll/lab/podrunner/internal/probe"
)

// bringUp runs what follows a container's start: postStart hook, startup probe,
// then the other probes.
func (w *worker) bringUp(c *managed, run *instance) {
	if l := run.spec.Lifecycle; l != nil && l.PostStart != nil {
		if err := run.handle(run.ctx, l.PostStart); err != nil {
			if run.ctx.Err() == nil {
				w.event(corev1.EventTypeWarning, "FailedPostStartHook", "PostStartHook failed: %v", err)
				run.post(c, func() { c.stop(w.grace()) })
			}
			return
		}
	}
	if p := run.spec.StartupProbe; p != nil {
		probing, stop := context.WithCancel(run.ctx)
		defer stop()
		probe.Run(probing, p, false, run.check(p), func(err error) {
			if err == nil {
				w.started(c, run)
				stop()
				return
			}
			w.unwell(c, run, "Startup", p, err)
		})
		return
	}
	w.started(c, run)
}

// started notes that a container is up and begins its other probes.
func (w *worker) started(c *managed, run *instance) {
	readiness, liveness := run.spec.ReadinessProbe, run.spec.LivenessProbe
	run.post(c, func() {
		c.Started = true
		c.Ready = readiness == nil
	})
	if readiness != nil {
		go probe.Run(run.ctx, readiness, true, run.check(readiness), func(err error) {
			if err != nil {
				w.event(corev1.EventTypeWarning, "Unhealthy", "Readiness probe failed: %v", err)
			}
			run.post(c, func() { c.Ready = err == nil })
		})
	}
	if liveness != nil {
		go probe.Run(run.ctx, liveness, false, run.check(liveness), func(err error) {
			if err != nil {
				w.unwell(c, run, "Liveness", liveness, err)
			}
		})
	}
}

// unwell ends a container that a probe finds dead; by its restart policy it is
// started again.
func (w *worker) unwell(c *managed, run *instance, kind string, p *corev1.Probe, err error) {
	run.post(c, func() {
		if run.stopper != nil || !w.killAt.IsZero() {
			return // on its way already
		}
		w.event(corev1.EventTypeWarning, "Unhealthy", "%s probe failed: %v", kind, err)
		w.event(corev1.EventTypeNormal, "Killing", "Container %s failed %s probe, will be restarted", c.Name, strings.ToLower(kind))
		grace := w.grace()
		if p.TerminationGracePeriodSeconds != nil {
			grace = time.Duration(*p.TerminationGracePeriodSeconds) * time.Second
		}
		c.stop(grace)
	})
}

// post calls f in the worker's goroutine if the run has not ended by then.
func (i *instance) post(c *managed, f func()) {
	i.worker.mail.post(func() {
		if c.run == i {
			f()
		}
	})
}

func (i *instance) target() probe.Target {
	return probe.Target{Host: i.sandbox.ips[0], Ports: i.spec.Ports, Dial: i.sandbox.namespace.DialContext}
}

// check makes a probe's check.
func (i *instance) check(p *corev1.Probe) probe.Check {
	return func(ctx context.Context) error {
		switch {
		case p.Exec != nil:
			return i.execute(ctx, p.Exec.Command)
		case p.HTTPGet != nil:
			return i.target().HTTPGet(ctx, p.HTTPGet)
		case p.TCPSocket != nil:
			return i.target().TCP(ctx, p.TCPSocket)
		case p.GRPC != nil:
			return i.target().GRPC(ctx, p.GRPC)
		}
		return errors.New("probe without an action")
	}
}

// handle runs a lifecycle hook.
func (i *instance) handle(ctx context.Context, h *corev1.LifecycleHandler) error {
	switch {
	case h.Exec != nil:
		return i.execute(ctx, h.Exec.Command)
	case h.HTTPGet != nil:
		return i.target().HTTPGet(ctx, h.HTTPGet)
	case h.Sleep != nil:
		timer := time.NewTimer(time.Duration(h.Sleep.Seconds) * time.Second)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	return nil
}

// execute runs a command in the container; its output tells what is wrong.
func (i *instance) execute(ctx context.Context, command []string) error {
	var out limitedBuffer
	code, err := i.process.Exec(ctx, container.Exec{Args: command, Stdout: &out, Stderr: &out})
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("command %q: %w", command, ctx.Err())
	case err != nil:
		return err
	case code != 0:
		return fmt.Errorf("command %q: exit code %d: %s", command, code, bytes.TrimSpace(out.kept))
	}
	return nil
}

// limitedBuffer keeps the first bytes that are written to it. os/exec uses one
// goroutine for two equal writers.
type limitedBuffer struct{ kept []byte }

func (b *limitedBuffer) Write(p []byte) (int, error) {
	b.kept = append(b.kept, p[:min(len(p), 10<<10-len(b.kept))]...)
	return len(p), nil
}
