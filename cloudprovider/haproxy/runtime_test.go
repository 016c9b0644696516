package haproxy

import (
	"bufio"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// If enabling the checks of a server failed, the next attempt enables them.
func TestChecksAreTurnedOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var commands []string
	answers := map[string]string{"enable health": "No.", "add server": "New server registered."}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			line, _ := bufio.NewReader(conn).ReadString('\n')
			mu.Lock()
			words := strings.Fields(line)
			commands = append(commands, strings.Join(words[:min(3, len(words))], " "))
			fmt.Fprintln(conn, answers[strings.Join(words[:2], " ")])
			mu.Unlock()
			_ = conn.Close()
		}
	}()
	defer listener.Close()
	l := listen{structure: structure{Name: "n_web_80"}, Servers: []netip.AddrPort{at("10.0.0.1:80")}}
	have := map[netip.AddrPort]serverState{}
	if err := change(t.Context(), path, l, have); err == nil {
		t.Error("no error")
	}
	mu.Lock()
	answers["enable health"] = ""
	commands = nil
	mu.Unlock()
	// "show servers state" reports this after the failed call.
	have = map[netip.AddrPort]serverState{at("10.0.0.1:80"): {resting: true}}
	if err := change(t.Context(), path, l, have); err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if want := []string{"enable health n_web_80/10.0.0.1_80", "set server n_web_80/10.0.0.1_80"}; !slices.Equal(commands, want) {
		t.Errorf("got %q, want %q", commands, want)
	}
}

// Addresses in a file of another hub are validated before they get into a configuration. A zone
// can be any text.
func TestRecalledAddressesAreChecked(t *testing.T) {
	evil := netip.MustParseAddr("fe80::1").WithZone("x:80\nlisten evil")
	b := everything(t)
	b.Listens[0].Resting = []netip.AddrPort{netip.AddrPortFrom(evil, 80), at("10.0.0.2:8080")}
	b.Listens[0].Servers = []netip.AddrPort{at("10.0.0.1:8080"), at("10.0.0.1:0"), at("0.0.0.0:80")}
	if err := b.check(); err != nil || !slices.Equal(b.Listens[0].Resting, []netip.AddrPort{at("10.0.0.2:8080")}) ||
		!slices.Equal(b.Listens[0].Servers, []netip.AddrPort{at("10.0.0.1:8080")}) {
		t.Errorf("servers from the file: %v, resting %v, error %v", b.Listens[0].Servers, b.Listens[0].Resting, err)
	}
	b.Listens[0].Binds = []netip.AddrPort{netip.AddrPortFrom(evil, 80)}
	if err := b.check(); err == nil {
		t.Error("a zone in a listen address was accepted")
	}
}

// A worker that ends during a query counts as ended, not as unresponsive.
func TestEndsWhileAsked(t *testing.T) {
	p := process{t.TempDir()}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: p.worker(), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	listener.SetUnlinkOnClose(false)
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := listener.Accept()
		if err == nil {
			_, _ = conn.Read(make([]byte, 1)) // unread data resets the connection
			_ = conn.Close()
		}
		_ = listener.Close()
	}()
	if version, err := p.version(t.Context()); version != "" || err != nil {
		t.Errorf("got %q, %v", version, err)
	}
	<-done
}
