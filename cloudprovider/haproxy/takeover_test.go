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
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/cloudprovider"
	"github.com/atoll-mcs/atoll/cloudprovider/conformance"
)

// world is a provider with its HAProxy, and what a test has it forward.
type world struct {
	*testing.T
	dir, addresses string
	options        map[string]string
	*Provider
	mu       sync.Mutex
	services map[types.NamespacedName]cloudprovider.Service
	unknown  error // what there is instead
}

func newWorld(t *testing.T) *world {
	dir := folder(t)
	return newWorldWith(t, dir, map[string]string{"dir": dir})
}

func newWorldWith(t *testing.T, dir string, options map[string]string) *world {
	w := &world{T: t, dir: dir, options: options, addresses: conformance.Loopback(t), services: map[types.NamespacedName]cloudprovider.Service{}}
	w.start()
	t.Cleanup(w.stop)
	return w
}

func (w *world) start() {
	w.Helper()
	p, err := New(cloudprovider.Config{
		Backends: w, Addresses: []string{w.addresses}, Options: w.options, Log: slog.New(slog.NewTextHandler(w.Output(), nil)),
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
	return w.services[name], w.unknown
}

func (w *world) OnChange(func(types.NamespacedName)) func() { return func() {} }

func mcs(name string) *networkingv1alpha1.MultiClusterService {
	m := &networkingv1alpha1.MultiClusterService{}
	m.Namespace, m.Name = "n", name
	return m
}

// apply forwards ports 8080 and up to the servers, each port to one, or to all of them.
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

// give has a load balancer forward a Service.
func (w *world) give(m *networkingv1alpha1.MultiClusterService, s cloudprovider.Service) error {
	w.mu.Lock()
	w.services[nameOf(m)] = s
	w.mu.Unlock()
	status, err := w.EnsureMCSLoadBalancer(context.Background(), m)
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
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				fmt.Fprintln(conn, name)
				for lines := bufio.NewScanner(conn); lines.Scan(); {
					fmt.Fprintln(conn, lines.Text())
				}
			}()
		}
	}()
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

func (w *world) eventually(what string, check func() error) {
	w.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(15 * time.Second)
	for err := check(); err != nil; err = check() {
		select {
		case <-deadline:
			w.Fatalf("%s: %v", what, err)
		case <-tick.C:
		}
	}
}

// ends waits until clients are refused: the worker of before a reload does so until it is told to end.
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

// The hub ends, its backends change meanwhile, and another hub takes over, which makes a load balancer more. No request is
// lost, no connection ends, and nobody starts another HAProxy.
func TestTakeover(t *testing.T) {
	w := newWorld(t)
	web, old, more := mcs("web"), mcs("old"), mcs("more")
	a, b := w.serve("a"), w.serve("b")
	w.must(w.apply(web, 0, 1, a))
	w.must(w.apply(old, 0, 1, a))
	conn, _, err := connect(web)
	w.must(err)
	defer conn.Close()
	pid, err := w.process.pid(context.Background())
	w.must(err)

	done, clients := make(chan struct{}), sync.WaitGroup{}
	var answered int
	var lost []error
	here := web.DeepCopy()
	clients.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			if c, _, err := connect(here); err != nil {
				lost = append(lost, err)
			} else {
				answered++
				_ = c.Close()
			}
		}
	})
	w.stop()
	if got := w.ask(web); got != "a\n" {
		t.Errorf("without a hub: %s", got)
	}
	w.start()
	if got := w.LoadBalancers(); len(got) != 2 || !slices.Contains(got, nameOf(old)) {
		t.Errorf("the next hub finds %v", got)
	}
	// What it does first concerns another one.
	w.must(w.apply(more, 0, 1, b))
	w.must(w.apply(web, 0, 1, b))
	w.answers("web", "b")
	w.must(w.EnsureMCSLoadBalancerDeleted(context.Background(), old))
	w.ends("a load balancer that was deleted", old)
	close(done)
	clients.Wait()
	t.Logf("%d requests while one hub ended and another took over, %d lost", answered, len(lost))
	if len(lost) > 0 || answered == 0 {
		t.Errorf("%d requests were lost, of %d; the first with: %v", len(lost), answered, lost[0])
	}
	if err := echoes(conn, "still there"); err != nil {
		t.Errorf("a connection that was there before: %v", err)
	}
	if now, err := w.process.pid(context.Background()); err != nil || now != pid {
		t.Errorf("HAProxy was process %d, and is %d: %v", pid, now, err)
	}
}

// A hub may end after it has noted a change, and before HAProxy knows of it: the next one tells. It knows, too, which
// backends do not answer.
func TestWhatHAProxyWasNotTold(t *testing.T) {
	w := newWorld(t)
	web := mcs("web")
	a, b, dead := w.serve("a"), w.serve("b"), netip.MustParseAddrPort("127.0.0.1:1")
	w.must(w.apply(web, 0, 1, a, dead))
	w.eventually("one is unreachable", func() error {
		if got := w.Unreachable(nameOf(web)); !slices.Equal(got, []netip.AddrPort{dead}) {
			return fmt.Errorf("unreachable: %v", got)
		}
		return nil
	})
	w.stop()
	file := w.memory(nameOf(web))
	noted, err := os.ReadFile(file)
	w.must(err)
	w.must(os.WriteFile(file, []byte(strings.ReplaceAll(string(noted), a.String(), b.String())), 0o600))
	w.start()
	w.must(w.apply(web, 0, 1, b, dead))
	if got := w.Unreachable(nameOf(web)); !slices.Equal(got, []netip.AddrPort{dead}) {
		t.Errorf("unreachable: %v", got)
	}
	w.answers("web", "b") // HAProxy was not told of it
}

func TestHAProxyDies(t *testing.T) {
	w := newWorld(t)
	web := mcs("web")
	w.must(w.apply(web, 0, 1, w.serve("a")))
	before := web.Status.LoadBalancer.Ingress[0].IP
	pid, err := w.process.pid(context.Background())
	w.must(err)
	w.must(syscall.Kill(pid, syscall.SIGKILL))
	w.eventually("another HAProxy", func() error {
		w.applying <- struct{}{}
		defer func() { <-w.applying }()
		if now, err := w.process.pid(context.Background()); err != nil || now == pid {
			return fmt.Errorf("process %d: %w", now, err)
		}
		return nil
	})
	w.eventually("its answer", func() error {
		if got := w.ask(web); got != "a\n" {
			return errors.New(got)
		}
		return nil
	})
	b := w.serve("b")
	w.must(w.apply(web, 0, 1, b))
	if got := w.ask(web); got != "b\n" || web.Status.LoadBalancer.Ingress[0].IP != before {
		t.Errorf("after that: %s, %v", got, web.Status.LoadBalancer)
	}
}

// One that dies while there is no hub is started by the next one, with all that there was.
func TestHAProxyDiesWithoutHub(t *testing.T) {
	w := newWorld(t)
	web, other := mcs("web"), mcs("other")
	a := w.serve("a")
	w.must(w.apply(web, 0, 1, a))
	w.must(w.apply(other, 0, 1, a))
	pid, err := w.process.pid(context.Background())
	w.must(err)
	w.stop()
	w.must(syscall.Kill(pid, syscall.SIGKILL))
	w.must(os.WriteFile(filepath.Join(w.dir, "balancers", "n_broken.json"), []byte(`{"Name":{"Namespace":"n"`), 0o600))
	w.eventually("its end", func() error {
		conn, _, err := connect(web)
		if err == nil {
			_ = conn.Close()
			return errors.New("it answers")
		}
		return nil
	})
	// Its worker, which ends with it, may be slower than the next hub.
	var held net.Listener
	w.eventually("the port of the other", func() (err error) {
		held, err = net.Listen("tcp", net.JoinHostPort(other.Status.LoadBalancer.Ingress[0].IP, "8080"))
		return err
	})
	time.AfterFunc(time.Second, func() { _ = held.Close() })
	w.start()
	w.must(w.apply(other, 0, 1, a))
	if got := w.ask(web); got != "a\n" {
		t.Errorf("one that nobody has asked for yet: %s", got)
	}
}

// Clients stay with their backends over a reload: the old worker hands its table over.
func TestAffinityOverReload(t *testing.T) {
	w := newWorld(t)
	web := mcs("web")
	var servers []netip.AddrPort
	for i := range 6 {
		servers = append(servers, w.serve(fmt.Sprint(i)))
	}
	w.must(w.apply(web, time.Hour, 1, servers...))
	from := func(client int) string {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(10+client))}, Timeout: 5 * time.Second}
		conn, err := d.Dial("tcp", net.JoinHostPort(web.Status.LoadBalancer.Ingress[0].IP, "8080"))
		w.must(err)
		defer conn.Close()
		line, err := bufio.NewReader(conn).ReadString('\n')
		w.must(err)
		return line
	}
	// A worker that has no former one gives up waiting for its table after some seconds, and
	// hands nothing over before that.
	w.eventually("the end of its first wait", func() error {
		peers, err := ask(context.Background(), w.process.worker(), "show peers")
		_, flags, _ := strings.Cut(peers, "flags=0x")
		var bits uint
		if _, scanErr := fmt.Sscanf(flags, "%x", &bits); err != nil || scanErr != nil || bits&3 != 3 {
			return fmt.Errorf("%s: %w", peers, err)
		}
		return nil
	})
	var first []string
	for client := range servers {
		first = append(first, from(client))
	}
	for ports := 2; ports < 4; ports++ {
		w.must(w.apply(web, time.Hour, ports, servers...))
		w.eventually("the table", func() error {
			table, err := ask(context.Background(), w.process.worker(), "show table n_web_8080")
			if !strings.Contains(table, fmt.Sprintf("used:%d", len(servers))) {
				return fmt.Errorf("%s: %w", table, err)
			}
			return nil
		})
		for client := len(servers) - 1; client >= 0; client-- { // in another order
			if got := from(client); got != first[client] {
				t.Errorf("with %d ports client %d gets %q, and got %q", ports, client, got, first[client])
			}
		}
	}
}

// A port that can't be listened on is told, and keeps none of the others from working.
func TestPortNotBound(t *testing.T) {
	w := newWorld(t)
	web, other := mcs("web"), mcs("other")
	a := w.serve("a")
	w.must(w.apply(web, 0, 1, a))
	taken, err := net.Listen("tcp", net.JoinHostPort(web.Status.LoadBalancer.Ingress[0].IP, "8081"))
	w.must(err)
	err = w.apply(web, 0, 2, a)
	ports := web.Status.LoadBalancer.Ingress[0].Ports
	if err == nil || len(ports) != 2 || ports[0].Error != nil || ports[1].Error == nil || *ports[1].Error != cloudprovider.PortNotBound {
		t.Errorf("with a port of another program's: %v, %v", ports, err)
	}
	w.must(w.apply(other, 0, 1, a))
	if x, y := w.ask(web), w.ask(other); x != "a\n" || y != "a\n" {
		t.Errorf("the others: %s, %s", x, y)
	}
	_ = taken.Close()
	w.must(w.apply(web, 0, 2, a))
	if ports := web.Status.LoadBalancer.Ingress[0].Ports; ports[1].Error != nil {
		t.Errorf("when it is free: %v", *ports[1].Error)
	}
}

// A server that leaves with connections is kept, resting, until they have ended.
func TestServersAreDeleted(t *testing.T) {
	w := newWorld(t)
	web := mcs("web")
	a, b := w.serve("a"), w.serve("b")
	w.must(w.apply(web, 0, 1, a))
	conn, _, err := connect(web)
	w.must(err)
	defer conn.Close()
	has := func() int {
		found, err := states(context.Background(), w.process.worker(), "n_web_8080")
		w.must(err)
		return len(found)
	}
	w.must(w.apply(web, 0, 1, b))
	if n := has(); n != 2 {
		t.Errorf("%d servers, while one that has left has a connection", n)
	}
	w.must(echoes(conn, "still there"))
	_ = conn.Close()
	w.eventually("one server", func() error {
		w.must(w.apply(web, 0, 1, b))
		if n := has(); n != 1 {
			return fmt.Errorf("%d servers", n)
		}
		return nil
	})
	// It comes back.
	w.must(w.apply(web, 0, 1, a))
	if got := w.ask(web); got != "a\n" {
		t.Error(got)
	}
}

func TestOptions(t *testing.T) {
	for _, options := range []map[string]string{
		{"colour": "blue"}, {"program": "/no/such/program"}, {"hard-stop-after": "never"}, {"hard-stop-after": "600h"}, {"max-reloads": "0"}, {"max-reloads": "x"},
		{"dir": "/tmp/" + string(make([]byte, 60))},
	} {
		if _, err := New(cloudprovider.Config{Options: options, Addresses: []string{"127.0.0.1"}}); err == nil {
			t.Errorf("%v: no error", options)
		}
	}
}
