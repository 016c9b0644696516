package network

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
)

// testNamespace creates a network namespace and deletes it after the test.
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

// echoServer answers every TCP connection to addr with the client's address, and echoes its
// input.
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

// dial connects and returns the connection and the client address that the server saw.
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
		t.Error("entered a missing namespace")
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

// TestNodes connects two dual-stack nodes by a bridge, sends traffic over a route, cuts the
// connection and heals it.
func TestNodes(t *testing.T) {
	fabric := testNamespace(t, "fabric")
	if err := fabric.CreateBridge("fabric"); err != nil {
		t.Fatal(err)
	}
	var nodes []Namespace
	for i := range 2 {
		node := testNamespace(t, fmt.Sprintf("n%d", i))
		nodes = append(nodes, node)
		addrs := []netip.Prefix{
			netip.MustParsePrefix(fmt.Sprintf("172.30.%d.1/16", i)), netip.MustParsePrefix(fmt.Sprintf("fd00:172:30::%d:1/64", i)),
			netip.MustParsePrefix(fmt.Sprintf("10.%d.1.5/32", i)), netip.MustParsePrefix(fmt.Sprintf("fd00:10:%d:1::5/128", i)),
		}
		if err := AttachBridge(fabric, "fabric", fmt.Sprintf("port%d", i), node, addrs); err != nil {
			t.Fatal(err)
		}
		other := 1 - i
		if err := node.AddRoutes([]Route{
			{netip.MustParsePrefix(fmt.Sprintf("10.%d.0.0/16", other)), netip.MustParseAddr(fmt.Sprintf("172.30.%d.1", other))},
			{netip.MustParsePrefix(fmt.Sprintf("fd00:10:%d::/48", other)), netip.MustParseAddr(fmt.Sprintf("fd00:172:30::%d:1", other))},
		}); err != nil {
			t.Fatal(err)
		}
	}
	of0 := []string{"172.30.0.1", "10.0.1.5", "fd00:172:30::1", "fd00:10:0:1::5"}
	for _, server := range []string{"10.1.1.5", "172.30.1.1", "fd00:10:1:1::5", "fd00:172:30::1:1"} {
		to := netip.AddrPortFrom(netip.MustParseAddr(server), 8080)
		echoServer(t, nodes[1], to)
		c, from, err := dial(nodes[0], to, 5*time.Second)
		if err != nil {
			t.Fatalf("%s: %v", to, err)
		}
		defer c.Close()
		if !slices.Contains(of0, from) {
			t.Errorf("%s saw %s, want one of %v", server, from, of0)
		}
		cutAndHeal(t, nodes, to, c)
	}
}

// cutAndHeal checks that no traffic passes while the nodes are cut, and that the established
// connection works afterwards.
func cutAndHeal(t *testing.T, nodes []Namespace, to netip.AddrPort, established net.Conn) {
	t.Helper()
	for i, n := range nodes {
		other := 1 - i
		from := []netip.Prefix{
			netip.MustParsePrefix(fmt.Sprintf("172.30.%d.1/32", other)), netip.MustParsePrefix(fmt.Sprintf("10.%d.0.0/16", other)),
			netip.MustParsePrefix(fmt.Sprintf("fd00:172:30::%d:1/128", other)), netip.MustParsePrefix(fmt.Sprintf("fd00:10:%d::/48", other)),
		}
		for range 2 { // the second call has no effect
			if err := n.Cut(fmt.Sprintf("c-%d", other), from); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, _, err := dial(nodes[0], to, 300*time.Millisecond); err == nil {
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
