package clusterset

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"strings"
	"testing"

	"github.com/coredns/coredns/plugin/pkg/dnstest"
	"github.com/coredns/coredns/plugin/test"
	"github.com/coredns/coredns/request"
	"github.com/miekg/dns"
)

// zoo is a handler with objects of all kinds.
func zoo() *fixture {
	pets := headless("shop", "pets", "http", "admin")
	s := slice(pets, "c1.eu", "a", "10.0.0.1", "10.0.0.2", "10.0.0.3")
	hostname := "my-pet"
	s.Endpoints[0].Hostname = &hostname
	return newFixture(testZone, "in-addr.arpa.", "ip6.arpa.").with(
		vip("shop", "web", "10.42.42.42", "fd00::1"), pets, s, slice(pets, "c2", "b", "fd00::7"))
}

// FuzzPacket answers arbitrary DNS messages. The handler must not panic, and every reply must
// be valid: it can be packed, fits, matches its question, and contains no other records.
func FuzzPacket(f *testing.F) {
	for _, qname := range []string{".", testZone, "web.shop.svc." + testZone, "_http._tcp.pets.shop.svc." + testZone,
		"my-pet.c1.eu.pets.shop.svc." + testZone, "1.0.0.10.in-addr.arpa.", `a\.b.svc.` + testZone, strings.Repeat("x.", 110) + testZone} {
		for _, qtype := range []uint16{dns.TypeA, dns.TypeSRV, dns.TypePTR, dns.TypeANY, dns.TypeAXFR} {
			r := new(dns.Msg)
			r.SetQuestion(qname, qtype)
			r.SetEdns0(600, true)
			packed, err := r.Pack()
			if err != nil {
				f.Fatal(err)
			}
			f.Add(packed)
		}
	}
	h := zoo()
	f.Fuzz(func(t *testing.T, packet []byte) {
		r := new(dns.Msg)
		if r.Unpack(packet) != nil {
			return
		}
		for _, tcp := range []bool{false, true} {
			r := r.Copy()
			rec := dnstest.NewRecorder(&test.ResponseWriter{TCP: tcp})
			if _, err := h.ServeDNS(context.Background(), request.NewScrubWriter(r, rec), r); err != nil || rec.Msg == nil {
				continue // the next plugin answers
			}
			m := rec.Msg
			packed, err := m.Pack()
			if err != nil {
				t.Fatalf("%v\n%v", err, m)
			}
			size := dns.MaxMsgSize
			if !tcp {
				size = max(dns.MinMsgSize, int(udpSize(r)))
			}
			if len(packed) > size {
				t.Fatalf("%d bytes, %d at most: %v", len(packed), size, m)
			}
			if !m.Response || m.Id != r.Id || len(m.Question) != 1 || m.Question[0] != r.Question[0] {
				t.Fatalf("question\n%v\nanswer\n%v", r, m)
			}
			for _, rr := range m.Answer {
				if h := rr.Header(); h.Name != r.Question[0].Name || h.Rrtype != r.Question[0].Qtype {
					t.Fatalf("the reply contains records that were not requested: %v", m)
				}
			}
		}
	})
}

func udpSize(r *dns.Msg) uint16 {
	if opt := r.IsEdns0(); opt != nil {
		return opt.UDPSize()
	}
	return dns.MinMsgSize
}

// A flood of random names, in all zones and for all types, uses no memory afterwards.
func TestFloodLeavesNothing(t *testing.T) {
	h := zoo()
	flood := func(from, to int) {
		for i := from; i < to; i++ {
			for _, qname := range []string{
				fmt.Sprintf("x%d.%s", i, testZone),
				fmt.Sprintf("x%d.shop%d.svc.%s", i, i, testZone),
				fmt.Sprintf("h%d.c%d.eu.pets.shop.svc.%s", i, i, testZone),
				fmt.Sprintf("_p%d._tcp.web.shop.svc.%s", i, testZone),
				fmt.Sprintf("%d.%d.%d.10.in-addr.arpa.", i%256, i/256%256, i/65536),
			} {
				if m := h.ask(t, qname, uint16(1+i%60)); len(m.Answer) != 0 && i > 100 {
					t.Fatalf("%s: %v", qname, m)
				}
			}
		}
	}
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	flood(0, 2_000)
	before := heap()
	flood(2_000, 22_000)
	// 100,000 names of 30 bytes and more.
	if grown := int64(heap()) - int64(before); grown > 1<<20 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
	runtime.KeepAlive(h)
}

// nowhere is a writer that discards replies without packing them.
type nowhere struct {
	dns.ResponseWriter
	remote net.Addr
}

func (n *nowhere) RemoteAddr() net.Addr  { return n.remote }
func (*nowhere) WriteMsg(*dns.Msg) error { return nil }

// An answer costs a fixed number of allocations, however many services and endpoints
// there are.
func TestAllocations(t *testing.T) {
	h := zoo()
	w := &nowhere{remote: (&test.ResponseWriter{}).RemoteAddr()}
	for _, tt := range []struct {
		qname string
		qtype uint16
		most  float64
	}{
		{"web.shop.svc." + testZone, dns.TypeA, 1},
		{"web.shop.svc." + testZone, dns.TypeTXT, 1},   // NODATA
		{"nothing.shop.svc." + testZone, dns.TypeA, 1}, // NXDOMAIN
		{"web.shop.svc." + testZone, dns.TypeSRV, 5},   // the message, records and addresses of both families
		{"pets.shop.svc." + testZone, dns.TypeA, 3},    // the message, its list and the records
		{"pets.shop.svc." + testZone, dns.TypeSRV, 5},  //
		{"my-pet.c1.eu.pets.shop.svc." + testZone, dns.TypeA, 1},
		{"1.0.0.10.in-addr.arpa.", dns.TypePTR, 2},
	} {
		r := new(dns.Msg)
		r.SetQuestion(tt.qname, tt.qtype)
		got := testing.AllocsPerRun(100, func() {
			if _, err := h.ServeDNS(context.Background(), w, r); err != nil {
				t.Error(err)
			}
		})
		if got > tt.most {
			t.Errorf("%s %s: %v allocations, at most %v", tt.qname, dns.TypeToString[tt.qtype], got, tt.most)
		}
	}
}
