package embedded

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/atoll-mcs/atoll/cloudprovider"
)

func backends(n int) (list []cloudprovider.Backend) {
	for i := range n {
		list = append(list, cloudprovider.Backend{Address: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)}), 80)})
	}
	return list
}

var someone = netip.MustParseAddr("192.0.2.1")

// Backends that are up and not draining take turns. Other backends get connections only if
// there is none.
func TestTurns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := newGroup(&sync.WaitGroup{}, nil, func() {})
		list := backends(rapid.IntRange(1, 6).Draw(t, "backends"))
		for i := range list {
			list[i].Draining = rapid.Bool().Draw(t, "draining")
		}
		g.update(list, 0)
		var up, best []netip.AddrPort
		for _, b := range slices.Clone(g.backends) {
			if rapid.Bool().Draw(t, "down") {
				g.report(b, false)
			} else if up = append(up, b.address); !b.draining {
				best = append(best, b.address)
			}
		}
		if len(best) == 0 {
			best = up
		}
		got := map[netip.AddrPort]int{}
		const rounds = 5
		for range rounds * len(g.usable) {
			got[g.pick(someone, nil).address]++
		}
		for a, n := range got {
			if n != rounds || len(best) > 0 && !slices.Contains(best, a) {
				t.Fatalf("%s has %d of %v; the best are %v", a, n, got, best)
			}
		}
		if len(best) > 0 && len(got) != len(best) || len(got) == 0 {
			t.Fatalf("%v, and the best are %v", got, best)
		}
		// pick never returns a backend that has failed, and returns all others.
		var failed []*backend
		for range list {
			b := g.pick(someone, failed)
			if b == nil || slices.Contains(failed, b) {
				t.Fatalf("after %d: %v", len(failed), b)
			}
			failed = append(failed, b)
		}
		if b := g.pick(someone, failed); b != nil {
			t.Fatalf("all backends have failed, but pick returned %s", b.address)
		}
	})
}

func TestAffinity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(&sync.WaitGroup{}, nil, func() {})
		g.update(backends(3), time.Minute)
		first := g.pick(someone, nil)
		for range 3 {
			<-time.After(50 * time.Second)
			if got := g.pick(someone, nil); got != first {
				t.Errorf("a connection must restart the affinity time, but the next backend is %v", got)
			}
		}
		<-time.After(61 * time.Second)
		if got := g.pick(someone, nil); got == first {
			t.Error("the affinity outlived its timeout")
		}
	})
}

func TestLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l limits
		l.set(2, 10)
		began := time.Now()
		for range 25 {
			if err := l.await(t.Context()); err != nil {
				t.Fatal(err)
			}
			l.done()
		}
		// The burst is ten connections, followed by one connection every tenth of a second.
		if took := time.Since(began); took < 1490*time.Millisecond || took > 1600*time.Millisecond {
			t.Errorf("25 connections at 10 a second took %v", took)
		}
		l.set(2, 0)
		for range 2 {
			if err := l.await(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		third := make(chan error)
		go func() { third <- l.await(t.Context()) }()
		synctest.Wait()
		select {
		case <-third:
			t.Error("a third connection at a time, of two")
		default:
		}
		l.done()
		if err := <-third; err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() { third <- l.await(ctx) }()
		synctest.Wait()
		cancel()
		if err := <-third; err == nil {
			t.Error("a connection after the end")
		}
		go func() { third <- l.await(t.Context()) }()
		synctest.Wait()
		l.set(0, 0)
		if err := <-third; err != nil {
			t.Error(err)
		}
	})
}

// fakeDialer succeeds or fails as configured.
type fakeDialer struct {
	mu   sync.Mutex
	fail bool
	n    int
}

func (d *fakeDialer) DialContext(context.Context, string, string) (net.Conn, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.n++
	if d.fail {
		return nil, errors.New("refused")
	}
	a, b := net.Pipe()
	_ = b.Close()
	return a, nil
}

func (d *fakeDialer) set(fail bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fail, d.n = fail, 0
}

func TestChecks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &fakeDialer{}
		changes := 0
		var running sync.WaitGroup
		g := newGroup(&running, checkTCP(d), func() { changes++ })
		g.update(backends(1), 0)
		pass := func(x time.Duration) {
			<-time.After(x)
			synctest.Wait()
		}
		expect := func(when string, want, down int) {
			t.Helper()
			if changes != want || len(g.unreachable()) != down {
				t.Errorf("%s: %d changes, %d down; want %d and %d", when, changes, len(g.unreachable()), want, down)
			}
		}
		pass(time.Minute)
		expect("while it answers", 0, 0)
		if d.n < 9 || d.n > 14 {
			t.Errorf("%d checks in a minute", d.n)
		}
		d.set(true)
		pass(checkInterval * 11 / 10)
		d.set(false)
		pass(time.Minute)
		if down := len(g.unreachable()); changes != 0 && changes != 2 || down != 0 { // the backend went down and came up, or did not change
			t.Errorf("after one or two checks that failed: %d changes, %d down", changes, down)
		}
		changes = 0
		d.set(true)
		pass(checkInterval*11/10 + recheckInterval)
		expect("when it does not answer", 1, 1)
		d.set(false)
		pass(recheckInterval)
		expect("when it answers again", 2, 0)
		g.failed(g.backends[0])
		expect("when a connection failed", 3, 1)
		pass(recheckInterval)
		expect("a moment after that", 4, 0)
		g.close()
		running.Wait()
	})
}

func TestUDPPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running sync.WaitGroup
		g := newGroup(&running, pauseUDP, func() {})
		g.update(backends(2), 0)
		synctest.Wait()
		g.failed(g.backends[0])
		<-time.After(udpPause - time.Second)
		synctest.Wait()
		if len(g.unreachable()) != 1 {
			t.Error("a backend that refused a datagram is used again at once")
		}
		<-time.After(2 * time.Second)
		synctest.Wait()
		if len(g.unreachable()) != 0 {
			t.Error("a backend that refused a datagram is never used again")
		}
		g.close()
		running.Wait()
	})
}

func TestOptions(t *testing.T) {
	for _, options := range []map[string]string{{"drain": "-1s"}, {"drain": "long"}, {"colour": "blue"}} {
		if _, err := New(cloudprovider.Config{Options: options, Addresses: []string{"127.0.0.1"}}); err == nil {
			t.Errorf("%v: no error", options)
		}
	}
	if _, err := New(cloudprovider.Config{Addresses: []string{"nowhere"}}); err == nil {
		t.Error("no error for an invalid address")
	}
}
