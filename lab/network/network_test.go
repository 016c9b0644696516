package network

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
)

// testNamespace makes a namespace that goes with the test.
func testNamespace(t *testing.T, suffix string) Namespace {
	t.Helper()
	if testing.Short() {
		t.Skip("needs network namespaces")
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	n := Namespace(fmt.Sprintf("atoll-nettest-%d-%s", os.Getpid(), suffix))
	if err := n.Create(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Delete(); err != nil {
			t.Error(err)
		}
		if n.Exists() {
			t.Errorf("%s is still there", n)
		}
	})
	return n
}

// echoServer answers every TCP connection to addr with the caller's address
// and copies back what it gets.
func echoServer(t *testing.T, n Namespace, addr netip.AddrPort) {
	t.Helper()
	l, err := n.Listen(t.Context(), "tcp", addr.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				from := c.RemoteAddr().(*net.TCPAddr).AddrPort().Addr().Unmap()
				fmt.Fprintln(c, from)
				_, _ = io.Copy(c, c)
			}()
		}
	}()
}

// dial connects and returns the connection and the address that the server saw.
func dial(n Namespace, addr netip.AddrPort, timeout time.Duration) (net.Conn, string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	c, err := n.DialContext(ctx, "tcp", addr.String())
	if err != nil {
		return nil, "", err
	}
	_ = c.SetDeadline(time.Now().Add(timeout))
	var from string
	_, err = fmt.Fscanln(c, &from)
	return c, from, err
}

func TestNamespace(t *testing.T) {
	n := testNamespace(t, "a")
	if !n.Exists() {
		t.Fatal("does not exist after Create")
	}
	if err := n.Create(); err == nil {
		t.Error("created a second time")
	}
	if !n.Exists() {
		t.Fatal("does not exist after the second Create failed")
	}
	var names []string
	if err := n.Do(func() error {
		links, err := netlink.LinkList()
		for _, l := range links {
			names = append(names, l.Attrs().Name)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"lo"}, names); d != "" {
		t.Errorf("links inside: %s", d)
	}
	want := errors.New("mine")
	if err := n.Do(func() error { return want }); !errors.Is(err, want) {
		t.Errorf("Do returned %v", err)
	}
	if err := n.Delete(); err != nil {
		t.Fatal(err)
	}
	if n.Exists() {
		t.Error("exists after Delete")
	}
	if err := n.Delete(); err != nil {
		t.Errorf("second Delete: %v", err)
	}
	if err := n.Do(func() error { return nil }); err == nil {
		t.Error("entered a namespace that is not there")
	}
}

func TestDoReturnsHome(t *testing.T) {
	n := testNamespace(t, "a")
	inside := map[string]bool{}
	read := func() string { s, _ := os.Readlink("/proc/thread-self/ns/net"); return s }
	home := read()
	for range 50 {
		_ = n.Do(func() error { inside[read()] = true; return nil })
		if got := read(); got != home {
			t.Fatalf("outside: %s, want %s", got, home)
		}
	}
	if len(inside) != 1 || inside[home] {
		t.Errorf("inside: %v, home %s", inside, home)
	}
}

// TestPods builds two nodes with a pod each behind a bridge, dual-stack, talks
// from pod to pod, cuts and heals.
func TestPods(t *testing.T) {
	fabric := testNamespace(t, "fabric")
	if err := fabric.CreateBridge("fabric"); err != nil {
		t.Fatal(err)
	}
	var nodes, pods []Namespace
	for i := range 2 {
		node, pod := testNamespace(t, fmt.Sprintf("n%d", i)), testNamespace(t, fmt.Sprintf("p%d", i))
		nodes, pods = append(nodes, node), append(pods, pod)
		addrs := []netip.Prefix{
			netip.MustParsePrefix(fmt.Sprintf("172.30.%d.1/16", i)),
			netip.MustParsePrefix(fmt.Sprintf("fd00:172:30::%d:1/64", i)),
		}
		if err := AttachBridge(fabric, "fabric", fmt.Sprintf("port%d", i), node, addrs); err != nil {
			t.Fatal(err)
		}
		other := 1 - i
		if err := node.AddRoutes([]Route{
			{netip.MustParsePrefix(fmt.Sprintf("10.%d.0.0/16", other)), netip.MustParseAddr(fmt.Sprintf("172.30.%d.1", other))},
			{netip.MustParsePrefix(fmt.Sprintf("fd00:10:%d::/48", other)), netip.MustParseAddr(fmt.Sprintf("fd00:172:30::%d:1", other))},
			{To: netip.MustParsePrefix("0.0.0.0/0")},
		}); err != nil {
			t.Fatal(err)
		}
		attach(t, node, pod, i)
	}
	// The client's address as the server sees it is its own: the network is flat.
	for server, want := range map[string]string{"10.1.1.5": "10.0.1.5", "fd00:10:1:1::5": "fd00:10:0:1::5"} {
		to := netip.AddrPortFrom(netip.MustParseAddr(server), 8080)
		echoServer(t, pods[1], to)
		c, from, err := dial(pods[0], to, 5*time.Second)
		if err != nil {
			t.Fatalf("pod to pod %s: %v", to, err)
		}
		defer c.Close()
		if from != want {
			t.Errorf("server saw %s, want %s", from, want)
		}
		if c, _, err := dial(nodes[0], to, 5*time.Second); err != nil {
			t.Errorf("node to pod %s: %v", to, err)
		} else {
			c.Close()
		}
		cutAndHeal(t, nodes, pods[0], to, c)
	}
}

func attach(t *testing.T, node, pod Namespace, i int) {
	t.Helper()
	addrs := []netip.Addr{netip.MustParseAddr(fmt.Sprintf("10.%d.1.5", i)), netip.MustParseAddr(fmt.Sprintf("fd00:10:%d:1::5", i))}
	gateways := []netip.Addr{netip.MustParseAddr(fmt.Sprintf("10.%d.1.1", i)), netip.MustParseAddr(fmt.Sprintf("fd00:10:%d:1::1", i))}
	if err := AttachPod(node, pod, "pod5", addrs, gateways); err != nil {
		t.Fatal(err)
	}
}

// cutAndHeal shows that neither a new connection nor the established one gets
// through while cut, and that the established one goes on afterwards.
func cutAndHeal(t *testing.T, nodes []Namespace, pod Namespace, to netip.AddrPort, established net.Conn) {
	t.Helper()
	for i, n := range nodes {
		other := 1 - i
		from := []netip.Prefix{
			netip.MustParsePrefix(fmt.Sprintf("10.%d.0.0/16", other)), netip.MustParsePrefix(fmt.Sprintf("fd00:10:%d::/48", other)),
		}
		for range 2 { // a second time changes nothing
			if err := n.Cut(fmt.Sprintf("c-%d", other), from); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, _, err := dial(pod, to, 300*time.Millisecond); err == nil {
		t.Errorf("new connection to %s through a cut", to)
	}
	_ = established.SetDeadline(time.Now().Add(300 * time.Millisecond))
	fmt.Fprintln(established, "hello")
	var word string
	if _, err := fmt.Fscanln(established, &word); err == nil {
		t.Errorf("established connection to %s through a cut", to)
	}
	for i, n := range nodes {
		for range 2 {
			if err := n.Heal(fmt.Sprintf("c-%d", 1-i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = established.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := fmt.Fscanln(established, &word); err != nil || word != "hello" {
		t.Errorf("established connection to %s after heal: %q, %v", to, word, err)
	}
}

// TestAttachPodShares attaches two pods to one node with the same gateways,
// lets them talk, and deletes one: the other's gateway stays, the link's name is
// free at once.
func TestAttachPodShares(t *testing.T) {
	node := testNamespace(t, "node")
	gateways := []netip.Addr{netip.MustParseAddr("10.1.1.1"), netip.MustParseAddr("fd00:10:1:1::1")}
	pods := []Namespace{testNamespace(t, "p1"), testNamespace(t, "p2"), testNamespace(t, "p3")}
	addrs := func(i int) []netip.Addr {
		return []netip.Addr{netip.MustParseAddr(fmt.Sprintf("10.1.1.%d", i)), netip.MustParseAddr(fmt.Sprintf("fd00:10:1:1::%d", i))}
	}
	for i, p := range pods[:2] {
		if err := AttachPod(node, p, fmt.Sprintf("pod%d", i), addrs(5+i), gateways); err != nil {
			t.Fatal(err)
		}
	}
	for _, a := range addrs(5) {
		to := netip.AddrPortFrom(a, 8080)
		echoServer(t, pods[0], to)
		if _, _, err := dial(pods[1], to, 5*time.Second); err != nil {
			t.Errorf("pod to pod on one node: %v", err)
		}
	}
	if err := pods[1].Delete(); err != nil {
		t.Fatal(err)
	}
	if err := AttachPod(node, pods[2], "pod1", addrs(7), gateways); err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs(5) {
		if _, _, err := dial(pods[2], netip.AddrPortFrom(a, 8080), 5*time.Second); err != nil {
			t.Errorf("after another pod's end: %v", err)
		}
	}
	if err := AttachPod(node, pods[2], "pod9", addrs(8), gateways); err == nil {
		t.Error("attached a pod twice")
	}
	_ = node.Do(func() error {
		if _, err := netlink.LinkByName("pod9"); err == nil {
			t.Error("a failed AttachPod left its link")
		}
		return nil
	})
}

func TestCutScript(t *testing.T) {
	got := cutScript("c-2", []netip.Prefix{netip.MustParsePrefix("10.2.0.0/16"), netip.MustParsePrefix("fd00:10:2::/48")})
	want := `table inet atoll_lab_cut_c_2
delete table inet atoll_lab_cut_c_2
table inet atoll_lab_cut_c_2 {
  chain arriving {
    type filter hook prerouting priority -400; policy accept;
    ip saddr 10.2.0.0/16 drop
    ip6 saddr fd00:10:2::/48 drop
  }
}
`
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestMasqueradeScript(t *testing.T) {
	got := masqueradeScript([]netip.Prefix{netip.MustParsePrefix("10.2.0.0/16"), netip.MustParsePrefix("fd00:10:2::/48")})
	want := `table inet atoll_lab_egress
delete table inet atoll_lab_egress
table inet atoll_lab_egress {
  chain leaving {
    type nat hook postrouting priority srcnat; policy accept;
    oifname eth0 ip saddr 10.2.0.0/16 ip daddr != 10.2.0.0/16 masquerade
    oifname eth0 ip6 saddr fd00:10:2::/48 ip6 daddr != fd00:10:2::/48 masquerade
  }
}
`
	if got != want {
		t.Errorf("script\n%s\nwant\n%s", got, want)
	}
}
