package haproxy

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A server whose checks could not be turned on has them turned on when it is tried again.
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
	// As "show servers state" tells it, for the former call has failed.
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

// However many servers go down at once, each section is asked for once.
func TestLogIsCoalesced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l")
	conn, err := listenLog(path)
	if err != nil {
		t.Fatal(err)
	}
	l := newLog()
	var running sync.WaitGroup
	running.Go(func() { l.read(conn) })
	sender, err := net.Dial("unixgram", path)
	if err != nil {
		t.Fatal(err)
	}
	defer sender.Close()
	send := func(section string, server int) {
		fmt.Fprintf(sender, "<133>haproxy[1]: Server %s/10.0.0.%d_80 is DOWN, reason: x.", section, server)
	}
	batches, goOn := make(chan map[string]bool), make(chan struct{})
	running.Go(func() {
		l.handle(func(sections map[string]bool) {
			batches <- sections
			<-goOn
		})
		close(batches)
	})
	send("n_web_80", 0)
	if got := <-batches; len(got) != 1 || !got["n_web_80"] {
		t.Errorf("first %v", got)
	}
	for i := range 200 { // while it is busy
		send("n_web_80", i)
	}
	send("n_other_80", 1)
	w := &world{T: t}
	w.eventually("all is read", func() error {
		l.mu.Lock()
		defer l.mu.Unlock()
		if len(l.changed) != 2 {
			return fmt.Errorf("%v", l.changed)
		}
		return nil
	})
	goOn <- struct{}{}
	if got := <-batches; len(got) != 2 {
		t.Errorf("then %v", got)
	}
	l.mu.Lock()
	if len(l.changed) > 0 {
		t.Errorf("to be looked at again: %v", l.changed)
	}
	l.mu.Unlock()
	_ = conn.Close()
	goOn <- struct{}{}
	for range batches {
		t.Error("more after the end")
		goOn <- struct{}{}
	}
	running.Wait()
}

// Lines that HAProxy could not log are made up for by a look at everything.
func TestLostLinesAreMadeUpFor(t *testing.T) {
	w := newWorld(t)
	web, other := mcs("web"), mcs("other")
	gone, a := w.serve("gone"), w.serve("a")
	w.must(w.apply(web, 0, 1, a))
	w.must(w.apply(other, 0, 1, a, gone))
	w.applying <- struct{}{}
	w.lost = "as if some were lost"
	// Nothing was logged of it: the administrator's word is not, in this form.
	_, err := query(context.Background(), w.process.worker(), "set server n_other_8080/"+serverName(gone)+" health down")
	w.must(err)
	<-w.applying
	w.refresh(map[string]bool{"n_web_8080": true})
	if got := w.Unreachable(nameOf(other)); !slices.Equal(got, []netip.AddrPort{gone}) {
		t.Errorf("unreachable: %v", got)
	}
}

// What was written to a file by another hub gets into no configuration unchecked. A zone is any text.
func TestRecalledAddressesAreChecked(t *testing.T) {
	evil := netip.MustParseAddr("fe80::1").WithZone("x:80\nlisten evil")
	b := everything(t)
	b.Listens[0].Resting = []netip.AddrPort{netip.AddrPortFrom(evil, 80), at("10.0.0.2:8080")}
	b.Listens[0].Servers = []netip.AddrPort{at("10.0.0.1:8080"), at("10.0.0.1:0"), at("0.0.0.0:80")}
	if err := b.check(); err != nil || !slices.Equal(b.Listens[0].Resting, []netip.AddrPort{at("10.0.0.2:8080")}) ||
		!slices.Equal(b.Listens[0].Servers, []netip.AddrPort{at("10.0.0.1:8080")}) {
		t.Errorf("of servers that were recalled there are %v, %v, %v", b.Listens[0].Servers, b.Listens[0].Resting, err)
	}
	b.Listens[0].Binds = []netip.AddrPort{netip.AddrPortFrom(evil, 80)}
	if err := b.check(); err == nil {
		t.Error("a zone in what is listened at is not seen")
	}
}

// A worker that ends while it is asked has ended, and is not one that does not answer.
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
			_, _ = conn.Read(make([]byte, 1)) // what is not read has the other side's connection be reset
			_ = conn.Close()
		}
		_ = listener.Close()
	}()
	if version, err := p.version(t.Context()); version != "" || err != nil {
		t.Errorf("got %q, %v", version, err)
	}
	<-done
}
