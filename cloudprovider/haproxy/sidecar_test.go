package haproxy

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/cloudprovider"
)

// container has HAProxy run as its own container in a pod does.
type container struct {
	*testing.T
	dir, program string
	running      *exec.Cmd // nil while it is not
	ended        chan struct{}
}

// newContainer returns one that is not running yet. It ends with the test.
func newContainer(t *testing.T, dir string) *container {
	t.Helper()
	program, err := lookUp("")
	if err != nil {
		t.Fatal(err)
	}
	c := &container{T: t, dir: dir, program: program}
	if err := os.WriteFile(c.first(), []byte(SidecarConfiguration(dir)), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if c.running != nil {
			c.kill()
		}
		_ = os.Remove(c.first())
	})
	return c
}

// first is a file beside the folder, which HAProxy reads the configurations of.
func (c *container) first() string { return c.dir + ".first" }

func (c *container) start() {
	c.Helper()
	c.running = exec.Command(c.program, SidecarArguments(c.dir, c.first())...)
	c.running.Stdout, c.running.Stderr = c.Output(), c.Output()
	c.running.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.running.Start(); err != nil {
		c.Fatal(err)
	}
	c.ended = make(chan struct{})
	go func() {
		defer close(c.ended)
		_ = c.running.Wait() // it is killed
	}()
}

// await returns when it runs.
func (c *container) await() {
	c.Helper()
	p := &process{dir: c.dir, folder: c.dir, sidecar: true}
	tick := time.NewTicker(askInterval)
	defer tick.Stop()
	for deadline := time.After(loadTimeout); !p.answers(c.Context()); {
		select {
		case <-deadline:
			c.Fatal("HAProxy does not start")
		case <-tick.C:
		}
	}
}

// kill ends all its processes, as that of a container's first one does.
func (c *container) kill() {
	_ = syscall.Kill(-c.running.Process.Pid, syscall.SIGKILL)
	<-c.ended
	c.running = nil
}

func sidecar(dir string) map[string]string {
	return map[string]string{"dir": dir, "sidecar": "true"}
}

func TestConformanceOfASidecar(t *testing.T) {
	conform(t, sidecar, func(t *testing.T, dir string) {
		c := newContainer(t, dir)
		c.start()
		c.await()
	})
}

// answers waits for an answer.
func (w *world) answers(m string, want string) {
	w.Helper()
	web := mcs(m)
	w.eventually(fmt.Sprintf("%q at %s", want, m), func() error {
		status, there, err := w.GetMCSLoadBalancer(context.Background(), web)
		if err != nil || !there {
			return fmt.Errorf("there is none: %w", err)
		}
		web.Status.LoadBalancer = *status
		if got := w.ask(web); got != want+"\n" {
			return errors.New(got)
		}
		return nil
	})
}

// The container of HAProxy may begin after the hub's, end and begin again, with what it carried last; what has changed
// meanwhile it is told then. While it does not run, who wants a load balancer is told, and who wants none has none when it runs again.
func TestSidecarEndsAndBegins(t *testing.T) {
	dir := folder(t)
	c := newContainer(t, dir)
	w := newWorldWith(t, dir, sidecar(dir))
	web, other := mcs("web"), mcs("other")
	a, b := w.serve("a"), w.serve("b")
	if err := w.apply(web, 0, 1, a); !errors.Is(err, errNotRunning) || len(web.Status.LoadBalancer.Ingress) > 0 {
		t.Errorf("before it runs: %v, %v", err, web.Status.LoadBalancer)
	}
	c.start()
	w.answers("web", "a")
	w.must(w.apply(web, 0, 1, a))
	w.must(w.apply(other, 0, 1, a))

	told := make(chan string, 100)
	defer w.OnReport(func(name types.NamespacedName) { told <- name.Name })()
	c.kill()
	for range 2 {
		select {
		case <-told:
		case <-time.After(loadTimeout):
			t.Fatal("nobody is told that HAProxy does not run")
		}
	}
	before := web.Status.LoadBalancer.DeepCopy()
	if err := w.apply(web, 0, 1, b); !errors.Is(err, errNotRunning) || len(web.Status.LoadBalancer.Ingress) != 1 ||
		web.Status.LoadBalancer.Ingress[0].IP != before.Ingress[0].IP {
		t.Errorf("while it does not run: %v, %v", err, web.Status.LoadBalancer)
	}
	w.must(w.EnsureMCSLoadBalancerDeleted(context.Background(), other))
	c.start()
	w.answers("web", "b")
	if got := w.ask(other); got == "a\n" {
		t.Error("one that was deleted while HAProxy did not run answers")
	}

	// By itself: what it has read is older than what it was told since.
	w.must(w.apply(web, 0, 1, a))
	c.kill()
	c.start()
	w.answers("web", "a")
}

// The hub's container ends and begins again while HAProxy runs: no connection ends, and HAProxy stays.
func TestSidecarOutlivesTheHub(t *testing.T) {
	dir := folder(t)
	c := newContainer(t, dir)
	c.start()
	w := newWorldWith(t, dir, sidecar(dir))
	web := mcs("web")
	a, b := w.serve("a"), w.serve("b")
	w.answersTo(web, a)
	c.await()
	conn, _, err := connect(web)
	w.must(err)
	defer conn.Close()
	pid := c.running.Process.Pid
	w.stop()
	if got := w.ask(web); got != "a\n" {
		t.Errorf("without a hub: %s", got)
	}
	w.start()
	w.must(w.apply(web, 0, 1, b))
	w.answers("web", "b")
	w.must(echoes(conn, "still there"))
	if now, err := w.process.pid(context.Background()); err != nil || now != pid {
		t.Errorf("HAProxy was process %d, and is %d: %v", pid, now, err)
	}
	w.must(w.EnsureMCSLoadBalancerDeleted(context.Background(), web))
	w.ends("after it was deleted", web)
	if now, err := w.process.pid(context.Background()); err != nil || now != pid {
		t.Errorf("with nothing to carry HAProxy is process %d: %v", now, err)
	}
}

// answersTo makes a load balancer as soon as HAProxy runs.
func (w *world) answersTo(m *networkingv1alpha1.MultiClusterService, server netip.AddrPort) {
	w.Helper()
	w.eventually("HAProxy runs", func() error { return w.apply(m, 0, 1, server) })
}

func TestSidecarOptions(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct {
		options map[string]string
		want    string
	}{
		{map[string]string{"sidecar": "yes"}, "neither true nor false"},
		{map[string]string{"sidecar": "true", "program": "haproxy"}, "own container"},
	} {
		tt.options["dir"] = filepath.Join(dir, "x")
		if _, err := New(cloudprovider.Config{Options: tt.options}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: %v", tt.options, err)
		}
	}
}
