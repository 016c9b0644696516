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
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/cloudprovider"
)

// within is apply with little time.
func (w *world) within(d time.Duration, m *networkingv1alpha1.MultiClusterService, ports int, server netip.AddrPort) error {
	w.mu.Lock()
	s := cloudprovider.Service{}
	for i := range ports {
		s.Ports = append(s.Ports, cloudprovider.Port{Protocol: "TCP", Number: int32(8080 + i), Backends: []cloudprovider.Backend{{Address: server}}})
	}
	w.services[nameOf(m)] = s
	w.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	status, err := w.EnsureMCSLoadBalancer(ctx, m)
	if status != nil {
		m.Status.LoadBalancer = *status
	}
	return err
}

func (w *world) signal(signal syscall.Signal, pids ...int) {
	w.Helper()
	for _, pid := range pids {
		w.must(syscall.Kill(pid, signal))
	}
}

// A HAProxy that does not answer for a while is not taken for one that has ended, by the hub that runs nor by one that
// starts: what it carries goes on, and it takes what has changed when it answers again.
func TestHAProxyIsSlow(t *testing.T) {
	w := newWorld(t)
	web, more, third := mcs("web"), mcs("more"), mcs("third")
	a := w.serve("a")
	w.must(w.apply(web, 0, 1, a))
	conn, _, err := connect(web)
	w.must(err)
	defer conn.Close()
	pids := processesOf(w.process.folder)
	w.signal(syscall.SIGSTOP, pids...)
	// One more needs another configuration, and so does another port.
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
	w.signal(syscall.SIGCONT, pids...)
	w.must(w.apply(more, 0, 2, a))
	w.must(w.apply(web, 0, 2, a))
	w.must(w.apply(third, 0, 1, a))
	for _, m := range []*networkingv1alpha1.MultiClusterService{web, more, third} {
		if got := w.ask(m); got != "a\n" {
			t.Errorf("%s: %s", m.Name, got)
		}
	}
	w.must(echoes(conn, "still there"))
	for _, pid := range processesOf(w.dir) {
		if !slices.Contains(pids, pid) && slices.Contains(pids, parentOf(t, pid)) {
			continue // another worker, by the reload
		}
		if !slices.Contains(pids, pid) {
			t.Errorf("process %d is another HAProxy, beside %v", pid, pids)
		}
	}
}

func parentOf(t *testing.T, pid int) int {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	parent, err := strconv.Atoi(strings.Fields(after)[1])
	if err != nil {
		t.Fatal(err)
	}
	return parent
}

// Who starts HAProxy and does not see it begin in time leaves one that is known: the next call finds it, and its end is noticed.
func TestHAProxyStartsSlowly(t *testing.T) {
	w := newWorld(t)
	slow := filepath.Join(w.dir, "slow")
	w.must(os.WriteFile(slow, []byte("#!/bin/sh\n"+w.process.program+" \"$@\" || exit\ncase \" $* \" in *' -D '*) sleep 10;; esac\n"), 0o700))
	fast := w.process.program
	w.process.program = slow
	web := mcs("web")
	a := w.serve("a")
	if err := w.within(8*time.Second, web, 1, a); err == nil {
		t.Error("no error, though there was no time")
	}
	first := processesOf(w.dir)
	w.must(w.apply(web, 0, 1, a))
	if got := w.ask(web); got != "a\n" {
		t.Error(got)
	}
	if now := processesOf(w.dir); !slices.Equal(now, first) {
		t.Errorf("processes %v, then %v", first, now)
	}
	w.process.program = fast
	pid, err := w.process.pid(context.Background())
	w.must(err)
	w.signal(syscall.SIGKILL, pid)
	w.answersAgain(web, pid)

	// One that ends at once is told of at once.
	w.must(w.EnsureMCSLoadBalancerDeleted(context.Background(), web))
	w.process.program = filepath.Join(w.dir, "none")
	w.must(os.WriteFile(w.process.program, []byte("#!/bin/sh\n"), 0o700))
	began := time.Now()
	if err := w.apply(web, 0, 1, a); err == nil || !strings.Contains(err.Error(), "has ended") || time.Since(began) > loadTimeout/2 {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
	w.process.program = fast
	w.must(w.apply(web, 0, 1, a))
}

// answersAgain waits for another master than pid, and for its answer.
func (w *world) answersAgain(m *networkingv1alpha1.MultiClusterService, pid int) {
	w.Helper()
	w.eventually("another HAProxy's answer", func() error {
		w.applying <- struct{}{}
		now, err := w.process.pid(context.Background())
		<-w.applying
		if err != nil || now == pid {
			return fmt.Errorf("process %d: %w", now, err)
		}
		if got := w.ask(m); got != "a\n" {
			return errors.New(got)
		}
		return nil
	})
}

// A hub that takes HAProxy over while its master does not answer notices its end all the same, later.
func TestWatchedLater(t *testing.T) {
	w := newWorld(t)
	web := mcs("web")
	w.must(w.apply(web, 0, 1, w.serve("a")))
	pid, err := w.process.pid(context.Background())
	w.must(err)
	w.stop()
	w.signal(syscall.SIGSTOP, pid)
	w.start()
	w.must(w.apply(web, 0, 1, w.serve("a"))) // which concerns the worker alone
	w.signal(syscall.SIGKILL, pid)
	w.answersAgain(web, pid)
}

// Where somebody has deleted its sockets, HAProxy goes on with what it carries, and the hub says which process it is.
func TestSocketsAreDeleted(t *testing.T) {
	w := newWorld(t)
	web := mcs("web")
	a := w.serve("a")
	w.must(w.apply(web, 0, 1, a))
	pid, err := w.process.pid(context.Background())
	w.must(err)
	w.must(os.RemoveAll(w.process.folder))
	if err := w.apply(web, 0, 2, a); err == nil || !strings.Contains(err.Error(), "end process "+strconv.Itoa(pid)) {
		t.Errorf("got %v, want one that names process %d", err, pid)
	}
	if got := w.ask(web); got != "a\n" {
		t.Error(got)
	}
	w.signal(syscall.SIGTERM, pid)
	w.answersAgain(web, pid)
}

// Where the hub is process 1 of a container, HAProxy's processes become its children, and leave no zombies when they end.
func TestProcessesAreReaped(t *testing.T) {
	w := newWorld(t)
	w.must(unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
	defer func() { w.must(unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)) }()
	web := mcs("web")
	w.must(w.apply(web, 0, 1, w.serve("a")))
	pid, err := w.process.pid(context.Background())
	w.must(err)
	all := processesOf(w.process.folder)
	if len(all) != 2 || parentOf(t, pid) != os.Getpid() {
		t.Fatalf("processes %v, of which %d is a child of %d, and this is %d", all, pid, parentOf(t, pid), os.Getpid())
	}
	w.signal(syscall.SIGKILL, pid)
	w.answersAgain(web, pid)
	w.eventually("no zombies", func() error {
		for _, each := range all {
			if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", each)); err == nil {
				return fmt.Errorf("of %v, where %d was the master: %s", all, pid, stat)
			}
		}
		return nil
	})
}

// What could not be remembered holds no address, and deleting what is not there frees one too.
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
		t.Error("no error, though there is no folder to remember it in")
	}
	w.must(os.Mkdir(w.memories(), 0o700))
	w.must(w.apply(other, 0, 1, a))
}

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
	_, err := ask(context.Background(), w.process.worker(), "set server n_other_8080/"+serverName(gone)+" health down")
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
	p := process{folder: t.TempDir()}
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
