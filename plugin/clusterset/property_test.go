package clusterset

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/coredns/coredns/plugin/pkg/dnstest"
	"github.com/coredns/coredns/plugin/test"
	"github.com/google/go-cmp/cmp"
	"github.com/miekg/dns"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/test/zonefile"
)

// fixture is a handler with objects that a test adds by hand.
type fixture struct {
	*Clusterset
	known   *objects
	imports store[*serviceImport]
	slices  store[*endpointSlice]
}

func newFixture(zones ...string) *fixture {
	o := options{ttl: defaultTTL}
	for _, zone := range zones {
		o.addZone(zone)
	}
	f := &fixture{
		Clusterset: newClusterset(o),
		known:      newObjects(),
	}
	f.imports, f.slices = importStore(f.known), sliceStore(f.known)
	f.setNameserver([]netip.Addr{netip.MustParseAddr("192.0.2.53"), netip.MustParseAddr("2001:db8::53")})
	close(f.synced)
	return f
}

// update brings the index up to date.
func (f *fixture) update() {
	all, _ := f.known.take()
	f.apply(all.services)
}

// query queries over TCP, so that replies are not truncated. The id selects the first of
// several records.
func (f *fixture) query(id uint16, qname string, qtype uint16) (*dns.Msg, error) {
	r := new(dns.Msg)
	r.SetQuestion(qname, qtype)
	r.Id = id
	w := dnstest.NewRecorder(&test.ResponseWriter{TCP: true})
	if _, err := f.ServeDNS(context.Background(), w, r); err != nil {
		return nil, err
	}
	return w.Msg, nil
}

// Whatever imports and slices there are, and whatever way they came to be,
// every answer is the reference's. Pitfall 20: <clusterid>.<svc> has no records.
// Pitfall 23: cluster ids of two labels. Pitfall 25: SRV records.
func TestAnswersEqualReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		zones, reverse := []string{"clusterset.local.", "eu.clusterset.local."}, []string{"in-addr.arpa.", "0.0.d.f.ip6.arpa."}
		f := newFixture(append(zones, reverse...)...)
		imports := map[string]*mcsv1beta1.ServiceImport{}
		of := map[string]*discoveryv1.EndpointSlice{}
		relist := func(*rapid.T) {
			f.imports.Replace(anys(imports), "")
			f.slices.Replace(anys(of), "")
		}
		relist(t)
		t.Repeat(map[string]func(*rapid.T){
			"put import": func(t *rapid.T) {
				i := drawImport(t)
				imports[i.Namespace+"/"+i.Name] = i
				f.imports.Update(i)
			},
			"drop import": func(t *rapid.T) {
				if i := drawFrom(t, imports); i != nil {
					delete(imports, i.Namespace+"/"+i.Name)
					f.imports.Delete(i)
				}
			},
			"put slice": func(t *rapid.T) {
				s := drawSlice(t)
				of[s.Namespace+"/"+s.Name] = s
				f.slices.Update(s)
			},
			"change endpoints": func(t *rapid.T) {
				if s := drawFrom(t, of); s != nil {
					s = s.DeepCopy()
					s.Endpoints = drawEndpoints(t)
					of[s.Namespace+"/"+s.Name] = s
					f.slices.Update(s)
				}
			},
			"change hands": func(t *rapid.T) {
				if s := drawFrom(t, of); s != nil {
					s = s.DeepCopy()
					s.Labels["endpointslice.kubernetes.io/managed-by"] = drawManager(t)
					of[s.Namespace+"/"+s.Name] = s
					f.slices.Update(s)
				}
			},
			"drop slice": func(t *rapid.T) {
				if s := drawFrom(t, of); s != nil {
					delete(of, s.Namespace+"/"+s.Name)
					f.slices.Delete(s)
				}
			},
			"missed events": func(t *rapid.T) {
				i, s := drawImport(t), drawSlice(t)
				imports[i.Namespace+"/"+i.Name] = i
				of[s.Namespace+"/"+s.Name] = s
				if i := drawFrom(t, imports); i != nil {
					delete(imports, i.Namespace+"/"+i.Name)
				}
				relist(t)
			},
			"": func(t *rapid.T) {
				f.update()
				for _, zone := range zones {
					f.compare(t, zone, zonefile.Write(zone, values(imports), values(of)))
				}
				for _, zone := range reverse {
					f.compare(t, zone, zonefile.WriteReverse(zone, zones[0], values(imports), values(of)))
				}
			},
		})
	})
}

// compare queries all existing names, the names below, and some names that do not exist.
func (f *fixture) compare(t *rapid.T, zone string, want zonefile.File) {
	names := map[string]bool{
		"c1.web.shop.svc." + zone:            true, // <clusterid>.<svc> never has records
		"*.shop.svc." + zone:                 true, // no wildcards
		"_*._tcp.web.shop.svc." + zone:       true,
		"_http._any.web.shop.svc." + zone:    true,
		"web.shop.pod." + zone:               true,
		"h1.c1.web.shop.svc." + zone:         true,
		"h1.c1.eu.west.web.shop.svc." + zone: true,
	}
	for _, ns := range namespaces {
		names[ns+".svc."+zone] = true
		for _, svc := range services {
			names[svc+"."+ns+".svc."+zone] = true
		}
	}
	for name := range want {
		names["nothing."+name] = true
		for off, end := 0, false; !end && len(name[off:]) >= len(zone); off, end = dns.NextLabel(name, off) {
			names[name[off:]] = true
		}
	}
	flip := rapid.Bool().Draw(t, "upper case")
	id := rapid.Uint16().Draw(t, "id")
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if isReverse(zone) && dns.CountLabel(name) < map[bool]int{true: whole6, false: whole4}[strings.HasSuffix(zone, arpa6)] {
			if rcode, _, _ := want.Resolve(name, dns.TypePTR); rcode == dns.RcodeNameError {
				continue // every prefix of an address exists
			}
		}
		if _, ok := dns.IsDomainName(name); !ok || !dns.IsSubDomain(zone, name) {
			continue // invalid name, or in another zone
		}
		if flip {
			name = strings.ToUpper(name)
		}
		for _, qtype := range []uint16{dns.TypeA, dns.TypeAAAA, dns.TypeSRV, dns.TypeTXT, dns.TypeSOA, dns.TypeNS, dns.TypeCNAME, dns.TypeANY, dns.TypePTR} {
			got, err := f.query(id, name, qtype)
			if err != nil {
				t.Fatal(err)
			}
			if diff := difference(want, got); diff != "" {
				t.Fatalf("%s %s: %s", name, dns.TypeToString[qtype], diff)
			}
		}
	}
}

// difference describes where a response differs from the reference; "" if nowhere.
func difference(want zonefile.File, got *dns.Msg) string {
	question := got.Question[0]
	rcode, answer, extra := want.Resolve(question.Name, question.Qtype)
	var gotAnswer, gotExtra []string
	for _, rr := range got.Answer {
		if rr.Header().Name != question.Name || rr.Header().Rrtype != question.Qtype || rr.Header().Class != dns.ClassINET {
			return fmt.Sprintf("answer has the record %v", rr)
		}
		gotAnswer = append(gotAnswer, zonefile.Data(rr))
	}
	for _, rr := range got.Extra {
		gotExtra = append(gotExtra, rr.Header().Name+" "+zonefile.Data(rr))
	}
	slices.Sort(gotAnswer)
	slices.Sort(gotExtra)
	switch {
	case got.Rcode != rcode:
		return fmt.Sprintf("got %s, want %s", dns.RcodeToString[got.Rcode], dns.RcodeToString[rcode])
	case !got.Authoritative:
		return "not authoritative"
	case !slices.Equal(gotAnswer, answer):
		return "answer (-got +want)\n" + cmp.Diff(gotAnswer, answer)
	case !slices.Equal(gotExtra, extra):
		return "additional section (-got +want)\n" + cmp.Diff(gotExtra, extra)
	case len(answer) > 0 && len(got.Ns) != 0:
		return "authority section in a positive answer"
	case len(answer) == 0 && (len(got.Ns) != 1 || got.Ns[0].Header().Rrtype != dns.TypeSOA):
		return "no SOA in a negative answer"
	}
	return ""
}

// Few names, so that objects often share one, and some of maximal length.
var (
	namespaces = []string{"shop", "svc", strings.Repeat("n", 63)}
	services   = []string{"web", "db", strings.Repeat("s", 63)}
)

func drawImport(t *rapid.T) *mcsv1beta1.ServiceImport {
	return &mcsv1beta1.ServiceImport{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: drawNamespace(t), Name: drawService(t),
			Labels: map[string]string{"atoll.dev/managed-by": drawManager(t)},
		},
		Spec: mcsv1beta1.ServiceImportSpec{
			Type:  rapid.SampledFrom([]mcsv1beta1.ServiceImportType{mcsv1beta1.ClusterSetIP, mcsv1beta1.Headless, mcsv1beta1.Headless, "Other"}).Draw(t, "type"),
			IPs:   rapid.SliceOfN(rapid.SampledFrom([]string{"10.1.0.1", "10.2.0.1", "fd00:20::1", "fd00::7"}), 0, 2).Draw(t, "ips"),
			Ports: rapid.SliceOfN(rapid.Custom(drawPort), 0, 3).Draw(t, "ports"),
		},
		Status: mcsv1beta1.ServiceImportStatus{Conditions: rapid.SliceOfN(rapid.Custom(drawCondition), 0, 1).Draw(t, "conditions")},
	}
}

func drawCondition(t *rapid.T) metav1.Condition {
	return metav1.Condition{
		Type:   rapid.SampledFrom([]string{"Ready", "Ready", "Conflict"}).Draw(t, "condition"),
		Status: rapid.SampledFrom([]metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown}).Draw(t, "status"),
	}
}

func drawPort(t *rapid.T) mcsv1beta1.ServicePort {
	return mcsv1beta1.ServicePort{
		Name:     drawPortName(t),
		Protocol: drawProtocol(t),
		Port:     rapid.Int32Range(80, 82).Draw(t, "port"),
	}
}

func drawSlice(t *rapid.T) *discoveryv1.EndpointSlice {
	family := rapid.SampledFrom([]discoveryv1.AddressType{discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6, discoveryv1.AddressTypeFQDN}).Draw(t, "family")
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   drawNamespace(t),
			Name:        rapid.StringMatching(`s[1-6]`).Draw(t, "slice"),
			Annotations: drawStandby(t),
			Labels: map[string]string{
				"multicluster.kubernetes.io/service-name":   drawService(t),
				"endpointslice.kubernetes.io/managed-by":    drawManager(t),
				"multicluster.kubernetes.io/source-cluster": rapid.SampledFrom([]string{"c1", "c1", "c2", "c1.eu", "eu", "h1.c1", strings.Repeat("c", 63), "a.b.c", ""}).Draw(t, "cluster"),
			},
		},
		AddressType: family,
		Endpoints:   drawEndpoints(t),
		Ports:       rapid.SliceOfN(rapid.Custom(drawEndpointPort), 0, 3).Draw(t, "ports"),
	}
}

func drawEndpoints(t *rapid.T) []discoveryv1.Endpoint {
	return rapid.SliceOfN(rapid.Custom(drawEndpoint), 0, 4).Draw(t, "endpoints")
}

func drawEndpoint(t *rapid.T) discoveryv1.Endpoint {
	return discoveryv1.Endpoint{
		Addresses:  rapid.SliceOfN(rapid.SampledFrom([]string{"10.2.0.1", "10.2.0.2", "10.2.0.3", "fd00::", "fd00::7", "h.example"}), 1, 2).Draw(t, "addresses"),
		Hostname:   rapid.Ptr(rapid.SampledFrom([]string{"h1", "h2", "c1", strings.Repeat("h", 63)}), true).Draw(t, "hostname"),
		Conditions: rapid.OneOf(rapid.Custom(drawReady), rapid.Just(discoveryv1.EndpointConditions{Ready: ptr.To(false), Serving: ptr.To(true), Terminating: ptr.To(true)})).Draw(t, "conditions"),
	}
}

func drawReady(t *rapid.T) discoveryv1.EndpointConditions {
	return discoveryv1.EndpointConditions{Ready: rapid.Ptr(rapid.Bool(), true).Draw(t, "ready")}
}

// drawStandby draws whether a slice says that some of its endpoints are on standby.
func drawStandby(t *rapid.T) map[string]string {
	return rapid.SampledFrom([]map[string]string{nil, {"atoll.dev/standby": "Drained=1"}}).Draw(t, "standby")
}

func drawEndpointPort(t *rapid.T) discoveryv1.EndpointPort {
	protocol := drawProtocol(t)
	return discoveryv1.EndpointPort{
		Name:     rapid.Ptr(rapid.Custom(drawPortName), true).Draw(t, "name"),
		Protocol: &protocol,
		Port:     rapid.Ptr(rapid.Int32Range(8080, 8082), true).Draw(t, "port"),
	}
}

// drawManager draws the creator of an object: Atoll, or another implementation of the API.
func drawManager(t *rapid.T) string {
	return rapid.SampledFrom([]string{"agent.atoll.dev", "agent.atoll.dev", "lighthouse-agent.submariner.io"}).Draw(t, "manager")
}

func drawNamespace(t *rapid.T) string {
	return rapid.SampledFrom(namespaces).Draw(t, "namespace")
}

func drawService(t *rapid.T) string {
	return rapid.SampledFrom(services).Draw(t, "service")
}

func drawPortName(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "http", "dns"}).Draw(t, "port name")
}

func drawProtocol(t *rapid.T) corev1.Protocol {
	return rapid.SampledFrom([]corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP, ""}).Draw(t, "protocol")
}

func drawFrom[T any](t *rapid.T, from map[string]*T) *T {
	if len(from) == 0 {
		return nil
	}
	return from[rapid.SampledFrom(slices.Sorted(maps.Keys(from))).Draw(t, "which")]
}

func values[T any](m map[string]*T) []*T {
	var all []*T
	for _, k := range slices.Sorted(maps.Keys(m)) {
		all = append(all, m[k])
	}
	return all
}

func anys[T any](m map[string]*T) []any {
	var all []any
	for _, v := range values(m) {
		all = append(all, v)
	}
	return all
}

// While a service changes, each response has either the old or the new records, never a
// mixture.
func TestAnswersWhileTheServiceChanges(t *testing.T) {
	h := headless("shop", "web", "http")
	var versions [2]*discoveryv1.EndpointSlice
	var want [2][]string
	for v := range versions {
		for i := range 20 {
			want[v] = append(want[v], fmt.Sprintf("10.%d.0.%d", v+1, i))
		}
		versions[v] = slice(h, "c1", "web-1", want[v]...)
		slices.Sort(want[v])
	}
	f := newFixture(testZone).with(h, versions[0])
	stop, seen := make(chan struct{}), [2]atomic.Int64{}
	var askers sync.WaitGroup
	for range 4 {
		askers.Go(func() {
			for id := uint16(0); ; id++ {
				select {
				case <-stop:
					return
				default:
				}
				m, err := f.query(id, "web.shop.svc."+testZone, dns.TypeA)
				if err != nil {
					t.Error(err)
					return
				}
				var got []string
				for _, rr := range m.Answer {
					got = append(got, rr.(*dns.A).A.String())
				}
				slices.Sort(got)
				v := slices.IndexFunc(want[:], func(w []string) bool { return slices.Equal(w, got) })
				if v < 0 {
					t.Errorf("got %v", got)
					return
				}
				seen[v].Add(1)
			}
		})
	}
	for i := 1; (i < 2000 || seen[0].Load() == 0 || seen[1].Load() == 0) && !t.Failed(); i++ {
		f.slices.Update(versions[i%2])
		f.update()
	}
	close(stop)
	askers.Wait()
}
