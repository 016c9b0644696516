package haproxy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/cloudprovider"
)

// A server that HAProxy started as a draining server works like any other after it is made
// ready: it can drain again, is reported when it does not answer, and can be deleted.
func TestServersThatBeginResting(t *testing.T) {
	w := newWorld(t)
	web := mcs("web")
	a, p := w.serve("a"), w.serve("p")
	w.must(w.give(web, forwarded(8080, []netip.AddrPort{p}, a)))
	w.must(w.give(web, forwarded(8080, []netip.AddrPort{a, p}))) // all servers are draining and keep serving
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
	w.refresh() // as after a change of a server's health
	w.must(w.give(web, forwarded(8080, []netip.AddrPort{p}, a)))
	if got := answered(); got["a\n"] != 10 {
		t.Errorf("a single backend is not draining: %v", got)
	}
	w.must(w.give(web, forwarded(8080, nil, a)))
	found, err := states(context.Background(), w.process.worker(), "n_web_8080")
	w.must(err)
	if len(found["n_web_8080"]) != 1 {
		t.Errorf("want a single server: %v", found)
	}
}

// A reload for one of many load balancers keeps the state of all other servers, in the hub and
// in HAProxy: no report is sent, and no client's connection goes to a dead server. A server
// that answers again is up again.
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
		making.Go(func() { // concurrent changes share a reload
			if err := w.give(m, forwarded(int32(8100+i), nil, a, dead)); err != nil {
				t.Error(err)
			}
		})
	}
	making.Wait()
	w.eventually("each load balancer has an unreachable backend", func() error {
		for _, m := range all {
			if got := w.Unreachable(cloudprovider.KeyOf(m)); !slices.Equal(got, []netip.AddrPort{dead}) {
				return fmt.Errorf("%s: %v", m.Name, got)
			}
		}
		return nil
	})
	var told atomic.Int32
	report := func(name types.NamespacedName) {
		if name.Name != "more" {
			told.Add(1)
		}
	}
	w.told.Store(&report)
	before, err := w.process.identity(context.Background())
	w.must(err)
	w.must(w.give(mcs("more"), forwarded(8080, nil, a)))
	after, err := w.process.identity(context.Background())
	w.must(err)
	if after == before {
		t.Error("HAProxy was not reloaded")
	}
	for attempt := range 2 {
		found, err := states(context.Background(), w.process.worker(), "")
		w.must(err)
		for i, m := range all {
			section := fmt.Sprintf("n_%s_%d", m.Name, 8100+i)
			if got := found[section]; len(got) != 2 || !got[dead].down || got[a].down || got[dead].resting {
				t.Errorf("attempt %d: HAProxy has %+v of %s", attempt, got, section)
			}
			if got := w.Unreachable(cloudprovider.KeyOf(m)); !slices.Equal(got, []netip.AddrPort{dead}) {
				t.Errorf("attempt %d: of %s %v do not answer", attempt, m.Name, got)
			}
		}
		if attempt == 0 { // the health checks of the new process agree
			w.must(w.give(mcs("another"), forwarded(8081, nil, a)))
		}
	}
	if n := told.Load(); n > 0 {
		t.Errorf("%d unexpected reports", n)
	}
	if _, err := os.Stat(w.stateFile()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the state file was not deleted: %v", err)
	}
	late, listen := w.refuse()
	w.must(w.give(all[0], forwarded(8100, nil, a, late)))
	w.eventually("the server is unreachable", func() error {
		if got := w.Unreachable(cloudprovider.KeyOf(all[0])); !slices.Equal(got, []netip.AddrPort{late}) {
			return fmt.Errorf("%v", got)
		}
		return nil
	})
	w.must(w.give(mcs("third"), forwarded(8082, nil, a)))
	listen()
	w.eventually("the server is reachable again", func() error {
		if got := w.Unreachable(cloudprovider.KeyOf(all[0])); len(got) > 0 {
			return fmt.Errorf("%v", got)
		}
		return nil
	})
}

// An old worker process with connections is ended after a limited number of reloads.
func TestMaxReloads(t *testing.T) {
	w := newWorld(t, "max-reloads=2")
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
			return errors.New("the connection is still open after four reloads")
		}
		return nil
	})
}

// Excluded clients do not use the rate limit of admitted clients.
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
	answer, err := query(context.Background(), w.process.worker(), "show stat n_web_8080 1 -1")
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

// If the configuration cannot be written or loaded, load balancers still follow their backends,
// and a deleted load balancer stops forwarding. The provider returns an error and writes the
// configuration later.
func TestFollowsByTheSocket(t *testing.T) {
	w := newWorld(t)
	web, more, gone := mcs("web"), mcs("more"), mcs("gone")
	a, b, c := w.serve("a"), w.serve("b"), w.serve("c")
	w.must(w.apply(web, 0, 1, a))
	w.must(w.apply(gone, 0, 1, a))
	fails := func(what string, err error) {
		t.Helper()
		if err == nil {
			t.Errorf("%s: no error", what)
		}
	}

	// The state cannot be written, as on a full disk.
	w.must(os.Rename(w.memories(), w.memories()+"-away"))
	fails("a change that can't be written down", w.apply(web, 0, 1, b))
	w.answers("web", "b")
	w.must(os.Rename(w.memories()+"-away", w.memories()))
	w.must(w.apply(web, 0, 1, b))
	if noted, err := os.ReadFile(w.memory(cloudprovider.KeyOf(web))); err != nil || !strings.Contains(string(noted), b.String()) {
		t.Errorf("remembered is %s, %v", noted, err)
	}

	// No configuration can be loaded.
	configuration := w.process.configFile()
	w.must(os.Rename(configuration, configuration+"-away"))
	w.must(os.Mkdir(configuration, 0o700))
	fails("another load balancer", w.apply(more, 0, 1, a))
	fails("while another one can't be loaded", w.apply(web, 0, 1, c))
	w.answers("web", "c")
	fails("a load balancer less", w.EnsureMCSLoadBalancerDeleted(context.Background(), gone))
	if got := w.ask(gone); got == "a\n" {
		t.Error("the deleted load balancer still forwards to its server")
	}
	w.must(os.Remove(configuration))
	w.must(os.Rename(configuration+"-away", configuration))
	w.must(w.apply(more, 0, 1, a))
	w.answers("more", "a")
	w.must(w.apply(web, 0, 1, b))
	w.answers("web", "b")
	w.must(w.EnsureMCSLoadBalancerDeleted(context.Background(), gone))
	w.ends("one that was deleted", gone)
}

// All servers of a port use the same PROXY protocol setting. A change needs a reload.
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
	w.must(w.apply(web, 0, 1, a, b))
	are("without", "none", "a", "b")
	web.Annotations = map[string]string{cloudprovider.AnnotationProxyProtocol: "v1"}
	w.must(w.apply(web, 0, 1, a, b))
	are("loaded", "PROXY", "a", "b")
	w.must(w.apply(web, 0, 1, a, b, c))
	are("one more", "PROXY", "a", "b", "c")
	web.Annotations = nil
	w.must(w.apply(web, 0, 1, a, b, c))
	are("taken back", "none", "a", "b", "c")
}
