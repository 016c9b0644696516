package clusterset

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/coredns/coredns/plugin"
	"github.com/coredns/coredns/plugin/whoami"
	"github.com/miekg/dns"
	"golang.org/x/sys/unix"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// discard is a writer that packs a reply, as the server does, and drops it.
type discard struct {
	dns.ResponseWriter
	remote net.Addr
	buffer []byte
}

func (d *discard) RemoteAddr() net.Addr { return d.remote }
func (d *discard) LocalAddr() net.Addr  { return d.remote }

func (d *discard) WriteMsg(m *dns.Msg) error {
	_, err := m.PackBuffer(d.buffer)
	return err
}

// nowhere is a writer that does not even pack.
type nowhere struct{ *discard }

func (nowhere) WriteMsg(*dns.Msg) error { return nil }

// clusterOf returns a handler with n services, half of them headless with four
// endpoints in two clusters.
func clusterOf(n int, zones ...string) *fixture {
	f := newFixture(append([]string{testZone}, zones...)...)
	f.imports.Replace(nil, "")
	f.slices.Replace(nil, "")
	for i := range n {
		ns, name := fmt.Sprintf("ns-%d", i%100), fmt.Sprintf("svc-%d", i)
		if i%2 == 0 {
			f.imports.Add(vip(ns, name, net.IPv4(10, byte(i>>16), byte(i>>8), byte(i)).String()))
			continue
		}
		h := headless(ns, name, "http")
		f.imports.Add(h)
		for c := range 2 {
			f.slices.Add(slice(h, fmt.Sprintf("c%d", c), fmt.Sprintf("%s-%d", name, c),
				net.IPv4(11+byte(c)*2, byte(i>>16), byte(i>>8), byte(i)).String(),
				net.IPv4(12+byte(c)*2, byte(i>>16), byte(i>>8), byte(i)).String()))
		}
	}
	f.update()
	return f
}

// BenchmarkServeDNS measures a query from the unpacked question to the packed reply,
// and the handler alone. x-whoami is how many times as long CoreDNS's plugin whoami takes,
// which looks nothing up, in the same run.
func BenchmarkServeDNS(b *testing.B) {
	for _, n := range []int{1_000, 50_000} {
		f := clusterOf(n, "in-addr.arpa.")
		for _, q := range []struct {
			name, format string
			qtype        uint16
			odd          int
		}{
			{"A", "svc-%d.ns-%d.svc.clusterset.local.", dns.TypeA, 0},
			{"NODATA", "svc-%d.ns-%d.svc.clusterset.local.", dns.TypeAAAA, 0},
			{"NXDOMAIN", "none-%d.ns-%d.svc.clusterset.local.", dns.TypeA, 0},
			{"SRV", "_http._tcp.svc-%d.ns-%d.svc.clusterset.local.", dns.TypeSRV, 0},
			{"headlessA", "svc-%d.ns-%d.svc.clusterset.local.", dns.TypeA, 1},
			{"headlessSRV", "_http._tcp.svc-%d.ns-%d.svc.clusterset.local.", dns.TypeSRV, 1},
			{"PTR", "", dns.TypePTR, 0},
		} {
			queries := make([]*dns.Msg, 1024)
			for i := range queries {
				service := (i*7919*2 + q.odd) % n
				qname := fmt.Sprintf(q.format, service, service%100)
				if q.qtype == dns.TypePTR {
					qname = fmt.Sprintf("%d.%d.%d.10.in-addr.arpa.", service&0xff, service>>8&0xff, service>>16)
				}
				queries[i] = new(dns.Msg)
				queries[i].SetQuestion(qname, q.qtype)
			}
			d := &discard{remote: &net.UDPAddr{IP: net.IPv4(10, 0, 0, 1)}, buffer: make([]byte, 4096)}
			for _, w := range []struct {
				name string
				dns.ResponseWriter
			}{{"handler", nowhere{d}}, {"packed", d}} {
				b.Run(fmt.Sprintf("services=%d/%s/%s", n, q.name, w.name), func(b *testing.B) {
					b.ReportAllocs()
					serve := func(h plugin.Handler, i int) {
						if _, err := h.ServeDNS(context.Background(), w.ResponseWriter, queries[i%len(queries)]); err != nil {
							b.Fatal(err)
						}
					}
					i := 0
					for ; b.Loop(); i++ {
						serve(f, i)
					}
					b.ReportMetric(ratio(b, func() {
						for i := range queries {
							serve(whoami.Whoami{}, i)
						}
					}, func() {
						for i := range queries {
							serve(f, i)
						}
					}), "x-whoami")
				})
			}
		}
	}
}

// ratio returns how many times as long a takes as b, in time of the processor. They take
// turns, and of each the median counts, so that what else the machine does matters little.
func ratio(b *testing.B, first, second func()) float64 {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	used := func() time.Duration {
		var t unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
			b.Fatal(err)
		}
		return time.Duration(t.Nano())
	}
	const rounds = 101
	var took [2][]time.Duration
	for range rounds {
		for i, f := range []func(){first, second} {
			began := used()
			f()
			took[i] = append(took[i], used()-began)
		}
	}
	for i := range took {
		slices.Sort(took[i])
	}
	return float64(took[0][rounds/2]) / float64(took[1][rounds/2])
}

// BenchmarkUpdate measures a change from the event to the index.
func BenchmarkUpdate(b *testing.B) {
	for _, n := range []int{1_000, 50_000} {
		f := clusterOf(n)
		h := headless("ns-1", "svc-1", "http")
		versions := []any{slice(h, "c0", "svc-1-0", "10.0.0.1"), slice(h, "c0", "svc-1-0", "10.0.0.2")}
		b.Run(fmt.Sprintf("services=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				f.slices.Update(versions[i%2])
				f.update()
				i++
			}
		})
	}
}

// BenchmarkUpdateOfLargeService measures the change of one endpoint in a service of
// slices with 100 endpoints each. x-rebuild is how many times as long it takes to sort
// the endpoints and make the service's answers anew, in the same run.
func BenchmarkUpdateOfLargeService(b *testing.B) {
	for _, n := range []int{1, 10, 200} {
		f := newFixture(testZone).with()
		h := headless("shop", "large", "http")
		f.imports.Add(h)
		var all []any
		for s := range n {
			ips := make([]string, 100)
			for i := range ips {
				ips[i] = net.IPv4(10, 1, byte(s), byte(i)).String()
			}
			all = append(all, slice(h, "c1", fmt.Sprintf("large-%d", s), ips...))
			f.slices.Add(all[s])
		}
		f.update()
		changed := all[0].(*discoveryv1.EndpointSlice).DeepCopy()
		changed.Endpoints[0].Addresses[0] = "10.2.0.1"
		versions := []any{changed, all[0]}
		b.Run(fmt.Sprintf("endpoints=%d", n*100), func(b *testing.B) {
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				f.slices.Update(versions[i%2])
				f.update()
				i++
			}
			b.ReportMetric(ratio(b, func() {
				f.rebuild()
			}, func() {
				f.slices.Update(versions[i%2])
				f.update()
				i++
			}), "x-rebuild")
		})
	}
}

// rebuild makes the answers of the one service anew, of slices that are taken apart already:
// what a change would cost if nothing were kept in order and nothing taken over.
func (f *fixture) rebuild() {
	f.known.mu.Lock()
	defer f.known.mu.Unlock()
	var all members
	for _, s := range f.known.slices {
		all = appendAddresses(all, s)
	}
	slices.SortFunc(all, inOrder)
	for key, from := range f.known.imports {
		f.zones[0].builder.build(change{key, from, all}, nil)
	}
}

// BenchmarkMemory reports what the handler keeps for each service.
func BenchmarkMemory(b *testing.B) {
	const n = 50_000
	for _, zones := range [][]string{nil, {"in-addr.arpa."}} {
		b.Run(fmt.Sprintf("reverse=%v", zones != nil), func(b *testing.B) {
			var f *fixture
			var before, after runtime.MemStats
			for b.Loop() {
				f = nil
				runtime.GC()
				runtime.ReadMemStats(&before)
				f = clusterOf(n, zones...)
				runtime.GC()
				runtime.ReadMemStats(&after)
			}
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n, "B/service")
			runtime.KeepAlive(f)
		})
	}
}
