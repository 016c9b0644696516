package clusterset

import (
	"strings"
	"testing"

	"github.com/coredns/coredns/plugin/test"
	"github.com/miekg/dns"
)

// The examples of the specification, sections 2.3.3 and 2.4.3.
func TestPointers(t *testing.T) {
	pets := headless("test", "headless")
	s := slice(pets, "clustera", "headless-1", "10.3.0.100", "10.3.0.101")
	hostname := "my-pet"
	s.Endpoints[0].Hostname = &hostname
	f := newFixture(testZone, "in-addr.arpa.", "8.b.d.0.1.0.0.2.ip6.arpa.").with(
		vip("test", "kubernetes", "10.3.0.1", "2001:db8::1"), vip("test", "elsewhere", "fd00::1"), pets, s)
	const six = "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa."
	for qname, want := range map[string]string{
		"1.0.3.10.in-addr.arpa.":   "kubernetes.test.svc.clusterset.local.",
		six:                        "kubernetes.test.svc.clusterset.local.",
		strings.ToUpper(six):       "kubernetes.test.svc.clusterset.local.",
		"100.0.3.10.in-addr.arpa.": "my-pet.clustera.headless.test.svc.clusterset.local.",
		"101.0.3.10.in-addr.arpa.": "10-3-0-101.clustera.headless.test.svc.clusterset.local.",
	} {
		m := f.ask(t, qname, dns.TypePTR)
		if len(m.Answer) != 1 || !m.Authoritative || len(m.Ns) != 0 {
			t.Errorf("%s: got %v", qname, m)
			continue
		}
		if got := strings.ReplaceAll(m.Answer[0].String(), "\t", " "); got != qname+" 5 IN PTR "+want {
			t.Errorf("%s: got %s", qname, got)
		}
	}
	for qname, rcode := range map[string]int{
		"in-addr.arpa.":                dns.RcodeSuccess,
		"10.in-addr.arpa.":             dns.RcodeSuccess,
		"0.3.10.in-addr.arpa.":         dns.RcodeSuccess,
		"8.b.d.0.1.0.0.2.ip6.arpa.":    dns.RcodeSuccess,
		six[20:]:                       dns.RcodeSuccess,
		"2.0.3.10.in-addr.arpa.":       dns.RcodeNameError,
		"3.3.10.in-addr.arpa.":         dns.RcodeSuccess, // the beginning of an address
		"11.in-addr.arpa.":             dns.RcodeSuccess, // the beginning of an address
		"x.10.in-addr.arpa.":           dns.RcodeSuccess, // the beginning of an address
		"01.0.3.10.in-addr.arpa.":      dns.RcodeNameError,
		"0x1.0.3.10.in-addr.arpa.":     dns.RcodeNameError,
		"257.0.3.10.in-addr.arpa.":     dns.RcodeNameError,
		"1.1.0.3.10.in-addr.arpa.":     dns.RcodeNameError,
		`1\.0.3.10.in-addr.arpa.`:      dns.RcodeSuccess,
		"*.0.3.10.in-addr.arpa.":       dns.RcodeNameError,
		"f." + six:                     dns.RcodeNameError,
		"1.9.b.d.0.1.0.0.2.ip6.arpa.":  dns.RcodeServerFailure, // in no zone of ours
		"10.8.b.d.0.1.0.0.2.ip6.arpa.": dns.RcodeSuccess,
	} {
		r := new(dns.Msg)
		r.SetQuestion(qname, dns.TypePTR)
		if rcode == dns.RcodeServerFailure {
			if z, _ := mostSpecific(f.zones, qname); z != nil {
				t.Errorf("%s is in zone %s", qname, z.name)
			}
			continue
		}
		m := f.ask(t, qname, dns.TypePTR)
		if m.Rcode != rcode || len(m.Answer) != 0 || len(m.Ns) != 1 || m.Ns[0].Header().Rrtype != dns.TypeSOA {
			t.Errorf("%s: got %v", qname, m)
		}
	}
	// An address has no other records than its name.
	for _, qtype := range []uint16{dns.TypeA, dns.TypeAAAA, dns.TypeSRV, dns.TypeTXT, dns.TypeANY} {
		if m := f.ask(t, "100.0.3.10.in-addr.arpa.", qtype); m.Rcode != dns.RcodeSuccess || len(m.Answer) != 0 {
			t.Errorf("%s: got %v", dns.TypeToString[qtype], m)
		}
	}
	// The zone is served where the first one is.
	if m := f.ask(t, "in-addr.arpa.", dns.TypeNS); len(m.Answer) != 1 || m.Answer[0].(*dns.NS).Ns != "ns.dns."+testZone {
		t.Errorf("got %v", m)
	}
	if m := f.ask(t, "in-addr.arpa.", dns.TypeSOA); len(m.Answer) != 1 || m.Answer[0].(*dns.SOA).Mbox != "hostmaster."+testZone {
		t.Errorf("got %v", m)
	}
}

// An address has one name, whatever goes by it: the service's before a host's.
func TestOnePointerForAnAddress(t *testing.T) {
	pets, cats := headless("test", "pets"), headless("test", "cats")
	f := newFixture(testZone, "in-addr.arpa.").with(pets, cats,
		slice(pets, "c1", "pets", "10.0.0.1"), slice(cats, "c1", "cats", "10.0.0.1"))
	want := func(name string) {
		t.Helper()
		m := f.ask(t, "1.0.0.10.in-addr.arpa.", dns.TypePTR)
		if name == "" && m.Rcode == dns.RcodeNameError {
			return
		}
		if len(m.Answer) != 1 || m.Answer[0].(*dns.PTR).Ptr != name {
			t.Errorf("got %v, want %s", m, name)
		}
	}
	want("10-0-0-1.c1.cats.test.svc.clusterset.local.")
	web := vip("test", "web", "10.0.0.1")
	f.imports.Add(web)
	f.update()
	want("web.test.svc.clusterset.local.")
	f.slices.Delete(slice(cats, "c1", "cats"))
	f.update()
	want("web.test.svc.clusterset.local.")
	f.imports.Delete(web)
	f.update()
	want("10-0-0-1.c1.pets.test.svc.clusterset.local.")
	f.imports.Delete(pets)
	f.update()
	want("")
}

// A zone may be that of one address alone, which then has its name at the zone's own.
func TestZoneOfOneAddress(t *testing.T) {
	f := newFixture(testZone, "7.0.0.10.in-addr.arpa.").with(vip("test", "web", "10.0.0.7"))
	m := f.ask(t, "7.0.0.10.in-addr.arpa.", dns.TypePTR)
	if len(m.Answer) != 1 || m.Answer[0].(*dns.PTR).Ptr != "web.test.svc.clusterset.local." {
		t.Errorf("PTR: got %v", m)
	}
	for qtype, want := range map[uint16]int{dns.TypeSOA: 1, dns.TypeNS: 1, dns.TypeA: 0} {
		if m := f.ask(t, "7.0.0.10.in-addr.arpa.", qtype); m.Rcode != dns.RcodeSuccess || len(m.Answer) != want {
			t.Errorf("%s: got %v", dns.TypeToString[qtype], m)
		}
	}
}

// Names with dots, which the API accepts, can't be asked for, and no address is told to have one.
func TestNameThatIsNoLabel(t *testing.T) {
	f := newFixture(testZone, "in-addr.arpa.").with(vip("test", "web.x", "10.0.0.7"))
	if m := f.ask(t, "7.0.0.10.in-addr.arpa.", dns.TypePTR); m.Rcode != dns.RcodeNameError {
		t.Errorf("PTR: got %v", m)
	}
	if m := f.ask(t, "web.x.test.svc.clusterset.local.", dns.TypeA); m.Rcode != dns.RcodeNameError {
		t.Errorf("A: got %v", m)
	}
}

// While nothing is known yet, others are asked for the names of addresses if they are when
// there is none; never for services.
func TestReverseZoneBeforeAnythingIsKnown(t *testing.T) {
	f := &fixture{Clusterset: newClusterset(options{zones: []string{testZone}, reverse: []string{"in-addr.arpa."}})}
	f.fall.SetZonesFromArgs(nil)
	f.Next = test.NextHandler(dns.RcodeNotImplemented, nil)
	for qname, want := range map[string]int{"7.0.0.10.in-addr.arpa.": dns.RcodeNotImplemented, "web.test.svc." + testZone: dns.RcodeServerFailure} {
		r := new(dns.Msg)
		r.SetQuestion(qname, dns.TypePTR)
		if got, _ := f.ServeDNS(t.Context(), &test.ResponseWriter{}, r); got != want {
			t.Errorf("%s: got %s", qname, dns.RcodeToString[got])
		}
	}
}

func TestReverseZones(t *testing.T) {
	for name, want := range map[string]bool{
		"in-addr.arpa.": true, "10.in-addr.arpa.": true, "ip6.arpa.": true, "d.f.ip6.arpa.": true,
		"arpa.": false, ".": false, "xin-addr.arpa.": false, "clusterset.local.": false,
	} {
		if isReverse(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}
