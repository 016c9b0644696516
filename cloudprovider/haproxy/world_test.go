package haproxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/cloudprovider"
	"github.com/atoll-mcs/atoll/cloudprovider/conformance"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// folder creates a folder for a HAProxy.
func folder(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("runs HAProxy")
	}
	if _, err := Program(); err != nil {
		t.Skip("haproxy is missing: install it with: make host-programs")
	}
	dir, err := os.MkdirTemp("", "hap") // t.TempDir is too long for a socket path
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// container runs HAProxy like a separate container of a pod.
type container struct {
	*testing.T
	dir, program string
	running      *exec.Cmd // nil while the container is stopped
	ended        chan struct{}
}

// newContainer returns a stopped container. The cleanup stops it.
func newContainer(t *testing.T, dir string) *container {
	t.Helper()
	program, err := Program()
	if err != nil {
		t.Fatal(err)
	}
	c := &container{T: t, dir: dir, program: program}
	if err := os.WriteFile(c.first(), []byte(FirstConfiguration(dir)), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if c.running != nil {
			c.kill()
		}
		_ = os.Remove(c.first())
		_ = os.RemoveAll(dir)
	})
	return c
}

// first is a file beside the folder from which HAProxy reads the configurations.
func (c *container) first() string { return c.dir + ".first" }

func (c *container) start() {
	c.Helper()
	c.running = exec.Command(c.program, Arguments(c.dir, c.first())...)
	c.running.Stdout, c.running.Stderr = c.Output(), c.Output()
	c.running.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.running.Start(); err != nil {
		c.Fatal(err)
	}
	c.ended = make(chan struct{})
	go func() {
		defer close(c.ended)
		_ = c.running.Wait() // the process is killed
	}()
}

// await waits until HAProxy runs.
func (c *container) await() {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), loadTimeout)
	defer cancel()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for !(process{c.dir}).listens(ctx) {
		select {
		case <-ctx.Done():
			c.Fatal("HAProxy does not start")
		case <-tick.C:
		}
	}
}

// kill kills all processes of the container, as the end of its first process does.
func (c *container) kill() {
	c.signal(syscall.SIGKILL)
	<-c.ended
	c.running = nil
}

// signal sends a signal to all its processes.
func (c *container) signal(signal syscall.Signal) {
	_ = syscall.Kill(-c.running.Process.Pid, signal)
}

// world is a provider with its HAProxy, and the Services that a test forwards.
type world struct {
	*testing.T
	dir, addresses string
	options        map[string]string
	*Provider
	haproxy  *container
	mu       sync.Mutex
	services map[types.NamespacedName]cloudprovider.Service
	// told is called with the load balancers that the provider reports.
	told atomic.Pointer[func(types.NamespacedName)]
}

func (w *world) report(name types.NamespacedName) {
	if told := w.told.Load(); told != nil {
		(*told)(name)
	}
}

// newWorld starts HAProxy and a provider with these options.
func newWorld(t *testing.T, options ...string) *world {
	w := newWorldWithout(t, options...)
	w.haproxy.start()
	w.haproxy.await()
	return w
}

// newWorldWithout returns a world without a running HAProxy.
func newWorldWithout(t *testing.T, options ...string) *world {
	dir := folder(t)
	w := &world{
		T: t, dir: dir, haproxy: newContainer(t, dir), options: map[string]string{"dir": dir}, addresses: conformance.Loopback(t),
		services: map[types.NamespacedName]cloudprovider.Service{},
	}
	for _, option := range options {
		name, value, _ := strings.Cut(option, "=")
		w.options[name] = value
	}
	w.start()
	t.Cleanup(w.stop)
	return w
}

func (w *world) start() {
	w.Helper()
	p, err := New(cloudprovider.Config{
		Backends: w, Addresses: []string{w.addresses}, Options: w.options, Report: w.report, Log: slog.New(slog.NewTextHandler(w.Output(), nil)),
	})
	if err != nil {
		w.Fatal(err)
	}
	w.Provider = p.(*Provider)
}

func (w *world) stop() { _ = w.Close() }

func (w *world) Service(name types.NamespacedName) (cloudprovider.Service, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.services[name], nil
}

func mcs(name string) *networkingv1alpha1.MultiClusterService {
	m := &networkingv1alpha1.MultiClusterService{}
	m.Namespace, m.Name = "n", name
	return m
}

// apply forwards ports 8080 and up, each port to one of the servers, or all ports to all
// servers.
func (w *world) apply(m *networkingv1alpha1.MultiClusterService, affinity time.Duration, ports int, servers ...netip.AddrPort) error {
	w.Helper()
	s := cloudprovider.Service{Affinity: affinity}
	for i := range ports {
		port := cloudprovider.Port{Protocol: corev1.ProtocolTCP, Number: int32(8080 + i)}
		for _, a := range servers {
			port.Backends = append(port.Backends, cloudprovider.Backend{Address: a})
		}
		s.Ports = append(s.Ports, port)
	}
	return w.give(m, s)
}

// give makes a load balancer forward a Service.
func (w *world) give(m *networkingv1alpha1.MultiClusterService, s cloudprovider.Service) error {
	w.mu.Lock()
	w.services[cloudprovider.KeyOf(m)] = s
	w.mu.Unlock()
	status, err := w.EnsureMCSLoadBalancer(context.Background(), m)
	if status != nil {
		m.Status.LoadBalancer = *status
	}
	return err
}

// within is apply with a short timeout.
func (w *world) within(d time.Duration, m *networkingv1alpha1.MultiClusterService, ports int, server netip.AddrPort) error {
	w.mu.Lock()
	s := cloudprovider.Service{}
	for i := range ports {
		s.Ports = append(s.Ports, cloudprovider.Port{Protocol: "TCP", Number: int32(8080 + i), Backends: []cloudprovider.Backend{{Address: server}}})
	}
	w.services[cloudprovider.KeyOf(m)] = s
	w.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	status, err := w.EnsureMCSLoadBalancer(ctx, m)
	if status != nil {
		m.Status.LoadBalancer = *status
	}
	return err
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) serve(name string) netip.AddrPort {
	w.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	w.must(err)
	w.Cleanup(func() { _ = listener.Close() })
	go conformance.ServeTCP(listener, name)
	return listener.Addr().(*net.TCPAddr).AddrPort()
}

func connect(m *networkingv1alpha1.MultiClusterService) (net.Conn, string, error) {
	conn, err := net.DialTimeout("tcp", net.JoinHostPort(m.Status.LoadBalancer.Ingress[0].IP, "8080"), 5*time.Second)
	if err != nil {
		return nil, "", err
	}
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	line, err := bufio.NewReader(conn).ReadString('\n')
	return conn, line, err
}

func (w *world) ask(m *networkingv1alpha1.MultiClusterService) string {
	conn, line, err := connect(m)
	if err != nil {
		return err.Error()
	}
	_ = conn.Close()
	return line
}

// answers waits for a response of the load balancer.
func (w *world) answers(m string, want string) {
	w.Helper()
	web := mcs(m)
	w.eventually(fmt.Sprintf("%q at %s", want, m), func() error {
		status, there, err := w.GetMCSLoadBalancer(context.Background(), web)
		if err != nil || !there {
			return fmt.Errorf("no load balancer: %w", err)
		}
		web.Status.LoadBalancer = *status
		if got := w.ask(web); got != want+"\n" {
			return errors.New(got)
		}
		return nil
	})
}

func (w *world) eventually(what string, check func() error) {
	w.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(loadTimeout)
	for err := check(); err != nil; err = check() {
		select {
		case <-deadline:
			w.Fatalf("%s: %v", what, err)
		case <-tick.C:
		}
	}
}

// ends waits until clients are refused. The old worker still accepts clients until the reload
// has ended.
func (w *world) ends(what string, m *networkingv1alpha1.MultiClusterService) {
	w.Helper()
	w.eventually(what, func() error {
		if got := w.ask(m); !strings.Contains(got, "refused") {
			return errors.New(got)
		}
		return nil
	})
}

func echoes(conn net.Conn, text string) error {
	if _, err := fmt.Fprintln(conn, text); err != nil {
		return err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil || line != text+"\n" {
		return fmt.Errorf("got %q: %w", line, err)
	}
	return nil
}

// forwarded is a port of a Service with servers. Draining servers keep only their connections.
func forwarded(number int32, draining []netip.AddrPort, servers ...netip.AddrPort) cloudprovider.Service {
	port := cloudprovider.Port{Protocol: corev1.ProtocolTCP, Number: number}
	for _, a := range servers {
		port.Backends = append(port.Backends, cloudprovider.Backend{Address: a})
	}
	for _, a := range draining {
		port.Backends = append(port.Backends, cloudprovider.Backend{Address: a, Draining: true})
	}
	return cloudprovider.Service{Ports: []cloudprovider.Port{port}}
}

// refuse reserves a port that refuses connections until listen is called.
func (w *world) refuse() (at netip.AddrPort, listen func()) {
	w.Helper()
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	w.must(err)
	w.Cleanup(func() { _ = syscall.Close(socket) })
	w.must(syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	name, err := syscall.Getsockname(socket)
	w.must(err)
	bound := name.(*syscall.SockaddrInet4)
	return netip.AddrPortFrom(netip.AddrFrom4(bound.Addr), uint16(bound.Port)), func() {
		w.Helper()
		w.must(syscall.Listen(socket, 16)) // the kernel accepts connections, which is enough for health checks
	}
}

// firstLine returns the name of the server, and the first line that the server received:
// "PROXY" or "none".
func (w *world) firstLine(m *networkingv1alpha1.MultiClusterService) (name, first string) {
	w.Helper()
	conn, err := net.DialTimeout("tcp", net.JoinHostPort(m.Status.LoadBalancer.Ingress[0].IP, "8080"), 5*time.Second)
	w.must(err)
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	_, err = fmt.Fprintln(conn, "none")
	w.must(err)
	lines := bufio.NewScanner(conn) // the server sends its name and echoes its input
	for _, line := range []*string{&name, &first} {
		if !lines.Scan() {
			w.Fatalf("no line: %v", lines.Err())
		}
		*line, _, _ = strings.Cut(lines.Text(), " ")
	}
	return name, first
}
