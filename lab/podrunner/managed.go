package podrunner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/atoll-mcs/atoll/lab/podrunner/internal/container"
	"github.com/atoll-mcs/atoll/lab/podrunner/internal/logfile"
	"github.com/atoll-mcs/atoll/lab/podrunner/internal/podspec"
	"github.com/atoll-mcs/atoll/lab/podrunner/internal/podstatus"
)

// managed is a container of a worker's Pod.
type managed struct {
	podstatus.Container
	run  *instance // nil when it does not run
	ends int       // in a row, see podstatus.Backoff
}

// instance is one run of a container.
type instance struct {
	worker   *worker
	sandbox  *sandbox
	spec     corev1.Container
	env      map[string]string
	attempt  int32
	began    time.Time
	process  *container.Process
	log      *logfile.Log
	attached *attached
	stopper  *stopper // nil until it is to end
	ctx      context.Context
	cancel   context.CancelFunc // of ctx, at the run's end
}

// containerView is what the kubelet's API serves of a container.
type containerView struct {
	logPath  string // of the latest run
	previous string // of the run before
	run      *instance
	waiting  string // why there is no run yet
}

func (c *managed) view(w *worker) containerView {
	v := containerView{run: c.run}
	latest := c.Restarts
	if c.State.Waiting != nil && c.Last.Terminated == nil {
		v.waiting = c.State.Waiting.Reason
	}
	v.logPath = w.logPath(c.Name, latest)
	if latest > 0 {
		v.previous = w.logPath(c.Name, latest-1)
	}
	return v
}

func (w *worker) logPath(name string, attempt int32) string {
	return filepath.Join(w.runner.cfg.logsDir(), string(w.uid), name, fmt.Sprintf("%d.log", attempt))
}

// containerSpec finds the Pod's specification of a container.
func (w *worker) containerSpec(name string) (corev1.Container, bool) {
	for _, c := range w.pod.Spec.InitContainers {
		if c.Name == name {
			return c, true
		}
	}
	for _, c := range w.pod.Spec.Containers {
		if c.Name == name {
			return c, true
		}
	}
	for _, c := range w.pod.Spec.EphemeralContainers {
		if c.Name == name {
			return corev1.Container(c.EphemeralContainerCommon), true
		}
	}
	return corev1.Container{}, false
}

// start runs a container, or notes why that is impossible.
func (w *worker) start(ctx context.Context, c *managed) {
	spec, ok := w.containerSpec(c.Name)
	if !ok {
		return
	}
	c.Image = spec.Image
	c.NotBefore = time.Time{}
	env, err := podspec.Env(w.pod, &spec, w.place(), w.runner.objects.in(w.namespace), w.baseEnv(&spec), w.serviceEnv())
	if err != nil {
		w.hold(c, "CreateContainerConfigError", err)
		return
	}
	command, err := podspec.Command(&spec, w.runner.cfg.Images, env)
	if err != nil {
		w.hold(c, "ErrImagePull", err)
		return
	}
	run := &instance{worker: w, sandbox: w.sandbox, spec: spec, env: env, attempt: c.Attempt(), began: time.Now(), attached: &attached{}}
	if err := run.launch(ctx, command); err != nil {
		var cannot *container.StartError
		if errors.As(err, &cannot) {
			w.event(corev1.EventTypeWarning, "Failed", "Error: %v", err)
			c.CannotStart(run.id(), err.Error(), time.Now())
			w.backOff(c, 0)
			return
		}
		w.hold(c, "CreateContainerError", err)
		c.NotBefore = time.Now().Add(retryTime)
		return
	}
	c.run = run
	c.Begin(run.id(), run.began)
	w.event(corev1.EventTypeNormal, "Started", "Started container %s", c.Name)
	w.watch(c, run)
}

// hold notes why a container cannot be started, once.
func (w *worker) hold(c *managed, reason string, err error) {
	if s := c.State.Waiting; s == nil || s.Reason != reason || s.Message != err.Error() {
		w.event(corev1.EventTypeWarning, "Failed", "Error: %s: %v", reason, err)
	}
	c.Hold(reason, err.Error())
}

// backOff sets when a container that ended may start again.
func (w *worker) backOff(c *managed, ran time.Duration) {
	var wait time.Duration
	wait, c.ends = podstatus.Backoff(c.ends, ran)
	c.NotBefore = time.Now().Add(wait)
}

// holdBack notes that a container that keeps ending is not started again yet.
func (w *worker) holdBack(c *managed) {
	if !c.CrashLooping() || c.State.Waiting != nil {
		return
	}
	wait := time.Until(c.NotBefore).Round(time.Second)
	w.event(corev1.EventTypeWarning, "BackOff", "Back-off restarting failed container %s in pod %s", c.Name, w.name)
	c.Hold("CrashLoopBackOff", fmt.Sprintf("back-off %s restarting failed container=%s pod=%s_%s(%s)", wait, c.Name, w.name, w.namespace, w.uid))
}

func (i *instance) id() string {
	return fmt.Sprintf("atoll://%s-%s-%d", i.worker.uid, i.spec.Name, i.attempt)
}

func (i *instance) dir() string {
	return filepath.Join(i.worker.dir, "containers", fmt.Sprintf("%s-%d", i.spec.Name, i.attempt))
}

// launch makes the container's folder and log and starts its process.
func (i *instance) launch(ctx context.Context, command []string) error {
	w := i.worker
	if err := os.MkdirAll(i.dir(), 0o755); err != nil {
		return err
	}
	mounts, err := w.mounts(i)
	if err != nil {
		return err
	}
	path := w.logPath(i.spec.Name, i.attempt)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if i.attempt > 1 { // kubectl logs -p reaches one run back
		_ = os.Remove(w.logPath(i.spec.Name, i.attempt-2))
		_ = os.Remove(w.logPath(i.spec.Name, i.attempt-2) + ".1")
	}
	if i.log, err = logfile.Create(path); err != nil {
		return err
	}
	hostname, _ := w.hostname()
	i.process, err = container.Start(w.runner.cfg.InitCommand, i.sandbox.namespace, container.Spec{
		Dir: i.dir(), Hostname: hostname, Mounts: mounts, Hide: []string{w.runner.cfg.StateDir},
		Programs: w.runner.programs(), Args: command, Env: podspec.List(i.env), WorkDir: i.spec.WorkingDir, User: user(w.pod, &i.spec),
		ReadOnlyRoot: readOnlyRoot(&i.spec), Stdin: i.spec.Stdin, TTY: i.spec.TTY,
	})
	if err != nil {
		_ = i.log.Close()
		return err
	}
	i.ctx, i.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return nil
}

// watch copies the container's output and tells the worker when it has ended.
func (w *worker) watch(c *managed, run *instance) {
	var copying sync.WaitGroup
	if p := run.process; p.Terminal != nil {
		copying.Go(func() { run.log.Copy(logfile.Stdout, p.Terminal, run.attached.stdout) })
	} else {
		copying.Go(func() { run.log.Copy(logfile.Stdout, p.Stdout, run.attached.stdout) })
		copying.Go(func() { run.log.Copy(logfile.Stderr, p.Stderr, run.attached.stderr) })
	}
	go func() {
		<-run.process.Done()
		copying.Wait()
		run.cancel()
		run.attached.end()
		run.process.Close()
		_ = run.log.Close()
		w.mail.post(func() { w.ended(c, run) })
	}()
	go w.bringUp(c, run)
}

// ended notes the end of a run.
func (w *worker) ended(c *managed, run *instance) {
	c.run = nil
	c.Ended(run.process.ExitCode(), run.terminationMessage(), time.Now())
	w.backOff(c, time.Since(run.began))
	if err := removeTree(run.dir()); err != nil {
		w.log.Warn("removing container", "container", c.Name, "error", err)
	}
}
