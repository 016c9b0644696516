package clusterset

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"testing"

	"github.com/miekg/dns"
)

// discard is a writer that packs a reply, as the server does, and drops it.
type discard struct {
	dns.ResponseWriter
	remote net.Addr
	buffer []byte
}

func (d *discard) RemoteAddr() net.Addr { return d.remote }

func (d *discard) WriteMsg(m *dns.Msg) error {
	_, err := m.PackBuffer(d.buffer)
	return err
}

// nowhere is a writer that does not even pack.
type nowhere struct{ *discard }

func (nowhere) WriteMsg(*dns.Msg) error { return nil }

// clusterOf returns a handler with n services, half of them headless with four
// endpoints in two clusters.
func clusterOf(n int) *fixture {
	f := newFixture(testZone)
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

// BenchmarkServeDNS measures a query from the unpacked question to the packed
// reply, and the handler alone.
func BenchmarkServeDNS(b *testing.B) {
	for _, n := range []int{1_000, 50_000} {
		f := clusterOf(n)
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
		} {
			queries := make([]*dns.Msg, 1024)
			for i := range queries {
				service := (i*7919*2 + q.odd) % n
				queries[i] = new(dns.Msg)
				queries[i].SetQuestion(fmt.Sprintf(q.format, service, service%100), q.qtype)
			}
			d := &discard{remote: &net.UDPAddr{IP: net.IPv4(10, 0, 0, 1)}, buffer: make([]byte, 4096)}
			for _, w := range []struct {
				name string
				dns.ResponseWriter
			}{{"handler", nowhere{d}}, {"packed", d}} {
				b.Run(fmt.Sprintf("services=%d/%s/%s", n, q.name, w.name), func(b *testing.B) {
					b.ReportAllocs()
					i := 0
					for b.Loop() {
						if _, err := f.ServeDNS(context.Background(), w.ResponseWriter, queries[i%len(queries)]); err != nil {
							b.Fatal(err)
						}
						i++
					}
				})
			}
		}
	}
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

// BenchmarkUpdateOfLargeService measures the same where the service has 200
// slices of 100 endpoints each.
func BenchmarkUpdateOfLargeService(b *testing.B) {
	f := newFixture(testZone).with()
	h := headless("shop", "large", "http")
	f.imports.Add(h)
	for s := range 200 {
		ips := make([]string, 100)
		for i := range ips {
			ips[i] = net.IPv4(10, 1, byte(s), byte(i)).String()
		}
		f.slices.Add(slice(h, "c1", fmt.Sprintf("large-%d", s), ips...))
	}
	f.update()
	versions := []any{slice(h, "c1", "large-0", "10.0.0.1"), slice(h, "c1", "large-0", "10.0.0.2")}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		f.slices.Update(versions[i%2])
		f.update()
		i++
	}
}

// BenchmarkMemory reports what the handler keeps for each service.
func BenchmarkMemory(b *testing.B) {
	const n = 50_000
	var f *fixture
	var before, after runtime.MemStats
	for b.Loop() {
		f = nil
		runtime.GC()
		runtime.ReadMemStats(&before)
		f = clusterOf(n)
		runtime.GC()
		runtime.ReadMemStats(&after)
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n, "B/service")
	runtime.KeepAlive(f)
}
