package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/cloudprovider"
	"github.com/atoll-mcs/atoll/cloudprovider/conformance"
)

// fixed is a lister of a fixed Service.
type fixed struct {
	mu sync.Mutex
	s  cloudprovider.Service
}

func (f *fixed) Service(types.NamespacedName) (cloudprovider.Service, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.s, nil
}

type world struct {
	*testing.T
	lister *fixed
	*Provider
	mcs *networkingv1alpha1.MultiClusterService
}

func newWorld(t *testing.T, drain string) *world {
	w := &world{T: t, lister: &fixed{}, mcs: &networkingv1alpha1.MultiClusterService{}}
	w.mcs.Namespace, w.mcs.Name = "n", "web"
	p, err := New(cloudprovider.Config{
		Backends: w.lister, Addresses: []string{conformance.Loopback(t)}, Options: map[string]string{"drain": drain}, Report: func(types.NamespacedName) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Provider = p.(*Provider)
	t.Cleanup(func() { _ = w.Close() })
	return w
}

// apply forwards port 8080 to these backends and returns the address.
func (w *world) apply(protocol corev1.Protocol, to ...netip.AddrPort) string {
	w.Helper()
	port := cloudprovider.Port{Protocol: protocol, Number: 8080}
	for _, a := range to {
		port.Backends = append(port.Backends, cloudprovider.Backend{Address: a})
	}
	w.lister.mu.Lock()
	w.lister.s.Ports = []cloudprovider.Port{port}
	w.lister.mu.Unlock()
	status, err := w.EnsureMCSLoadBalancer(context.Background(), w.mcs)
	if err != nil {
		w.Fatal(err)
	}
	return net.JoinHostPort(status.Ingress[0].IP, "8080")
}

func (w *world) serve(handle func(*net.TCPConn)) netip.AddrPort {
	w.Helper()
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.AcceptTCP()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				handle(conn)
			}()
		}
	}()
	return listener.Addr().(*net.TCPAddr).AddrPort()
}

func echo(conn *net.TCPConn) { _, _ = io.Copy(conn, conn) }

func (w *world) dial(network, address string) net.Conn {
	w.Helper()
	conn, err := net.Dial(network, address)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	return conn
}

func (w *world) talk(conn net.Conn, text string) string {
	w.Helper()
	buffer := make([]byte, maxDatagram)
	if _, err := conn.Write([]byte(text)); err != nil {
		return err.Error()
	}
	n, err := conn.Read(buffer)
	if err != nil {
		return err.Error()
	}
	return string(buffer[:n])
}

func TestDrain(t *testing.T) {
	const drain = 5 * time.Second
	w := newWorld(t, drain.String())
	conn := w.dial("tcp", w.apply(corev1.ProtocolTCP, w.serve(echo)))
	if got := w.talk(conn, "one"); got != "one" {
		t.Fatal(got)
	}
	began := time.Now()
	_ = conn.SetDeadline(began.Add(time.Minute))
	if err := w.EnsureMCSLoadBalancerDeleted(context.Background(), w.mcs); err != nil {
		t.Fatal(err)
	}
	if got := w.talk(conn, "two"); got != "two" {
		t.Errorf("just after the load balancer was deleted: %s", got)
	}
	_, err := io.ReadAll(conn)
	if took := time.Since(began); took < drain || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the connection lasted %v and ended with %v", took, err)
	}
}

func TestCloseWaitsForNobody(t *testing.T) {
	w := newWorld(t, "1h")
	conn := w.dial("tcp", w.apply(corev1.ProtocolTCP, w.serve(echo)))
	if got := w.talk(conn, "one"); got != "one" {
		t.Fatal(got)
	}
	closed := make(chan error)
	go func() { closed <- w.Close() }()
	if got := w.talk(conn, "two"); got != "two" {
		t.Errorf("while the hub ends: %s", got)
	}
	_ = conn.Close()
	select {
	case <-closed:
	case <-time.After(10 * time.Second):
		t.Fatal("Close waits although the last connection has ended")
	}
	if _, err := w.EnsureMCSLoadBalancer(context.Background(), w.mcs); err == nil {
		t.Error("a closed provider created a load balancer")
	}
}

func TestHalfClose(t *testing.T) {
	w := newWorld(t, "0s")
	address := w.apply(corev1.ProtocolTCP, w.serve(func(conn *net.TCPConn) {
		data, _ := io.ReadAll(conn)
		_, _ = fmt.Fprintf(conn, "%d bytes", len(data))
	}))
	conn := w.dial("tcp", address)
	if _, err := conn.Write(make([]byte, 5<<20)); err != nil {
		t.Fatal(err)
	}
	_ = conn.(*net.TCPConn).CloseWrite()
	if got, err := io.ReadAll(conn); string(got) != "5242880 bytes" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

// If a backend resets a connection, the client sees an error, not a normal end.
func TestReset(t *testing.T) {
	w := newWorld(t, "0s")
	conn := w.dial("tcp", w.apply(corev1.ProtocolTCP, w.serve(func(conn *net.TCPConn) {
		_, _ = conn.Read(make([]byte, 10))
		_ = conn.SetLinger(0)
	})))
	if got := w.talk(conn, "one"); !strings.Contains(got, "reset") {
		t.Errorf("got %s", got)
	}
}

func TestPortNotBound(t *testing.T) {
	w := newWorld(t, "0s")
	address := w.apply(corev1.ProtocolTCP, w.serve(echo))
	if err := w.EnsureMCSLoadBalancerDeleted(context.Background(), w.mcs); err != nil {
		t.Fatal(err)
	}
	other, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	status, err := w.EnsureMCSLoadBalancer(context.Background(), w.mcs)
	if err == nil || len(status.Ingress) != 1 || status.Ingress[0].Ports[0].Error == nil || *status.Ingress[0].Ports[0].Error != cloudprovider.PortNotBound {
		t.Errorf("port in use by another program: %v, %v", status, err)
	}
	_ = other.Close()
	if status, err = w.EnsureMCSLoadBalancer(context.Background(), w.mcs); err != nil || status.Ingress[0].Ports[0].Error != nil {
		t.Errorf("after the port is free: %v, %v", status, err)
	}
}

func (w *world) listenUDP() *net.UDPConn {
	w.Helper()
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = conn.Close() })
	return conn
}

func (w *world) serveUDP(name string) *net.UDPConn {
	w.Helper()
	conn := w.listenUDP()
	go func() {
		buffer := make([]byte, maxDatagram)
		for {
			n, from, err := conn.ReadFromUDPAddrPort(buffer)
			if err != nil {
				return
			}
			_, _ = conn.WriteToUDPAddrPort(append([]byte(name), buffer[:n]...), from)
		}
	}()
	return conn
}

func TestUDPFlows(t *testing.T) {
	w := newWorld(t, "0s")
	a, b := w.serveUDP("a"), w.serveUDP("b")
	at := func(c *net.UDPConn) netip.AddrPort { return c.LocalAddr().(*net.UDPAddr).AddrPort() }
	address := w.apply(corev1.ProtocolUDP, at(a), at(b))
	one, two := w.dial("udp", address), w.dial("udp", address)
	first, second := w.talk(one, "1"), w.talk(two, "1")
	if first == second {
		t.Fatalf("two clients both got %s", first)
	}
	for range 5 {
		if x, y := w.talk(one, "1"), w.talk(two, "1"); x != first || y != second {
			t.Fatalf("clients got %s and %s first, and then %s and %s", first, second, x, y)
		}
	}
	large := strings.Repeat("x", 60_000)
	if got := w.talk(one, large); got[1:] != large {
		t.Errorf("a large datagram: %d bytes of %d", len(got), len(large))
	}
	if got := w.talk(one, ""); got != first[:1] {
		t.Errorf("an empty datagram: %q", got)
	}
	// b stops. The next datagram that the kernel refuses moves its client to a.
	_ = b.Close()
	deadline := time.Now().Add(10 * time.Second)
	for _, conn := range []net.Conn{one, two} {
		for {
			_ = conn.SetDeadline(time.Now().Add(200 * time.Millisecond)) // the first datagram is lost with b
			got := w.talk(conn, "2")
			if got == "a2" {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("b is gone, and a client gets %s", got)
			}
		}
	}
	w.apply(corev1.ProtocolUDP)
	// A removed backend gets no datagrams.
	dropped := w.udp.failed.Load()
	_ = one.SetDeadline(deadline)
	if _, err := one.Write([]byte("3")); err != nil {
		t.Fatal(err)
	}
	w.until("the datagram is dropped", func() bool { return w.udp.failed.Load() > dropped })
}

// slowUDP is a backend that answers on request of a test, and a client.
type slowUDP struct {
	*world
	*net.UDPConn
	client net.Conn
	buffer []byte
}

func (w *world) slowUDP() *slowUDP {
	w.Helper()
	conn := w.listenUDP()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	client := w.dial("udp", w.apply(corev1.ProtocolUDP, conn.LocalAddr().(*net.UDPAddr).AddrPort()))
	return &slowUDP{w, conn, client, make([]byte, maxDatagram)}
}

// asked sends a query from the client and returns the source address at the backend.
func (s *slowUDP) asked(what string) netip.AddrPort {
	s.Helper()
	if _, err := s.client.Write([]byte(what)); err != nil {
		s.Fatal(err)
	}
	n, from, err := s.ReadFromUDPAddrPort(s.buffer)
	if err != nil || string(s.buffer[:n]) != what {
		s.Fatalf("the backend gets %q, %v", s.buffer[:n], err)
	}
	return from
}

// replaced replaces the backend.
func (s *slowUDP) replaced(name string) {
	s.Helper()
	s.apply(corev1.ProtocolUDP, s.serveUDP(name).LocalAddr().(*net.UDPAddr).AddrPort())
}

// flows waits until there are exactly n flows.
func (w *world) flows(n int64) {
	w.Helper()
	w.until(fmt.Sprintf("there are %d flows", n), func() bool { return w.udp.open.Load() == n })
}

func (w *world) until(what string, is func() bool) {
	w.Helper()
	deadline := time.Now().Add(10 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for ; !is(); <-tick.C {
		if time.Now().After(deadline) {
			w.Errorf("not within 10 s: %s", what)
			return
		}
	}
}

// A removed backend gets no new datagrams, but its pending responses are delivered, even if the
// limit allows a single client only.
func TestUDPAnswersOfABackendThatGoes(t *testing.T) {
	w := newWorld(t, "0s")
	w.linger = time.Hour
	w.mcs.Annotations = map[string]string{cloudprovider.AnnotationMaxConnections: "1"}
	s := w.slowUDP()
	s.asked("1")
	from := s.asked("2")
	s.replaced("b")
	for i := range 5 {
		if got := w.talk(s.client, fmt.Sprint(i)); got != fmt.Sprintf("b%d", i) {
			t.Errorf("the next datagram is answered by %q", got)
		}
	}
	for _, answer := range []string{"late 1", "late 2"} {
		_, _ = s.WriteToUDPAddrPort([]byte(answer), from)
		if n, err := s.client.Read(s.buffer); err != nil || string(s.buffer[:n]) != answer {
			t.Errorf("the client gets %q, %v", s.buffer[:n], err)
		}
	}
	w.flows(1) // no response is pending any more
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.balancers[cloudprovider.KeyOf(w.mcs)].listeners {
		limits := &l.(*udpListener).limits
		limits.mu.Lock()
		if limits.open != 1 {
			t.Errorf("%d clients are counted", limits.open)
		}
		limits.mu.Unlock()
	}
}

// The provider waits for a removed backend's responses no longer than the linger time, whatever
// the backend sends.
func TestUDPAnswersComeInTime(t *testing.T) {
	w := newWorld(t, "0s")
	w.linger = 50 * time.Millisecond
	s := w.slowUDP()
	from := s.asked("1")
	for range 2000 {
		s.asked("more")
	}
	s.replaced("b")
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() { // the backend keeps sending for 20 s
		defer close(stopped)
		for tick := time.NewTicker(10 * time.Millisecond); ; {
			select {
			case <-stop:
				return
			case <-tick.C:
				_, _ = s.WriteToUDPAddrPort([]byte("late"), from)
			}
		}
	}()
	w.flows(0)
	close(stop)
	<-stopped
}

// Pending responses are not delivered to a client that new source ranges exclude.
func TestUDPAnswersForWhoIsShutOut(t *testing.T) {
	w := newWorld(t, "0s")
	w.linger = time.Hour
	s := w.slowUDP()
	from := s.asked("1")
	s.replaced("b")
	w.until("the client's flow only waits for its last answer", func() bool { // new source ranges close all other flows
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, l := range w.balancers[cloudprovider.KeyOf(w.mcs)].listeners {
			return l.(*udpListener).lingering.Load() == 1
		}
		return false
	})
	w.lister.s.SourceRanges = []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}
	s.replaced("c")
	_, _ = s.WriteToUDPAddrPort([]byte("late"), from)
	w.flows(0) // the late response was processed
	w.lister.s.SourceRanges = nil
	s.replaced("d")
	if got := w.talk(s.client, "2"); got != "d2" {
		t.Errorf("the excluded client gets %q after it was admitted again", got)
	}
}

// New source ranges exclude UDP clients at once: their datagrams are dropped, because no
// connection could end. Flows of admitted clients and all TCP connections continue.
func TestSourceRangesEndFlows(t *testing.T) {
	w := newWorld(t, "1s")
	server := w.listenUDP()
	go func() {
		for buffer := make([]byte, 100); ; {
			_, from, err := server.ReadFromUDPAddrPort(buffer)
			if err != nil {
				return
			}
			_, _ = server.WriteToUDPAddrPort([]byte(from.String()), from)
		}
	}()
	backend := server.LocalAddr().(*net.UDPAddr).AddrPort()
	where := w.apply(corev1.ProtocolUDP, backend)
	from := func(network, client string) net.Conn {
		var local net.Addr = &net.UDPAddr{IP: net.ParseIP(client)}
		if network == "tcp" {
			local = &net.TCPAddr{IP: net.ParseIP(client)}
		}
		conn, err := (&net.Dialer{LocalAddr: local}).Dial(network, where)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	in, out := from("udp", "127.0.0.2"), from("udp", "127.0.0.3")
	var flow string
	for _, c := range []net.Conn{out, in} {
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		if flow = w.talk(c, "x"); !strings.HasPrefix(flow, "127.0.0.1:") {
			t.Fatal(flow)
		}
	}
	w.lister.s.SourceRanges = []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}
	w.apply(corev1.ProtocolUDP, backend)
	if got := w.talk(in, "x"); got != flow {
		t.Errorf("the admitted client had the flow %s and now has %s", flow, got)
	}
	_ = out.SetDeadline(time.Now().Add(300 * time.Millisecond))
	if got := w.talk(out, "x"); !strings.Contains(got, "timeout") {
		t.Errorf("the excluded client gets %s", got)
	}

	w.lister.s.SourceRanges = nil
	where = w.apply(corev1.ProtocolTCP, w.serve(echo))
	tcp := from("tcp", "127.0.0.3")
	_ = tcp.SetDeadline(time.Now().Add(10 * time.Second))
	if got := w.talk(tcp, "x"); got != "x" {
		t.Fatal(got)
	}
	w.lister.s.SourceRanges = []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}
	w.apply(corev1.ProtocolTCP, netip.MustParseAddrPort("127.0.0.1:1"))
	if got := w.talk(tcp, "y"); got != "y" {
		t.Errorf("existing connection: %s", got)
	}
}

// Connections of excluded clients do not use the rate limit of admitted clients.
func TestStrangersSpendNoRate(t *testing.T) {
	w := newWorld(t, "0s")
	const rate = 5
	w.mcs.Annotations = map[string]string{cloudprovider.AnnotationConnectionRate: fmt.Sprint(rate)}
	w.lister.s.SourceRanges = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	address := w.apply(corev1.ProtocolTCP, w.serve(echo))
	strangers := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 9)}}
	for range 4 * rate {
		conn, err := strangers.Dial("tcp", address)
		if err != nil {
			continue // the connection was closed before Dial returned
		}
		_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
		if n, err := conn.Read(make([]byte, 1)); err == nil {
			t.Errorf("a stranger gets %d bytes", n)
		}
		_ = conn.Close()
	}
	w.mu.Lock()
	for _, l := range w.balancers[cloudprovider.KeyOf(w.mcs)].listeners {
		limits := &l.(*tcpListener).limits
		limits.mu.Lock()
		// The limiter reserves a connection for the next client in advance.
		if limits.open > 1 || limits.tokens < rate-1 {
			t.Errorf("%d connections are counted, and %.1f are left in this second, of %d", limits.open, limits.tokens, rate)
		}
		limits.mu.Unlock()
	}
	w.mu.Unlock()
	if got := w.talk(w.dial("tcp", address), "hello"); got != "hello" {
		t.Errorf("the admitted client gets %q", got)
	}
}
