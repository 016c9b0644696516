package haproxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
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

// The hub stops, backends change, and another hub takes over and adds a load balancer. No
// request is lost, no connection ends, and unreadable files are ignored.
func TestTakeover(t *testing.T) {
	w := newWorld(t)
	web, old, more := mcs("web"), mcs("old"), mcs("more")
	a, b := w.serve("a"), w.serve("b")
	w.must(w.apply(web, 0, 1, a))
	w.must(w.apply(old, 0, 1, a))
	conn, _, err := connect(web)
	w.must(err)
	defer conn.Close()

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
	w.must(os.WriteFile(filepath.Join(w.dir, "balancers", "n_broken.json"), []byte(`{"Name":{"Namespace":"n"`), 0o600))
	w.start()
	if got := w.LoadBalancers(); len(got) != 2 || !slices.Contains(got, cloudprovider.KeyOf(old)) {
		t.Errorf("the next hub finds %v", got)
	}
	// The first change of the new hub is about another load balancer.
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
		t.Errorf("existing connection: %v", err)
	}
}

// If a hub ends after it has stored a change and before it has updated HAProxy, the next hub
// updates HAProxy. The next hub also knows the unreachable backends.
func TestWhatHAProxyWasNotTold(t *testing.T) {
	w := newWorld(t)
	web := mcs("web")
	a, b, dead := w.serve("a"), w.serve("b"), netip.MustParseAddrPort("127.0.0.1:1")
	w.must(w.apply(web, 0, 1, a, dead))
	w.eventually("one is unreachable", func() error {
		if got := w.Unreachable(cloudprovider.KeyOf(web)); !slices.Equal(got, []netip.AddrPort{dead}) {
			return fmt.Errorf("unreachable: %v", got)
		}
		return nil
	})
	w.stop()
	file := w.memory(cloudprovider.KeyOf(web))
	noted, err := os.ReadFile(file)
	w.must(err)
	w.must(os.WriteFile(file, []byte(strings.ReplaceAll(string(noted), a.String(), b.String())), 0o600))
	w.start()
	w.must(w.apply(web, 0, 1, b, dead))
	if got := w.Unreachable(cloudprovider.KeyOf(web)); !slices.Equal(got, []netip.AddrPort{dead}) {
		t.Errorf("unreachable: %v", got)
	}
	w.answers("web", "b") // HAProxy did not know this change
}

// HAProxy's container may start after the hub's, and restart. HAProxy starts with its last
// configuration, and then the hub applies newer changes. While HAProxy is down, requests for
// load balancers return an error, and deleted load balancers do not return.
func TestHAProxyEndsAndStarts(t *testing.T) {
	w := newWorldWithout(t)
	c := w.haproxy
	web, other := mcs("web"), mcs("other")
	a, b := w.serve("a"), w.serve("b")
	if err := w.apply(web, 0, 1, a); !errors.Is(err, errNotRunning) || len(web.Status.LoadBalancer.Ingress) > 0 {
		t.Errorf("before HAProxy runs: %v, %v", err, web.Status.LoadBalancer)
	}
	c.start()
	w.answers("web", "a")
	w.must(w.apply(web, 0, 1, a))
	w.must(w.apply(other, 0, 1, a))

	told := make(chan string, 100)
	report := func(name types.NamespacedName) { told <- name.Name }
	w.told.Store(&report)
	c.kill()
	for range 2 {
		select {
		case <-told:
		case <-time.After(loadTimeout):
			t.Fatal("no report that HAProxy is down")
		}
	}
	before := web.Status.LoadBalancer.DeepCopy()
	if err := w.apply(web, 0, 1, b); !errors.Is(err, errNotRunning) || len(web.Status.LoadBalancer.Ingress) != 1 ||
		web.Status.LoadBalancer.Ingress[0].IP != before.Ingress[0].IP {
		t.Errorf("while HAProxy is down: %v, %v", err, web.Status.LoadBalancer)
	}
	w.must(w.EnsureMCSLoadBalancerDeleted(context.Background(), other))
	c.start()
	w.answers("web", "b")
	if got := w.ask(other); got == "a\n" {
		t.Error("a load balancer that was deleted while HAProxy was down answers")
	}

	// HAProxy restarts by itself. Its configuration file is older than its latest runtime
	// changes.
	w.must(w.apply(web, 0, 1, a))
	c.kill()
	c.start()
	w.answers("web", "a")
}

// Neither a running hub nor a new hub mistakes a slow HAProxy for a stopped one: load balancers
// keep forwarding, and HAProxy gets the changes when it responds again.
func TestHAProxyIsSlow(t *testing.T) {
	w := newWorld(t)
	web, more, third := mcs("web"), mcs("more"), mcs("third")
	a := w.serve("a")
	w.must(w.apply(web, 0, 1, a))
	conn, _, err := connect(web)
	w.must(err)
	defer conn.Close()
	w.haproxy.signal(syscall.SIGSTOP)
	// Another load balancer and another port both need a new configuration.
	for _, m := range []*networkingv1alpha1.MultiClusterService{more, web} {
		if err := w.within(300*time.Millisecond, m, 2, a); err == nil {
			t.Errorf("%s: no error while HAProxy does not answer", m.Name)
		}
	}
	w.stop()
	w.start()
	if err := w.within(300*time.Millisecond, third, 1, a); err == nil {
		t.Error("no error for a hub that starts while HAProxy does not answer")
	}
	w.haproxy.signal(syscall.SIGCONT)
	w.must(w.apply(more, 0, 2, a))
	w.must(w.apply(web, 0, 2, a))
	w.must(w.apply(third, 0, 1, a))
	for _, m := range []*networkingv1alpha1.MultiClusterService{web, more, third} {
		if got := w.ask(m); got != "a\n" {
			t.Errorf("%s: %s", m.Name, got)
		}
	}
	w.must(echoes(conn, "still there"))
}

// Clients stay with their backends across a reload: the old worker passes its stick table on.
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
	// A worker without a predecessor stops waiting for its stick table after some seconds, and
	// hands nothing over before that.
	w.eventually("the end of its first wait", func() error {
		peers, err := query(context.Background(), w.process.worker(), "show peers")
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
			table, err := query(context.Background(), w.process.worker(), "show table n_web_8080")
			if !strings.Contains(table, fmt.Sprintf("used:%d", len(servers))) {
				return fmt.Errorf("%s: %w", table, err)
			}
			return nil
		})
		for client := len(servers) - 1; client >= 0; client-- { // in reverse order
			if got := from(client); got != first[client] {
				t.Errorf("with %d ports client %d gets %q, and got %q", ports, client, got, first[client])
			}
		}
	}
}

// A port that cannot be bound is reported, and all other ports work.
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
		t.Errorf("port in use by another program: %v, %v", ports, err)
	}
	w.must(w.apply(other, 0, 1, a))
	if x, y := w.ask(web), w.ask(other); x != "a\n" || y != "a\n" {
		t.Errorf("other ports: %s, %s", x, y)
	}
	_ = taken.Close()
	w.must(w.apply(web, 0, 2, a))
	if ports := web.Status.LoadBalancer.Ingress[0].Ports; ports[1].Error != nil {
		t.Errorf("after the port is free: %v", *ports[1].Error)
	}
}

// A removed server with connections stays, draining, until they have ended.
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
		return len(found["n_web_8080"])
	}
	w.must(w.apply(web, 0, 1, b))
	if n := has(); n != 2 {
		t.Errorf("%d servers while a removed server has a connection", n)
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
	// The server is added again.
	w.must(w.apply(web, 0, 1, a))
	if got := w.ask(web); got != "a\n" {
		t.Error(got)
	}
}

// A load balancer whose state could not be stored reserves no address. Deleting a missing load
// balancer releases its address too.
func TestNothingHoldsAnAddress(t *testing.T) {
	w := newWorld(t)
	web, other := mcs("web"), mcs("other")
	first, _, _ := strings.Cut(w.addresses, "-")
	for _, m := range []*networkingv1alpha1.MultiClusterService{web, other} {
		m.Annotations = map[string]string{cloudprovider.AnnotationAddress: first}
	}
	a := w.serve("a")
	w.must(os.RemoveAll(w.memories()))
	if err := w.apply(web, 0, 1, a); err == nil {
		t.Error("no error although the state folder is missing")
	}
	w.must(os.Mkdir(w.memories(), 0o700))
	w.must(w.apply(other, 0, 1, a))
}

func TestOptions(t *testing.T) {
	for _, options := range []map[string]string{
		{"colour": "blue"}, {"hard-stop-after": "never"}, {"hard-stop-after": "600h"}, {"max-reloads": "0"}, {"max-reloads": "x"},
		{"dir": "/tmp/" + string(make([]byte, 60))},
	} {
		if _, err := New(cloudprovider.Config{Options: options, Addresses: []string{"127.0.0.1"}}); err == nil {
			t.Errorf("%v: no error", options)
		}
	}
}

func TestConformance(t *testing.T) {
	dirs := map[*testing.T]string{}
	conformance.Run(t, conformance.Harness{
		New: func(t *testing.T, c cloudprovider.Config) cloudprovider.MCSLoadBalancer {
			if dirs[t] == "" {
				dirs[t] = folder(t)
				haproxy := newContainer(t, dirs[t])
				haproxy.start()
				haproxy.await()
			}
			c.Options = map[string]string{"dir": dirs[t]}
			p, err := cloudprovider.New(Name, c)
			if err != nil {
				t.Fatal(err)
			}
			return p
		},
		Addresses: []string{conformance.Loopback(t)},
		Protocols: []corev1.Protocol{corev1.ProtocolTCP},
		Options:   true,
		Timeout:   time.Minute, // a reload may be slow while many tests run
	})
}
