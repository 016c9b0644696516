package clusterset

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/miekg/dns"
	discoveryv1 "k8s.io/api/discovery/v1"
	"pgregory.net/rapid"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/test/zonefile"
)

// seen holds everything that a client can query about a headless service.
type seen struct {
	addresses map[string]bool            // addresses in A and AAAA records
	hosts     map[string]map[string]bool // addresses of each name below the service
	srv       map[string]map[string]bool // targets by query name
	bytes     map[string]int             // size of the records, by type or name
}

// queryAll sends all possible queries. It finds hosts by SRV records and by the names that
// endpoints may have.
func (f *fixture) queryAll(t *rapid.T, i *mcsv1beta1.ServiceImport, of map[string]*discoveryv1.EndpointSlice) seen {
	s := seen{map[string]bool{}, map[string]map[string]bool{}, map[string]map[string]bool{}, map[string]int{}}
	self := i.Name + "." + i.Namespace + ".svc." + testZone
	id := rapid.Uint16().Draw(t, "id")
	ask := func(qname string, qtype uint16) *dns.Msg {
		m, err := f.query(id, qname, qtype)
		if err != nil {
			t.Fatal(err)
		}
		extra := map[string]bool{}
		for _, rr := range m.Extra {
			extra[rr.String()] = true
		}
		if len(extra) < len(m.Extra) {
			t.Fatalf("the additional section has duplicate addresses: %v", m)
		}
		return m
	}
	addresses := func(qname string) map[string]bool {
		all := map[string]bool{}
		for _, rr := range append(ask(qname, dns.TypeA).Answer, ask(qname, dns.TypeAAAA).Answer...) {
			if all[zonefile.Data(rr)] {
				t.Fatalf("%s is there twice", rr)
			}
			all[zonefile.Data(rr)] = true
		}
		return all
	}
	s.addresses = addresses(self)
	for _, qtype := range []uint16{dns.TypeA, dns.TypeAAAA} {
		s.bytes[dns.TypeToString[qtype]] = answerSize(t, ask(self, qtype))
	}
	for _, qname := range []string{self, "_http._tcp." + self, "_dns._udp." + self} {
		m := ask(qname, dns.TypeSRV)
		s.bytes[qname], s.srv[qname] = answerSize(t, m), map[string]bool{}
		for _, rr := range m.Answer {
			s.srv[qname][rr.(*dns.SRV).Target] = true
		}
	}
	for name := range hostNames(i, of) {
		if m := ask(name, dns.TypeA); m.Rcode == dns.RcodeSuccess {
			s.hosts[name] = addresses(name)
		}
	}
	return s
}

// answerSize returns how many bytes the answer section takes.
func answerSize(t *rapid.T, m *dns.Msg) int {
	empty := &dns.Msg{Question: m.Question}
	whole := &dns.Msg{Question: m.Question, Answer: m.Answer, Compress: true}
	packed, err := whole.Pack()
	if err != nil {
		t.Fatal(err)
	}
	return len(packed) - empty.Len()
}

// hostNames returns the names of ready endpoints and their numbers of addresses, according to
// the reference.
func hostNames(i *mcsv1beta1.ServiceImport, of map[string]*discoveryv1.EndpointSlice) map[string]int {
	all := map[string]int{}
	self := i.Name + "." + i.Namespace + ".svc." + testZone
	for name, records := range zonefile.Write(testZone, []*mcsv1beta1.ServiceImport{i}, values(of)) {
		if n := len(records[dns.TypeA]) + len(records[dns.TypeAAAA]); n > 0 && strings.HasSuffix(name, "."+self) {
			all[name] = n
		}
	}
	return all
}

// Pitfall 27: if a service has more endpoints than fit into a reply, all names and types return
// the same endpoints, as many as fit. This selection changes as little as possible.
func TestSubset(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := newFixture(testZone).with()
		room := rapid.IntRange(300, 900).Draw(t, "room")
		f.zones[0].builder.room = room
		i := headless("shop", "pets")
		// Without ports the addresses fill a reply.
		if rapid.Bool().Draw(t, "ports") {
			i.Spec.Ports = []mcsv1beta1.ServicePort{{Name: "http", Port: 80}, {Name: "dns", Protocol: "UDP", Port: 53}}
		}
		f.imports.Add(i)
		of := map[string]*discoveryv1.EndpointSlice{}
		var before seen
		t.Repeat(map[string]func(*rapid.T){
			"put slice": func(t *rapid.T) {
				s := drawManyEndpoints(t, i)
				of[s.Name] = s
				f.slices.Update(s)
			},
			"drop slice": func(t *rapid.T) {
				if s := drawFrom(t, of); s != nil {
					delete(of, s.Name)
					f.slices.Delete(s)
				}
			},
			"": func(t *rapid.T) {
				f.update()
				now := f.queryAll(t, i, of)
				now.check(t, room, hostNames(i, of))
				now.checkStable(t, before, hostNames(i, of))
				before = now
			},
		})
	})
}

func drawManyEndpoints(t *rapid.T, i *mcsv1beta1.ServiceImport) *discoveryv1.EndpointSlice {
	s := slice(i, rapid.SampledFrom([]string{"c1", "c2.eu", "eu"}).Draw(t, "cluster"), rapid.StringMatching(`s[1-5]`).Draw(t, "slice"))
	six := rapid.Bool().Draw(t, "IPv6")
	if six {
		s.AddressType = discoveryv1.AddressTypeIPv6
	}
	for range rapid.IntRange(0, 20).Draw(t, "endpoints") {
		ip := fmt.Sprintf("10.0.0.%d", rapid.IntRange(1, 60).Draw(t, "address"))
		if six {
			ip = fmt.Sprintf("fd00::%x", rapid.IntRange(1, 60).Draw(t, "address"))
		}
		e := discoveryv1.Endpoint{Addresses: []string{ip}}
		if rapid.Bool().Draw(t, "hostname") {
			// Some hosts with many addresses each, of both families.
			name := fmt.Sprintf("pet-%d", rapid.IntRange(0, 8).Draw(t, "number"))
			e.Hostname = &name
		}
		s.Endpoints = append(s.Endpoints, e)
	}
	s.Ports = s.Ports[:rapid.IntRange(0, len(s.Ports)).Draw(t, "ports")]
	return s
}

// check checks that all replies contain the same endpoints, that they fit, and that no more
// endpoints would fit.
func (s seen) check(t *rapid.T, room int, all map[string]int) {
	ofHosts := map[string]bool{}
	for _, addresses := range s.hosts {
		maps.Copy(ofHosts, addresses)
	}
	if diff := cmp.Diff(s.addresses, ofHosts); diff != "" {
		t.Fatalf("addresses of the service (-) and of its hosts (+):\n%s", diff)
	}
	longest, full := 0, false
	for name := range all {
		longest = max(longest, len(name)+recordSRV)
	}
	// An address of two hosts counts twice.
	for _, addresses := range s.hosts {
		for ip := range addresses {
			if strings.Contains(ip, ":") {
				s.bytes["counted AAAA"] += recordAAAA
			} else {
				s.bytes["counted A"] += recordA
			}
		}
	}
	for what, bytes := range s.bytes {
		if bytes > room {
			t.Fatalf("%s takes %d bytes of %d", what, bytes, room)
		}
		// Another host may need two SRV records for a port.
		full = full || bytes > room-2*longest
	}
	for name, targets := range s.srv {
		for target := range targets {
			if s.hosts[target] == nil {
				t.Fatalf("%s has the target %s, which is no host", name, target)
			}
		}
	}
	if len(s.hosts) < len(all) && !full {
		t.Fatalf("%d of %d hosts, though there is room: %v", len(s.hosts), len(all), s.bytes)
	}
}

// checkStable checks that hosts keep their places: a host that still exists may be dropped only
// for hosts with a lower rank.
func (s seen) checkStable(t *rapid.T, before seen, all map[string]int) {
	place := func(name string) uint64 {
		label, rest, _ := strings.Cut(name, ".")
		return rank([]byte(label), strings.TrimSuffix(rest, ".pets.shop.svc."+testZone))
	}
	last := uint64(0)
	for name := range s.hosts {
		last = max(last, place(name))
	}
	for name := range before.hosts {
		if all[name] > 0 && s.hosts[name] == nil && place(name) < last {
			t.Fatalf("%s was dropped, but hosts with a higher rank were not", name)
		}
	}
	for name, addresses := range all {
		if len(s.hosts[name]) < addresses && place(name) < last {
			t.Fatalf("%s is incomplete, but hosts with a higher rank are included", name)
		}
	}
}

// The places of hosts with similar names are evenly distributed.
func TestRankSpreads(t *testing.T) {
	const hosts, places = 10_000, 10
	var count [places]int
	for i := range hosts {
		count[rank(fmt.Appendf(nil, "10-1-%d-%d", i/250, i%250), "c1")/(1<<64/places+1)]++
	}
	for place, n := range count {
		if n < hosts/places*9/10 || n > hosts/places*11/10 {
			t.Errorf("%d hosts in place %d, want about %d", n, place, hosts/places)
		}
	}
}

// Every address is the first equally often, and is included in truncated replies equally often.
func TestRotationIsFair(t *testing.T) {
	pets := headless("shop", "pets", "http")
	ips := make([]string, 300)
	for i := range ips {
		ips[i] = netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}).String()
	}
	f := newFixture(testZone).with(pets, slice(pets, "c1", "a", ips...))
	for _, qtype := range []uint16{dns.TypeA, dns.TypeSRV} {
		first, there := map[string]int{}, map[string]int{}
		const queries = 1 << 12
		for id := range queries {
			m := f.overUDP(t, uint16(id*16+id%16), "pets.shop.svc."+testZone, qtype)
			if !m.Truncated {
				t.Fatal("the reply is not truncated, so this test checks nothing")
			}
			first[zonefile.Data(m.Answer[0])]++
			for _, rr := range m.Answer {
				there[zonefile.Data(rr)]++
			}
		}
		for what, counts := range map[string]map[string]int{"first": first, "there": there} {
			all := slices.Sorted(maps.Values(counts))
			if len(all) != len(ips) || all[len(all)-1] > all[0]*3/2 {
				t.Errorf("%s: of %d, one is %s %d times, another %d times", dns.TypeToString[qtype], len(all), what, all[0], all[len(all)-1])
			}
		}
	}
}
