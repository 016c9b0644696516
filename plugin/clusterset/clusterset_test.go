package clusterset

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/coredns/coredns/plugin"
	"github.com/coredns/coredns/plugin/pkg/dnstest"
	clog "github.com/coredns/coredns/plugin/pkg/log"
	"github.com/coredns/coredns/plugin/test"
	"github.com/coredns/coredns/request"
	"github.com/miekg/dns"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/ownership"
	"github.com/atoll-mcs/atoll/test/zonefile"
)

func init() { clog.Discard() }

const testZone = "clusterset.local."

func vip(namespace, name string, ips ...string) *mcsv1beta1.ServiceImport {
	return &mcsv1beta1.ServiceImport{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: mcsv1beta1.ServiceImportSpec{
			Type:  mcsv1beta1.ClusterSetIP,
			IPs:   ips,
			Ports: []mcsv1beta1.ServicePort{{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80}},
		},
	}
}

func headless(namespace, name string, ports ...string) *mcsv1beta1.ServiceImport {
	i := &mcsv1beta1.ServiceImport{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       mcsv1beta1.ServiceImportSpec{Type: mcsv1beta1.Headless},
	}
	for n, port := range ports {
		i.Spec.Ports = append(i.Spec.Ports, mcsv1beta1.ServicePort{Name: port, Protocol: corev1.ProtocolTCP, Port: int32(80 + n)})
	}
	return i
}

// slice returns a slice of endpoints without host names. Its ports are the import's plus 8000.
func slice(of *mcsv1beta1.ServiceImport, cluster, name string, ips ...string) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: of.Namespace,
			Name:      name,
			Labels:    map[string]string{mcsv1beta1.LabelServiceName: of.Name, mcsv1beta1.LabelSourceCluster: cluster},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
	}
	for _, ip := range ips {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{ip}})
		if strings.Contains(ip, ":") {
			s.AddressType = discoveryv1.AddressTypeIPv6
		}
	}
	for _, p := range of.Spec.Ports {
		number := p.Port + 8000
		s.Ports = append(s.Ports, discoveryv1.EndpointPort{Name: &p.Name, Protocol: &p.Protocol, Port: &number})
	}
	return s
}

// with puts the objects, imports or slices, into the fixture.
func (f *fixture) with(objects ...any) *fixture {
	f.imports.Replace(nil, "")
	f.slices.Replace(nil, "")
	for _, o := range objects {
		switch o := o.(type) {
		case *mcsv1beta1.ServiceImport:
			f.imports.Add(o)
		case *discoveryv1.EndpointSlice:
			f.slices.Add(o)
		}
	}
	f.update()
	return f
}

func (f *fixture) ask(t *testing.T, qname string, qtype uint16) *dns.Msg {
	t.Helper()
	m, err := f.query(0, qname, qtype)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The examples of the specification, and cases that a zone file cannot express. Pitfall 19: all
// types, and the version. Pitfall 24: the label of a host. Pitfall 28: names in any case.
// Sections 2.3.3 and 2.4.3: names of addresses.
func TestRecords(t *testing.T) {
	pets := headless("test", "headless", "https")
	s := slice(pets, "clustera", "headless-1", "10.3.0.100", "10.10.10.10")
	hostname := "my-pet"
	s.Endpoints[0].Hostname = &hostname
	const six = "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa."
	f := newFixture(testZone, "in-addr.arpa.", "8.b.d.0.1.0.0.2.ip6.arpa.", "7.0.0.10.in-addr.arpa.").with(
		vip("test", "myservice", "10.42.42.42", "2001:db8::1"), vip("test", "elsewhere", "fd00::1"), vip("test", "one", "10.0.0.7"), pets, s)
	if m := f.ask(t, "7.0.0.10.in-addr.arpa.", dns.TypeSOA); len(m.Answer) != 1 || m.Answer[0].(*dns.SOA).Mbox != "hostmaster."+testZone {
		t.Errorf("got %v", m)
	}
	for _, tt := range []struct {
		qname string
		qtype uint16
		want  string
	}{
		{"dns-version.clusterset.local.", dns.TypeTXT, `dns-version.clusterset.local. 28800 IN TXT "1.0.0"`},
		{"myservice.test.svc.clusterset.local.", dns.TypeA, "myservice.test.svc.clusterset.local. 5 IN A 10.42.42.42"},
		{"myservice.test.svc.clusterset.local.", dns.TypeAAAA, "myservice.test.svc.clusterset.local. 5 IN AAAA 2001:db8::1"},
		{"_http._tcp.myservice.test.svc.clusterset.local.", dns.TypeSRV, "_http._tcp.myservice.test.svc.clusterset.local. 5 IN SRV 0 100 80 myservice.test.svc.clusterset.local."},
		{"my-pet.clustera.headless.test.svc.clusterset.local.", dns.TypeA, "my-pet.clustera.headless.test.svc.clusterset.local. 5 IN A 10.3.0.100"},
		{"10-10-10-10.clustera.headless.test.svc.clusterset.local.", dns.TypeA, "10-10-10-10.clustera.headless.test.svc.clusterset.local. 5 IN A 10.10.10.10"},
		{"My-Pet.ClusterA.Headless.test.SVC.clusterset.LOCAL.", dns.TypeA, "My-Pet.ClusterA.Headless.test.SVC.clusterset.LOCAL. 5 IN A 10.3.0.100"},
		{"clusterset.local.", dns.TypeNS, "clusterset.local. 5 IN NS ns.dns.clusterset.local."},
		{"in-addr.arpa.", dns.TypeNS, "in-addr.arpa. 5 IN NS ns.dns.clusterset.local."},                           // the name server is in the first zone
		{"7.0.0.10.in-addr.arpa.", dns.TypePTR, "7.0.0.10.in-addr.arpa. 5 IN PTR one.test.svc.clusterset.local."}, // a zone of one address
		{"7.0.0.10.in-addr.arpa.", dns.TypeNS, "7.0.0.10.in-addr.arpa. 5 IN NS ns.dns.clusterset.local."},
		{"42.42.42.10.in-addr.arpa.", dns.TypePTR, "42.42.42.10.in-addr.arpa. 5 IN PTR myservice.test.svc.clusterset.local."},
		{six, dns.TypePTR, six + " 5 IN PTR myservice.test.svc.clusterset.local."},
		{strings.ToUpper(six), dns.TypePTR, strings.ToUpper(six) + " 5 IN PTR myservice.test.svc.clusterset.local."},
		{"100.0.3.10.in-addr.arpa.", dns.TypePTR, "100.0.3.10.in-addr.arpa. 5 IN PTR my-pet.clustera.headless.test.svc.clusterset.local."},
		{"10.10.10.10.in-addr.arpa.", dns.TypePTR, "10.10.10.10.in-addr.arpa. 5 IN PTR 10-10-10-10.clustera.headless.test.svc.clusterset.local."},
	} {
		m := f.ask(t, tt.qname, tt.qtype)
		if len(m.Answer) != 1 || !m.Authoritative || len(m.Ns) != 0 || strings.ReplaceAll(m.Answer[0].String(), "\t", " ") != tt.want {
			t.Errorf("%s %s: got %v, want %s", tt.qname, dns.TypeToString[tt.qtype], m.Answer, tt.want)
		}
	}
}

// Pitfall 21: a name without records of a type, and a name that does not exist. Pitfall 22: a
// negative response may be cached no longer than a positive one, RFC 2308 section 5.
func TestNegativeAnswers(t *testing.T) {
	empty := headless("shop", "empty")
	zones := []string{testZone, "in-addr.arpa.", "8.b.d.0.1.0.0.2.ip6.arpa."}
	f := newFixture(zones...).with(vip("shop", "web", "10.42.42.42"), vip("shop", "six", "2001:db8::1"), vip("shop", "web.x", "10.0.0.7"), empty, slice(empty, "c1", "s"))
	for _, tt := range []struct {
		qname string
		qtype uint16
		rcode int
	}{
		{"Web.Shop.svc.ClusterSet.local.", dns.TypeAAAA, dns.RcodeSuccess},
		{"shop.svc.clusterset.local.", dns.TypeA, dns.RcodeSuccess},
		{"svc.clusterset.local.", dns.TypeA, dns.RcodeSuccess},
		{"clusterset.local.", dns.TypeA, dns.RcodeSuccess},
		{"dns.clusterset.local.", dns.TypeA, dns.RcodeSuccess},
		{"_tcp.web.shop.svc.clusterset.local.", dns.TypeSRV, dns.RcodeSuccess},
		{"empty.shop.svc.clusterset.local.", dns.TypeA, dns.RcodeNameError},
		{"other.shop.svc.clusterset.local.", dns.TypeA, dns.RcodeNameError},
		{"web.other.svc.clusterset.local.", dns.TypeA, dns.RcodeNameError},
		{"c1.web.shop.svc.clusterset.local.", dns.TypeA, dns.RcodeNameError},
		{"xsvc.clusterset.local.", dns.TypeA, dns.RcodeNameError},
		{"a.ns.dns.clusterset.local.", dns.TypeA, dns.RcodeNameError},
		// The API accepts a name with a dot, but no query can ask for it, so no address has
		// this name.
		{"web.x.shop.svc.clusterset.local.", dns.TypeA, dns.RcodeNameError},
		{"7.0.0.10.in-addr.arpa.", dns.TypePTR, dns.RcodeNameError},
		// An address has only PTR records. The prefixes of addresses exist too.
		{"42.42.42.10.in-addr.arpa.", dns.TypeA, dns.RcodeSuccess},
		{"42.42.42.10.in-addr.arpa.", dns.TypeSRV, dns.RcodeSuccess},
		{"in-addr.arpa.", dns.TypePTR, dns.RcodeSuccess},
		{"10.in-addr.arpa.", dns.TypePTR, dns.RcodeSuccess},
		{"42.42.10.in-addr.arpa.", dns.TypePTR, dns.RcodeSuccess},
		{"11.in-addr.arpa.", dns.TypePTR, dns.RcodeSuccess},
		{"x.10.in-addr.arpa.", dns.TypePTR, dns.RcodeSuccess},
		{"8.b.d.0.1.0.0.2.ip6.arpa.", dns.TypePTR, dns.RcodeSuccess},
		{"10.8.b.d.0.1.0.0.2.ip6.arpa.", dns.TypePTR, dns.RcodeSuccess},
		{`42\.42.42.10.in-addr.arpa.`, dns.TypePTR, dns.RcodeSuccess},
		{"43.42.42.10.in-addr.arpa.", dns.TypePTR, dns.RcodeNameError},
		{"042.42.42.10.in-addr.arpa.", dns.TypePTR, dns.RcodeNameError},
		{"0x2a.42.42.10.in-addr.arpa.", dns.TypePTR, dns.RcodeNameError},
		{"298.42.42.10.in-addr.arpa.", dns.TypePTR, dns.RcodeNameError},
		{"1.42.42.42.10.in-addr.arpa.", dns.TypePTR, dns.RcodeNameError},
		{"*.42.42.10.in-addr.arpa.", dns.TypePTR, dns.RcodeNameError},
		{"f.1." + strings.Repeat("0.", 23) + "8.b.d.0.1.0.0.2.ip6.arpa.", dns.TypePTR, dns.RcodeNameError},
	} {
		m := f.ask(t, tt.qname, tt.qtype)
		if m.Rcode != tt.rcode || len(m.Answer) != 0 {
			t.Errorf("%s: got %v", tt.qname, m)
			continue
		}
		soa, ok := m.Ns[0].(*dns.SOA)
		if !ok || soa.Minttl != defaultTTL || soa.Hdr.Ttl != defaultTTL {
			t.Errorf("%s: got %v in the authority section", tt.qname, m.Ns)
			continue
		}
		own := slices.IndexFunc(zones, func(zone string) bool { return strings.HasSuffix(strings.ToLower(tt.qname), zone) })
		if want := tt.qname[len(tt.qname)-len(zones[own]):]; soa.Hdr.Name != want || soa.Mbox != "hostmaster."+testZone {
			t.Errorf("%s: SOA %v, want the zone as it was written, %q", tt.qname, soa, want)
		}
	}
}

// Pitfall 26: the server answers nothing before its caches are synced. Queries for addresses
// fall through to the next plugin if fallthrough is configured.
func TestNotSynced(t *testing.T) {
	c := newClusterset(options{zones: []string{testZone}, reverse: []string{"in-addr.arpa."}})
	c.fall.SetZonesFromArgs(nil)
	c.Next = next(dns.RcodeNotImplemented)
	if rcode := serve(t, c, "7.0.0.10.in-addr.arpa.", dns.TypePTR); rcode != dns.RcodeNotImplemented {
		t.Errorf("an address before the caches are synced: %s", dns.RcodeToString[rcode])
	}
	for _, qname := range []string{testZone, "web.shop.svc." + testZone, "nothing." + testZone} {
		if rcode := serve(t, c, qname, dns.TypeA); rcode != dns.RcodeServerFailure {
			t.Errorf("%s before the caches are synced: %s", qname, dns.RcodeToString[rcode])
		}
	}
	if c.Ready() {
		t.Error("ready before the caches are synced")
	}
}

// What people edit in an import does not reach answers: Atoll's agent reverts it. A failing write makes Ready Unknown again,
// and slices that another implementation has left behind still do not count.
func TestEditedImport(t *testing.T) {
	const name = "web.shop.svc." + testZone
	f := newFixture(testZone)
	steps := func(imports ...*mcsv1beta1.ServiceImport) {
		for _, i := range imports {
			f.imports.Update(i)
		}
		f.update()
	}
	change := func(of *mcsv1beta1.ServiceImport, how func(*mcsv1beta1.ServiceImport)) *mcsv1beta1.ServiceImport {
		of = of.DeepCopy()
		how(of)
		return of
	}
	addresses := func(i *mcsv1beta1.ServiceImport, ips ...string) *mcsv1beta1.ServiceImport {
		return change(i, func(i *mcsv1beta1.ServiceImport) { i.Spec.IPs = ips })
	}
	written := change(vip("shop", "web", "10.1.0.1"), func(i *mcsv1beta1.ServiceImport) {
		i.UID, i.Labels = "1", map[string]string{names.LabelManagedBy: names.AgentManager}
		ownership.MarkWritten(i)
	})
	edited := addresses(written, "10.6.6.6")
	f.with(written)
	for _, tt := range []struct {
		name  string
		after []*mcsv1beta1.ServiceImport
		want  string
	}{
		{"addresses", []*mcsv1beta1.ServiceImport{edited}, "10.1.0.1"},
		{"the type", []*mcsv1beta1.ServiceImport{change(written, func(i *mcsv1beta1.ServiceImport) { i.Spec.Type = mcsv1beta1.Headless })}, "10.1.0.1"},
		{"the label, too", []*mcsv1beta1.ServiceImport{change(edited, func(i *mcsv1beta1.ServiceImport) {
			i.Labels = nil
			i.Annotations[names.AnnotationApplied] = "c1=1"
		})}, "10.1.0.1"},
		{"labels and annotations, too", []*mcsv1beta1.ServiceImport{change(edited, func(i *mcsv1beta1.ServiceImport) {
			i.Labels, i.Annotations = nil, nil
			i.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: names.ManagerImport}}
		})}, "10.1.0.1"},
		{"it is another one", []*mcsv1beta1.ServiceImport{change(edited, func(i *mcsv1beta1.ServiceImport) { i.UID = "2" })}, "10.6.6.6"},
		{"Atoll changes it", []*mcsv1beta1.ServiceImport{change(edited, ownership.MarkWritten)}, "10.6.6.6"},
		{"not managed any more", []*mcsv1beta1.ServiceImport{change(edited, func(i *mcsv1beta1.ServiceImport) { i.Labels, i.Annotations = nil, nil })}, "10.6.6.6"},
	} {
		steps(change(written, func(i *mcsv1beta1.ServiceImport) { i.UID = "0" }), written)
		steps(tt.after...)
		if got := strings.Join(f.addresses(t, name), " "); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}

	ready := func(s metav1.ConditionStatus) *mcsv1beta1.ServiceImport {
		return change(headless("shop", "db"), func(i *mcsv1beta1.ServiceImport) {
			i.UID, i.Labels = "1", map[string]string{names.LabelManagedBy: names.AgentManager}
			ownership.MarkWritten(i)
			i.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: s}}
		})
	}
	ours := slice(ready(""), "c1", "ours", "10.1.0.1")
	ours.Labels[discoveryv1.LabelManagedBy] = names.AgentManager
	f.with(ready(metav1.ConditionUnknown), ours, slice(ready(""), "c2", "theirs", "10.2.0.1"))
	for _, tt := range []struct {
		status metav1.ConditionStatus
		want   string
	}{
		{metav1.ConditionUnknown, "10.1.0.1 10.2.0.1"},
		{metav1.ConditionTrue, "10.1.0.1"},
		{metav1.ConditionUnknown, "10.1.0.1"},
		{metav1.ConditionFalse, "10.1.0.1"},
	} {
		steps(ready(tt.status))
		if got := strings.Join(f.addresses(t, "db.shop.svc."+testZone), " "); got != tt.want {
			t.Errorf("Ready %s: %s, want %s", tt.status, got, tt.want)
		}
	}
}

// addresses returns the sorted IPv4 addresses of a name.
func (f *fixture) addresses(t *testing.T, name string) (all []string) {
	t.Helper()
	for _, record := range f.ask(t, name, dns.TypeA).Answer {
		all = append(all, record.(*dns.A).A.String())
	}
	slices.Sort(all)
	return all
}

func TestNextPlugin(t *testing.T) {
	f := newFixture(testZone).with(vip("shop", "web", "10.42.42.42"))
	f.Next = next(dns.RcodeBadCookie)
	check := func(qname string, want int) {
		t.Helper()
		if got := serve(t, f, qname, dns.TypeAAAA); got != want {
			t.Errorf("%s: got %s, want %s", qname, dns.RcodeToString[got], dns.RcodeToString[want])
		}
	}
	for _, qname := range []string{"example.org.", "local.", ".", "xclusterset.local.", `x\.clusterset.local.`} {
		check(qname, dns.RcodeBadCookie)
	}
	check(`x\\.clusterset.local.`, dns.RcodeSuccess)
	check("nothing.shop.svc."+testZone, dns.RcodeSuccess) // written by the plugin

	f.fall.SetZonesFromArgs([]string{"shop.svc." + testZone})
	check("nothing.shop.svc."+testZone, dns.RcodeBadCookie)
	check("nothing."+testZone, dns.RcodeSuccess)
	check("web.shop.svc."+testZone, dns.RcodeSuccess) // NODATA does not fall through

	if got := serve(t, f, testZone, dns.TypeAXFR); got != dns.RcodeRefused {
		t.Errorf("zone transfer: %s", dns.RcodeToString[got])
	}
}

func next(rcode int) plugin.Handler {
	return plugin.HandlerFunc(func(context.Context, dns.ResponseWriter, *dns.Msg) (int, error) { return rcode, nil })
}

// serve returns the result of ServeDNS for the previous plugin.
func serve(t *testing.T, h plugin.Handler, qname string, qtype uint16) int {
	t.Helper()
	r := new(dns.Msg)
	r.SetQuestion(qname, qtype)
	rcode, err := h.ServeDNS(context.Background(), &test.ResponseWriter{}, r)
	if err != nil {
		t.Fatal(err)
	}
	return rcode
}

// Plugins before this one, such as cache, change the records of a reply.
func TestRepliesShareNothing(t *testing.T) {
	pets := headless("shop", "pets", "http")
	f := newFixture(testZone).with(pets, slice(pets, "c1", "a", "10.0.0.1"), slice(pets, "c1", "b", "fd00::1"))
	for _, qtype := range []uint16{dns.TypeA, dns.TypeAAAA, dns.TypeSRV} {
		want := f.ask(t, "pets.shop.svc."+testZone, qtype)
		m := f.ask(t, "pets.shop.svc."+testZone, qtype)
		for _, rr := range append(m.Answer, m.Extra...) {
			*rr.Header() = dns.RR_Header{}
		}
		m.Question[0].Name = "spoilt."
		if got := f.ask(t, "pets.shop.svc."+testZone, qtype); got.String() != want.String() {
			t.Errorf("got\n%v\nwant\n%v", got, want)
		}
	}
}

// Pitfall 27: a reply that does not fit is truncated and has the TC bit. A TCP reply is never
// truncated: for a large service it contains as many endpoints as fit, the same for every name
// and type.
func TestTruncation(t *testing.T) {
	pets := headless("shop", "pets", "http")
	objects := []any{pets}
	for s := range 200 {
		ips := make([]string, 100)
		for i := range ips {
			ips[i] = fmt.Sprintf("10.1.%d.%d", s, i)
		}
		objects = append(objects, slice(pets, "c1", fmt.Sprint("s", s), ips...))
	}
	f := newFixture(testZone).with(objects...)
	for _, size := range []uint16{0, 512, 1232, 4096, 65535} {
		for _, qtype := range []uint16{dns.TypeA, dns.TypeSRV} {
			r := new(dns.Msg)
			r.SetQuestion("pets.shop.svc."+testZone, qtype)
			if size > 0 {
				r.SetEdns0(size, false)
				// CoreDNS removes the option from the reply, so the reply has more room.
				r.IsEdns0().Option = append(r.IsEdns0().Option, &dns.EDNS0_COOKIE{Code: dns.EDNS0COOKIE, Cookie: strings.Repeat("01", 40)})
			}
			m := f.serve(t, r, false)
			limit := max(512, int(size))
			fits := size == 65535 // the subset of endpoints fits
			if length := length(t, m); length > limit || !fits && length < limit/2 || m.Truncated == fits {
				t.Errorf("EDNS size %d, %s: %d bytes, truncated=%v", size, dns.TypeToString[qtype], length, m.Truncated)
			}
		}
	}
	answers := map[uint16]map[string]bool{}
	for _, qtype := range []uint16{dns.TypeA, dns.TypeSRV} {
		r := new(dns.Msg)
		r.SetQuestion("pets.shop.svc."+testZone, qtype)
		r.SetEdns0(1232, true)
		r.IsEdns0().Option = append(r.IsEdns0().Option, &dns.EDNS0_COOKIE{Code: dns.EDNS0COOKIE, Cookie: strings.Repeat("01", 40)})
		m := f.serve(t, r, true)
		if length := length(t, m); length > dns.MaxMsgSize || m.Truncated {
			t.Errorf("%s over TCP: %d bytes, truncated=%v", dns.TypeToString[qtype], length, m.Truncated)
		}
		answers[qtype] = map[string]bool{}
		for _, rr := range m.Answer {
			name := zonefile.Data(rr)
			if qtype == dns.TypeA {
				name = "8080 " + strings.ReplaceAll(name, ".", "-") + ".c1.pets.shop.svc." + testZone
			}
			answers[qtype][name] = true
		}
	}
	if n := len(answers[dns.TypeA]); n < 500 || !maps.Equal(answers[dns.TypeA], answers[dns.TypeSRV]) {
		t.Errorf("%d addresses and %d targets", n, len(answers[dns.TypeSRV]))
	}
}

// A reply is not truncated if only records of the additional section are dropped, RFC 2181
// section 9.
func TestAdditionalSectionGivesWay(t *testing.T) {
	pets := headless("shop", "pets", "http")
	for hosts := 1; hosts <= 12; hosts++ {
		ips := make([]string, hosts)
		for i := range ips {
			ips[i] = fmt.Sprintf("10.1.0.%d", i)
		}
		f := newFixture(testZone).with(pets, slice(pets, "c1", "a", ips...))
		m := f.overUDP(t, 1, "_http._tcp.pets.shop.svc."+testZone, dns.TypeSRV)
		if length := length(t, m); length > 512 {
			t.Errorf("%d hosts: %d bytes", hosts, length)
		}
		if all := len(m.Answer) == hosts; all == m.Truncated {
			t.Errorf("%d hosts: %d SRV and %d address records, truncated=%v", hosts, len(m.Answer), len(m.Extra), m.Truncated)
		}
		if hosts == 4 && (m.Truncated || len(m.Extra) != 4) || hosts == 6 && (m.Truncated || len(m.Extra) == 6) {
			t.Errorf("%d hosts: %d SRV and %d address records, truncated=%v", hosts, len(m.Answer), len(m.Extra), m.Truncated)
		}
	}
}

// serve sends a query through CoreDNS's truncation of replies.
func (f *fixture) serve(t *testing.T, r *dns.Msg, tcp bool) *dns.Msg {
	t.Helper()
	rec := dnstest.NewRecorder(&test.ResponseWriter{TCP: tcp})
	if _, err := f.ServeDNS(context.Background(), request.NewScrubWriter(r, rec), r); err != nil {
		t.Fatal(err)
	}
	return rec.Msg
}

// overUDP queries over UDP without EDNS.
func (f *fixture) overUDP(t *testing.T, id uint16, qname string, qtype uint16) *dns.Msg {
	t.Helper()
	r := new(dns.Msg)
	r.SetQuestion(qname, qtype)
	r.Id = id
	return f.serve(t, r, false)
}

// length returns how long a message is on the wire.
func length(t *testing.T, m *dns.Msg) int {
	t.Helper()
	packed, err := m.Pack()
	if err != nil {
		t.Fatal(err)
	}
	return len(packed)
}

// Names at the limits of RFC 1035 are answered, longer ones do not exist, and
// every reply can be packed.
func TestLongNames(t *testing.T) {
	long := strings.Repeat("s", 63)
	pets := headless(strings.Repeat("n", 63), long, strings.Repeat("p", 62), strings.Repeat("q", 63))
	suffix := long + "." + pets.Namespace + ".svc." + testZone
	fits, tooLong := strings.Repeat("h", 62), strings.Repeat("h", 63)
	cluster := "c1." + strings.Repeat("e", maxName-len(fits+".c1.."+suffix))
	s := slice(pets, cluster, "a", "10.0.0.1", "10.0.0.2", "10.0.0.3")
	s.Endpoints[0].Hostname, s.Endpoints[1].Hostname = &fits, &tooLong
	f := newFixture(testZone).with(pets, s)
	host := fits + "." + cluster + "." + suffix
	if len(host) != maxName {
		t.Fatalf("test is wrong: name of %d characters", len(host))
	}
	for _, tt := range []struct {
		qname string
		qtype uint16
		want  int
	}{
		{host, dns.TypeA, 1},
		{suffix, dns.TypeA, 3},
		{suffix, dns.TypeSRV, 2},
		{"_" + strings.Repeat("p", 62) + "._tcp." + suffix, dns.TypeSRV, 2},
	} {
		m := f.ask(t, tt.qname, tt.qtype)
		if len(m.Answer) != tt.want {
			t.Errorf("%s %s: got %v, want %d records", tt.qname, dns.TypeToString[tt.qtype], m.Answer, tt.want)
		}
		if _, err := m.Pack(); err != nil {
			t.Errorf("%s %s: %v", tt.qname, dns.TypeToString[tt.qtype], err)
		}
	}
}

func TestRootZone(t *testing.T) {
	f := newFixture(".").with(vip("shop", "web", "10.42.42.42"))
	m := f.ask(t, "_http._tcp.web.shop.svc.", dns.TypeSRV)
	if len(m.Answer) != 1 || m.Answer[0].(*dns.SRV).Target != "web.shop.svc." {
		t.Errorf("got %v", m)
	}
	if m := f.ask(t, ".", dns.TypeSOA); len(m.Answer) != 1 || m.Answer[0].(*dns.SOA).Ns != "ns.dns." {
		t.Errorf("got %v", m)
	}
}

func TestBoundAddresses(t *testing.T) {
	got := boundAddresses([]string{"127.0.0.1", "10.0.0.1", "fe80::1", "fd00::1", "::", "::ffff:10.0.0.2"})
	if fmt.Sprint(got) != "[10.0.0.1 fd00::1 10.0.0.2]" {
		t.Errorf("got %v", got)
	}
	for _, a := range boundAddresses([]string{""}) {
		if net.IP(a.AsSlice()).IsLoopback() {
			t.Errorf("loopback address %v", a)
		}
	}
}
