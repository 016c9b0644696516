package haproxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/cloudprovider"
)

// forwarded is one port of a Service, to these servers; to those that drain in so far as they have connections.
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

// A server that HAProxy began with as a resting one is one like any other when it has been made ready: it is put to rest
// again, told of when it does not answer, and deleted.
func TestServersThatBeginResting(t *testing.T) {
	w := newWorld(t)
	web := mcs("web")
	a, p := w.serve("a"), w.serve("p")
	w.must(w.give(web, forwarded(8080, []netip.AddrPort{p}, a)))
	w.must(w.give(web, forwarded(8080, []netip.AddrPort{a, p}))) // all are draining, and serve on
	answered := func() (all map[string]int) {
		all = map[string]int{}
		for range 10 {
			all[w.ask(web)]++
		}
		return all
	}
	if got := answered(); got["a\n"] != 5 || got["p\n"] != 5 {
		t.Errorf("both are draining: %v", got)
	}
	w.refresh(map[string]bool{"n_web_8080": true}) // as when one of them goes down or up
	w.must(w.give(web, forwarded(8080, []netip.AddrPort{p}, a)))
	if got := answered(); got["a\n"] != 10 {
		t.Errorf("one is not draining: %v", got)
	}
	w.must(w.give(web, forwarded(8080, nil, a)))
	found, err := states(context.Background(), w.process.worker(), "n_web_8080")
	w.must(err)
	if len(found) != 1 {
		t.Errorf("one is wanted: %v", found)
	}
}

// A reload for one load balancer, of many, changes nothing that is known of the others' servers, neither here nor in HAProxy: nobody is told
// anything, and nobody's connection is tried with a server that does not answer. One that answers again is up again.
func TestReloadForgetsNobody(t *testing.T) {
	const n = 40
	w := newWorld(t)
	first, _, _ := strings.Cut(w.addresses, "-")
	a, dead := w.serve("a"), netip.MustParseAddrPort("127.0.0.1:1")
	var all []*networkingv1alpha1.MultiClusterService
	var making sync.WaitGroup
	for i := range n {
		m := mcs(fmt.Sprintf("web-%d", i))
		m.Annotations = map[string]string{cloudprovider.AnnotationAddress: first}
		all = append(all, m)
		making.Go(func() { // those that come together cost a reload together
			if err := w.give(m, forwarded(int32(8100+i), nil, a, dead)); err != nil {
				t.Error(err)
			}
		})
	}
	making.Wait()
	w.eventually("all have one that does not answer", func() error {
		for _, m := range all {
			if got := w.Unreachable(nameOf(m)); !slices.Equal(got, []netip.AddrPort{dead}) {
				return fmt.Errorf("%s: %v", m.Name, got)
			}
		}
		return nil
	})
	var told atomic.Int32
	defer w.OnReport(func(name types.NamespacedName) {
		if name.Name != "more" {
			told.Add(1)
		}
	})()
	before, err := w.process.identity(context.Background())
	w.must(err)
	w.must(w.give(mcs("more"), forwarded(8080, nil, a)))
	after, err := w.process.identity(context.Background())
	w.must(err)
	if after == before {
		t.Error("it has not been reloaded")
	}
	for look := range 2 {
		found, err := allStates(context.Background(), w.process.worker())
		w.must(err)
		for i, m := range all {
			section := fmt.Sprintf("n_%s_%d", m.Name, 8100+i)
			if got := found[section]; len(got) != 2 || !got[dead].down || got[a].down || got[dead].resting {
				t.Errorf("look %d: HAProxy has %+v of %s", look, got, section)
			}
			if got := w.Unreachable(nameOf(m)); !slices.Equal(got, []netip.AddrPort{dead}) {
				t.Errorf("look %d: of %s %v do not answer", look, m.Name, got)
			}
		}
		if look == 0 { // what the new process finds out by itself is the same
			w.must(w.give(mcs("another"), forwarded(8081, nil, a)))
		}
	}
	if n := told.Load(); n > 0 {
		t.Errorf("%d times somebody is told", n)
	}
	if _, err := os.Stat(w.stateFile()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what was handed over is left for another one: %v", err)
	}
	late, listen := w.refuse()
	w.must(w.give(all[0], forwarded(8100, nil, a, late)))
	w.eventually("it does not answer", func() error {
		if got := w.Unreachable(nameOf(all[0])); !slices.Equal(got, []netip.AddrPort{late}) {
			return fmt.Errorf("%v", got)
		}
		return nil
	})
	w.must(w.give(mcs("third"), forwarded(8082, nil, a)))
	listen()
	w.eventually("it answers again", func() error {
		if got := w.Unreachable(nameOf(all[0])); len(got) > 0 {
			return fmt.Errorf("%v", got)
		}
		return nil
	})
}

// refuse has a port of its own that nobody answers at until listen is called.
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
		w.must(syscall.Listen(socket, 16)) // the kernel takes connections, and that is all that checks ask for
	}
}

// What was known of a port's servers goes with it.
func TestPortsAreForgotten(t *testing.T) {
	w := newWorld(t)
	web := mcs("web")
	a, dead := w.serve("a"), netip.MustParseAddrPort("127.0.0.1:1")
	unreachable := func() int {
		w.Provider.mu.Lock()
		defer w.Provider.mu.Unlock()
		return len(w.unreachable)
	}
	w.must(w.apply(web, 0, 2, a, dead))
	w.eventually("both ports have one that does not answer", func() error {
		if unreachable() != 2 {
			return errors.New("they have not")
		}
		return nil
	})
	w.must(w.apply(web, 0, 1, a, dead))
	w.note("n_web_8081", map[netip.AddrPort]serverState{dead: {down: true}}) // as of one who has asked before
	if n := unreachable(); n != 1 {
		t.Errorf("%d of one port", n)
	}
	w.must(w.EnsureMCSLoadBalancerDeleted(context.Background(), web))
	if n := unreachable(); n != 0 {
		t.Errorf("%d of none", n)
	}
}

// A process that goes on with its connections does not outlive any number of reloads.
func TestMaxReloads(t *testing.T) {
	dir := folder(t)
	w := newWorldWith(t, dir, map[string]string{"dir": dir, "max-reloads": "2"})
	web := mcs("web")
	a := w.serve("a")
	w.must(w.apply(web, 0, 1, a))
	conn, _, err := connect(web)
	w.must(err)
	defer conn.Close()
	for ports := 2; ports <= 3; ports++ {
		w.must(w.apply(web, 0, ports, a))
		w.must(echoes(conn, "still there"))
	}
	w.must(w.apply(web, 0, 4, a))
	w.must(w.apply(web, 0, 5, a))
	w.eventually("the end of the connection", func() error {
		if err := echoes(conn, "still there"); err == nil {
			return errors.New("it is there after four reloads")
		}
		return nil
	})
}

// Clients that are not let in take nothing of the rate of those that are.
func TestStrangersSpendNoRate(t *testing.T) {
	w := newWorld(t)
	web := mcs("web")
	web.Annotations = map[string]string{cloudprovider.AnnotationConnectionRate: "5"}
	s := forwarded(8080, nil, w.serve("a"))
	s.SourceRanges = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	w.must(w.give(web, s))
	strangers := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 9)}, Timeout: 5 * time.Second}
	for range 20 {
		conn, err := strangers.Dial("tcp", net.JoinHostPort(web.Status.LoadBalancer.Ingress[0].IP, "8080"))
		if err != nil {
			continue
		}
		_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
		_, _ = conn.Read(make([]byte, 1))
		_ = conn.Close()
	}
	answer, err := ask(context.Background(), w.process.worker(), "show stat n_web_8080 1 -1")
	w.must(err)
	lines := strings.Split(answer, "\n")
	i := slices.Index(strings.Split(lines[0], ","), "rate_max")
	if got := strings.Split(lines[1], ",")[i]; got != "0" {
		t.Errorf("%s in a second are counted of strangers: %s", got, answer)
	}
	if got := w.ask(web); got != "a\n" {
		t.Error(got)
	}
}

// What can't be written, or loaded, keeps no load balancer from following its backends, nor an address that is not wanted from
// leading nowhere; it is told, and done when it can be.
func TestFollowsByTheSocket(t *testing.T) {
	w := newWorld(t)
	web, gone := mcs("web"), mcs("gone")
	a, b, c := w.serve("a"), w.serve("b"), w.serve("c")
	w.must(w.apply(web, 0, 2, a))
	w.must(w.apply(gone, 0, 1, a))
	fails := func(what string, err error) {
		t.Helper()
		if err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	answers := func(want string) {
		t.Helper()
		if got := w.ask(web); got != want+"\n" {
			t.Errorf("got %q, want %s", got, want)
		}
	}

	// Nothing can be remembered, as on a disk that is full.
	w.must(os.Rename(w.memories(), w.memories()+"-away"))
	fails("a change that can't be written down", w.apply(web, 0, 2, b))
	answers("b")
	w.must(os.Rename(w.memories()+"-away", w.memories()))
	w.must(w.apply(web, 0, 2, b))
	if noted, err := os.ReadFile(w.memory(nameOf(web))); err != nil || !strings.Contains(string(noted), b.String()) {
		t.Errorf("remembered is %s, %v", noted, err)
	}

	// No configuration can be loaded: a port goes and one comes, and another load balancer goes.
	working := w.process.program
	w.process.program = filepath.Join(w.dir, "none")
	s := forwarded(8080, nil, c)
	s.Ports = append(s.Ports, forwarded(8082, nil, c).Ports...)
	fails("another structure", w.give(web, s))
	answers("c")
	fails("a load balancer less", w.EnsureMCSLoadBalancerDeleted(context.Background(), gone))
	there := web.DeepCopy()
	for what, at := range map[string]string{
		"a port that is exposed no more": net.JoinHostPort(there.Status.LoadBalancer.Ingress[0].IP, "8081"), "one that is deleted": net.JoinHostPort(gone.Status.LoadBalancer.Ingress[0].IP, "8080"),
	} {
		if conn, err := net.DialTimeout("tcp", at, 5*time.Second); err == nil {
			_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
			if n, err := conn.Read(make([]byte, 1)); err == nil {
				t.Errorf("%s: %d bytes", what, n)
			}
			_ = conn.Close()
		}
	}
	fails("the next change", w.give(web, forwarded(8080, nil, a)))
	answers("a")
	// All sections are wanted as they are again: there is nothing to load.
	fails("one of two", w.apply(gone, 0, 1, b))
	w.must(w.apply(web, 0, 2, b))
	answers("b")
	w.answers("gone", "b")
	w.process.program = working
	w.must(w.EnsureMCSLoadBalancerDeleted(context.Background(), gone))
	w.must(w.give(web, s))
	answers("c")
	w.eventually("a port that is exposed no more", func() error {
		conn, err := net.DialTimeout("tcp", net.JoinHostPort(there.Status.LoadBalancer.Ingress[0].IP, "8081"), 5*time.Second)
		if err != nil {
			return nil
		}
		_ = conn.Close()
		return errors.New("it is open")
	})
}

// All servers of a port are told of clients in the same way: that of the configuration that HAProxy runs with, where it can't be given the one
// that is wanted, also by a hub that has taken it over; and then that which is wanted, though nothing else changes.
func TestProxyProtocolIsOneForAll(t *testing.T) {
	w := newWorld(t)
	web := mcs("web")
	a, b, c := w.serve("a"), w.serve("b"), w.serve("c")
	are := func(what, header string, names ...string) {
		t.Helper()
		want := map[string]bool{}
		for _, name := range names {
			want[name+": "+header] = true
		}
		w.eventually(what, func() error {
			got := map[string]bool{}
			for range 2 * len(names) {
				name, first := w.firstLine(web)
				got[name+": "+first] = true
			}
			if !maps.Equal(got, want) {
				return fmt.Errorf("got %v, want %v", got, want)
			}
			return nil
		})
	}
	w.must(w.apply(web, 0, 1)) // nobody yet, who would show how
	working := w.process.program
	w.process.program = filepath.Join(w.dir, "none")
	web.Annotations = map[string]string{cloudprovider.AnnotationProxyProtocol: "v1"}
	if err := w.apply(web, 0, 1, a, b); err == nil {
		t.Error("no error where it can't be loaded")
	}
	are("added while it is wanted, and can't be loaded", "none", "a", "b")

	w.stop()
	w.start()
	w.process.program = filepath.Join(w.dir, "none")
	if err := w.apply(web, 0, 1, a, b, c); err == nil {
		t.Error("the next hub: no error where it can't be loaded")
	}
	are("added by the next hub", "none", "a", "b", "c")

	w.process.program = working
	w.must(w.apply(web, 0, 1, a, b))
	are("loaded", "PROXY", "a", "b")
	w.must(w.apply(web, 0, 1, a, b, c))
	are("one more", "PROXY", "a", "b", "c")
	w.process.program = filepath.Join(w.dir, "none")
	web.Annotations = nil
	if err := w.apply(web, 0, 1, a, c); err == nil {
		t.Error("no error where it can't be taken back")
	}
	if err := w.apply(web, 0, 1, a, b, c); err == nil {
		t.Error("no error where it can't be taken back")
	}
	are("added while it is not wanted any more", "PROXY", "a", "b", "c")
	w.process.program = working
	w.must(w.apply(web, 0, 1, a, b, c))
	are("taken back", "none", "a", "b", "c")
}

// firstLine returns who answers, and whether the connection begins with the client's address: "PROXY" or "none".
func (w *world) firstLine(m *networkingv1alpha1.MultiClusterService) (name, first string) {
	w.Helper()
	conn, err := net.DialTimeout("tcp", net.JoinHostPort(m.Status.LoadBalancer.Ingress[0].IP, "8080"), 5*time.Second)
	w.must(err)
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	_, err = fmt.Fprintln(conn, "none")
	w.must(err)
	lines := bufio.NewScanner(conn) // of the server, which says its name and echoes what it gets
	for _, line := range []*string{&name, &first} {
		if !lines.Scan() {
			w.Fatalf("no line: %v", lines.Err())
		}
		*line, _, _ = strings.Cut(lines.Text(), " ")
	}
	return name, first
}

// A hub that has not seen the Service, which has gone, closes what is surely not exposed and drops backends that are no more,
// and changes nothing else; it makes nothing.
func TestServiceThatNobodyHasSeen(t *testing.T) {
	w := newWorld(t)
	web := mcs("web")
	a, b, c := w.serve("a"), w.serve("b"), w.serve("c")
	s := forwarded(8080, nil, a, b)
	s.Ports = append(s.Ports, forwarded(8081, nil, a).Ports...)
	s.SourceRanges = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	w.must(w.give(web, s))
	w.stop()
	w.start()
	unseen := &cloudprovider.Unseen{Numbers: []int32{8080}, Ports: []cloudprovider.Port{
		forwarded(8080, nil, c).Ports[0], forwarded(9090, nil, b).Ports[0], forwarded(8082, nil, a).Ports[0], forwarded(8081, nil, w.serve("d")).Ports[0],
	}}
	unseen.Ports[2].Protocol = corev1.ProtocolUDP
	w.mu.Lock()
	w.unknown = unseen
	w.mu.Unlock()
	status, err := w.UpdateMCSLoadBalancer(context.Background(), web)
	w.must(err)
	if status.Ingress[0].IP != web.Status.LoadBalancer.Ingress[0].IP {
		t.Errorf("it was at %v, and is at %v", web.Status.LoadBalancer, status)
	}
	w.eventually("backends that are known", func() error {
		got := map[string]int{}
		for range 8 {
			got[w.ask(web)]++
		}
		if len(got) != 2 || got["b\n"] == 0 || got["c\n"] == 0 {
			return fmt.Errorf("answered: %v", got)
		}
		return nil
	})
	stranger := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 9)}, Timeout: 5 * time.Second}
	for _, each := range []struct {
		dialer net.Dialer
		port   string
	}{{stranger, "8080"}, {net.Dialer{}, "8081"}, {net.Dialer{}, "8082"}} {
		conn, err := each.dialer.Dial("tcp", net.JoinHostPort(status.Ingress[0].IP, each.port))
		if err != nil {
			continue
		}
		_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
		if n, err := conn.Read(make([]byte, 1)); err == nil {
			t.Errorf("at port %s: %d bytes", each.port, n)
		}
		_ = conn.Close()
	}
	other := mcs("other")
	if status, err := w.EnsureMCSLoadBalancer(context.Background(), other); !errors.As(err, &unseen) || status != nil {
		t.Errorf("another one: %v, %v", status, err)
	}
	w.mu.Lock()
	w.unknown = nil
	w.mu.Unlock()
}
