package validation

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

func record(change ...func(*brokerv1alpha1.ExportedServiceSpec)) brokerv1alpha1.ExportedServiceSpec {
	spec := brokerv1alpha1.ExportedServiceSpec{
		ClusterID: "c2", ServiceNamespace: "shop", ServiceName: "web", Type: mcsv1beta1.ClusterSetIP,
		ExportedAt: metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)),
		Ports:      []mcsv1beta1.ServicePort{{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP, AppProtocol: ptr.To("kubernetes.io/h2c")}, {Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP}},
		IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}, SessionAffinity: corev1.ServiceAffinityClientIP,
		SessionAffinityConfig: &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: ptr.To[int32](MaxAffinitySeconds)}},
		InternalTrafficPolicy: ptr.To(corev1.ServiceInternalTrafficPolicyLocal), TrafficDistribution: ptr.To("PreferSameZone"),
		ExportedLabels: map[string]string{"team": "a"}, ExportedAnnotations: map[string]string{"Note": "any text"}, OnClusterLoss: "keep",
	}
	for _, c := range change {
		c(&spec)
	}
	return spec
}

// Of too many ports, the same ones stay in the record and in the slices, whatever their order.
func TestTooManyPorts(t *testing.T) {
	var service []mcsv1beta1.ServicePort
	var ports []discoveryv1.EndpointPort
	for i := range MaxPorts + 50 {
		name := fmt.Sprintf("p%d", i)
		service = append(service, mcsv1beta1.ServicePort{Name: name, Port: int32(i + 1)})
		ports = append(ports, discoveryv1.EndpointPort{Name: &name, Port: ptr.To(int32(i + 1))})
	}
	slices.Reverse(ports)
	kept, _ := servicePorts(service)
	stays, refused := slicePorts(ports)
	inRecord := map[string]bool{}
	for _, p := range kept {
		inRecord[p.Name] = true
	}
	for _, p := range stays {
		if !inRecord[*p.Name] {
			t.Errorf("%s is in the slice only", *p.Name)
		}
	}
	if len(kept) != MaxPorts || len(stays) != MaxPorts || len(refused) != 50 {
		t.Errorf("%d and %d ports stay, %d are refused", len(kept), len(stays), len(refused))
	}
}

// Each invalid part is dropped and named, and all other parts stay.
func TestRecord(t *testing.T) {
	type spec = brokerv1alpha1.ExportedServiceSpec
	add := func(p ...mcsv1beta1.ServicePort) func(*spec) {
		return func(s *spec) { s.Ports = append(slices.Clone(s.Ports), p...) }
	}
	same := func(*spec) {}
	for _, tt := range []struct {
		change func(*spec)
		want   func(*spec) // expected result, relative to the input
		says   string
	}{
		{same, same, ""},
		{add(mcsv1beta1.ServicePort{Name: "big", Port: 70000}), same, `port "big" 70000: port number 70000 is not between 1 and 65535`},
		{add(mcsv1beta1.ServicePort{Name: "none"}), same, `port "none" 0: port number 0 is not`},
		{add(mcsv1beta1.ServicePort{Name: "Web_1", Port: 81}), same, "the port name is not a DNS label"},
		{add(mcsv1beta1.ServicePort{Name: strings.Repeat("x", 1<<16), Port: 81}), same, "the port name is not a DNS label"},
		{add(mcsv1beta1.ServicePort{Name: "http", Port: 81}), same, "another port has the same name"},
		{add(mcsv1beta1.ServicePort{Name: "http2", Port: 80}), same, "another port has the same number and protocol, 80/TCP"},
		{add(mcsv1beta1.ServicePort{Name: "quic", Port: 80, Protocol: corev1.ProtocolUDP}), add(mcsv1beta1.ServicePort{Name: "quic", Port: 80, Protocol: corev1.ProtocolUDP}), ""},
		{add(mcsv1beta1.ServicePort{Name: "icmp", Port: 81, Protocol: "ICMP"}), same, `protocol "ICMP" is not TCP`},
		{add(mcsv1beta1.ServicePort{Name: "app", Port: 81, AppProtocol: ptr.To("a b")}), same, `appProtocol "a b"`},
		{add(mcsv1beta1.ServicePort{Port: 81}), same, "a Service with several ports must name each port"},
		{func(s *spec) { s.Ports = []mcsv1beta1.ServicePort{{Port: 80}} }, func(s *spec) { s.Ports = []mcsv1beta1.ServicePort{{Port: 80}} }, ""},
		{func(s *spec) { s.IPFamilies = append(s.IPFamilies, "IPv4") }, same, `IP family "IPv4": the IP family is listed twice`},
		{func(s *spec) { s.IPFamilies = append(s.IPFamilies, "IPv5") }, same, `IP family "IPv5"`},
		{func(s *spec) { s.SessionAffinity = "Cookie" }, func(s *spec) { s.SessionAffinity, s.SessionAffinityConfig = "None", nil }, `session affinity "Cookie": the value must be None or ClientIP`},
		{func(s *spec) { s.SessionAffinityConfig.ClientIP.TimeoutSeconds = ptr.To[int32](86401) }, func(s *spec) { s.SessionAffinityConfig = nil }, "86401 seconds is not between 1 and 86400"},
		{func(s *spec) { s.SessionAffinityConfig.ClientIP.TimeoutSeconds = ptr.To[int32](0) }, func(s *spec) { s.SessionAffinityConfig = nil }, "0 seconds is not"},
		{func(s *spec) { s.InternalTrafficPolicy = ptr.To(corev1.ServiceInternalTrafficPolicy("Near")) }, func(s *spec) { s.InternalTrafficPolicy = nil }, `internal traffic policy "Near"`},
		{func(s *spec) { s.TrafficDistribution = ptr.To("PreferFar") }, func(s *spec) { s.TrafficDistribution = nil }, `traffic distribution "PreferFar"`},
		{func(s *spec) { s.OnClusterLoss = "explode" }, func(s *spec) { s.OnClusterLoss = "" }, `onClusterLoss "explode"`},
		{func(s *spec) { s.ExportedLabels["a b"] = "c" }, same, `exported label "a b": name part`},
		{func(s *spec) { s.ExportedLabels["atoll.dev/managed-by"] = "me" }, same, "Atoll reserves keys with this prefix"},
		{func(s *spec) { s.ExportedLabels["long"] = strings.Repeat("x", 64) }, same, "must be no more than 63"},
		{func(s *spec) { s.ExportedAnnotations["big"] = strings.Repeat("x", MaxMetadata) }, same, "must not exceed 64 KiB"},
		{func(s *spec) { s.ExportedAnnotations["multicluster.kubernetes.io/derived-service"] = "x" }, same, "Atoll reserves keys"},
		{func(s *spec) { s.ExportedLabels["app.kubernetes.io/managed-by"] = "Helm" }, same, "GitOps tools"},
		{func(s *spec) { s.ExportedLabels["app.kubernetes.io/instance"] = "shop" }, same, "GitOps tools"},
		{func(s *spec) { s.ExportedAnnotations["argocd.argoproj.io/tracking-id"] = "a:b" }, same, "GitOps tools"},
	} {
		given := record(tt.change)
		before := *given.DeepCopy()
		clean, refused := Record(given)
		if want := record(tt.want); !reflect.DeepEqual(clean, want) {
			t.Errorf("%s: left is %+v", tt.says, clean)
		}
		if len(refused) == 0 != (tt.says == "") || !strings.Contains(Summary(refused), tt.says) || IdentityProblem(given) != "" {
			t.Errorf("want %q, refused are %v, identity %q", tt.says, refused, IdentityProblem(given))
		}
		if !reflect.DeepEqual(given, before) {
			t.Errorf("%s: the given record has changed", tt.says)
		}
	}
	many := record()
	many.Ports = nil
	for i := range MaxPorts + 3 {
		many.Ports = append(many.Ports, mcsv1beta1.ServicePort{Name: fmt.Sprintf("p%d", i), Port: int32(i + 1)})
	}
	if clean, refused := Record(many); len(clean.Ports) != MaxPorts || len(refused) != 3 {
		t.Errorf("of %d ports %d are left, and %d refused", len(many.Ports), len(clean.Ports), len(refused))
	}
}

// A record with an invalid identity (cluster, namespace, name or type) is refused as a whole.
func TestIdentity(t *testing.T) {
	for says, change := range map[string]func(*brokerv1alpha1.ExportedServiceSpec){
		"cluster id":                func(s *brokerv1alpha1.ExportedServiceSpec) { s.ClusterID = "C 2" },
		`"shop.eu" is not the name`: func(s *brokerv1alpha1.ExportedServiceSpec) { s.ServiceNamespace = "shop.eu" },
		`"" is not the name`:        func(s *brokerv1alpha1.ExportedServiceSpec) { s.ServiceName = "" },
		`type "Anycast"`:            func(s *brokerv1alpha1.ExportedServiceSpec) { s.Type = "Anycast" },
		`scope "World"`:             func(s *brokerv1alpha1.ExportedServiceSpec) { s.Scope = "World" },
		"exportedAt":                func(s *brokerv1alpha1.ExportedServiceSpec) { s.ExportedAt = metav1.Time{} },
	} {
		if got := IdentityProblem(record(change)); !strings.Contains(got, says) {
			t.Errorf("got %q, want %q", got, says)
		}
	}
}

func TestSlice(t *testing.T) {
	port := func(name string, number int32) discoveryv1.EndpointPort {
		return discoveryv1.EndpointPort{Name: &name, Port: &number, Protocol: ptr.To(corev1.ProtocolTCP)}
	}
	good := func() *discoveryv1.EndpointSlice {
		return &discoveryv1.EndpointSlice{
			AddressType: v6, Ports: []discoveryv1.EndpointPort{port("http", 80), {Name: ptr.To("all")}},
			Endpoints: []discoveryv1.Endpoint{
				{Addresses: []string{"fd00::1"}, Hostname: ptr.To("web-0"), Zone: ptr.To("eu-1a")},
				{Addresses: []string{"fd00::2"}, Zone: ptr.To("eu-1a"), Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(false)}},
			},
		}
	}
	same := func(*discoveryv1.EndpointSlice) {}
	ports := func(p ...discoveryv1.EndpointPort) func(*discoveryv1.EndpointSlice) {
		return func(s *discoveryv1.EndpointSlice) { s.Ports = append(s.Ports, p...) }
	}
	endpoint := func(e discoveryv1.Endpoint) func(*discoveryv1.EndpointSlice) {
		return func(s *discoveryv1.EndpointSlice) { s.Endpoints = append([]discoveryv1.Endpoint{e}, s.Endpoints...) }
	}
	at := func(addresses ...string) discoveryv1.Endpoint { return discoveryv1.Endpoint{Addresses: addresses} }
	for _, tt := range []struct {
		change, want func(*discoveryv1.EndpointSlice)
		says         string
	}{
		{same, same, ""},
		{ports(port("big", 70000)), same, "70000 is not between"},
		{ports(port("zero", 0)), same, "0 is not between"},
		{ports(port("minus", -1)), same, "-1 is not between"},
		{ports(port("http", 81)), same, "another port has the same name"},
		{ports(port("UPPER", 81)), same, "not a DNS label"},
		{ports(discoveryv1.EndpointPort{Name: ptr.To("x"), Protocol: ptr.To(corev1.Protocol("QUIC"))}), same, `protocol "QUIC"`},
		{endpoint(at("127.0.0.1")), same, "does not match the EndpointSlice's address type"},
		{endpoint(at()), same, "has no address"},
		{endpoint(at("fd00:0:0::3")), endpoint(at("fd00::3")), ""}, // written in its canonical form
		{endpoint(at("fd00::3", "fd00::4")), endpoint(at("fd00::3")), "2 addresses, but only the first address is used"},
		{endpoint(at("fe80::3", "fd00::4")), same, "link-local"},
		{endpoint(discoveryv1.Endpoint{Addresses: []string{"fd00::3"}, Hostname: ptr.To("a.b")}), endpoint(at("fd00::3")), `hostname "a.b"`},
		{endpoint(discoveryv1.Endpoint{Addresses: []string{"fd00::3"}, Zone: ptr.To("a b")}), endpoint(at("fd00::3")), `zone "a b"`},
		{func(s *discoveryv1.EndpointSlice) { s.AddressType = "FQDN" }, func(s *discoveryv1.EndpointSlice) { s.AddressType, s.Endpoints = "FQDN", nil }, `address type "FQDN"`},
	} {
		given, want := good(), good()
		tt.change(given)
		tt.want(want)
		before := given.DeepCopy()
		clean, refused := Slice(given)
		if !reflect.DeepEqual(clean, want) {
			t.Errorf("%s: left is %+v", tt.says, clean)
		}
		if (len(refused) == 0) != (tt.says == "") || !strings.Contains(Summary(refused), tt.says) {
			t.Errorf("want %q, refused are %v", tt.says, refused)
		}
		if !reflect.DeepEqual(given, before) {
			t.Errorf("%s: the given slice has changed", tt.says)
		}
	}
	if s := good(); s != first(Slice(s)) {
		t.Error("a valid slice is copied")
	}
}

func first[A, B any](a A, _ B) A { return a }

// The work for kube-proxy is limited: ports × endpoints.
func TestSliceIsBounded(t *testing.T) {
	for _, tt := range []struct{ ports, endpoints, wantPorts, wantEndpoints int }{
		{1, 1000, 1, 1000}, {0, 1500, 0, 1000}, {100, 1000, 100, 500}, {1000, 1000, 1000, 50}, {1001, 1000, 1000, 50}, {50, 1000, 50, 1000},
	} {
		s := &discoveryv1.EndpointSlice{AddressType: v4}
		for i := range tt.ports {
			s.Ports = append(s.Ports, discoveryv1.EndpointPort{Name: ptr.To(fmt.Sprintf("p%d", i)), Port: ptr.To(int32(i + 1))})
		}
		for i := range tt.endpoints {
			s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{fmt.Sprintf("10.0.%d.%d", i/250, i%250)}})
		}
		clean, refused := Slice(s)
		if len(clean.Ports) != tt.wantPorts || len(clean.Endpoints) != tt.wantEndpoints || (len(refused) == 0) != (clean == s) {
			t.Errorf("%d × %d: left are %d × %d, %s", tt.ports, tt.endpoints, len(clean.Ports), len(clean.Endpoints), Summary(refused))
		}
	}
}

// A slice from the broker keeps only the labels and annotations that Atoll reads, and records
// the dropped parts.
func TestCleanSlice(t *testing.T) {
	published := func(annotations map[string]string) *discoveryv1.EndpointSlice {
		s := sliceAt(v4, "10.1.0.1", "127.0.0.1", "127.0.0.2")
		s.Labels = map[string]string{names.LabelSourceCluster: "c2", names.LabelServiceName: "web", "team": "x"}
		s.Annotations = map[string]string{
			names.AnnotationSourceSlice: "web-abc", "big": strings.Repeat("x", 200<<10),
			names.AnnotationLastChangeTriggerTime: "yesterday", names.AnnotationRefused: "0 nothing at all",
		}
		maps.Copy(s.Annotations, annotations)
		CleanSlice(s)
		return s
	}
	s := published(nil)
	if !maps.Equal(s.Labels, map[string]string{names.LabelSourceCluster: "c2", names.LabelServiceName: "web"}) || len(s.Annotations) != 2 || addressesOf(s) != "10.1.0.1" {
		t.Errorf("left is %+v", s)
	}
	if count, summary := RefusedOf(s); count != 2 || summary != `endpoint "127.0.0.1": the address is a loopback address; further problems: 1` {
		t.Errorf("refused: %d, %s", count, summary)
	}
	if s := published(map[string]string{names.AnnotationSourceSlice: names.ClusterIPSlice("web", "IPv4")}); len(s.Endpoints) != 1 {
		t.Error("the slice of a cluster IP is refused")
	}
	for _, value := range []string{"", ":ipv4", "a/b", "A", strings.Repeat("x", 300)} {
		s := published(map[string]string{names.AnnotationSourceSlice: value})
		if count, summary := RefusedOf(s); len(s.Endpoints) > 0 || count != 1 || !strings.Contains(summary, names.AnnotationSourceSlice) {
			t.Errorf("%.20q: %d endpoints are left; %s", value, len(s.Endpoints), summary)
		}
	}
}

// FuzzRecord cleans arbitrary records of other clusters. Cleaning the result again changes
// nothing.
func FuzzRecord(f *testing.F) {
	seed, _ := json.Marshal(record())
	f.Add(seed)
	f.Add([]byte(`{"ports":[{"port":70000},{"port":-1,"name":"x","protocol":"?","appProtocol":""}],"ipFamilies":["","IPv6"],"exportedLabels":{"":"\u0000"},"sessionAffinityConfig":{"clientIP":{}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var spec brokerv1alpha1.ExportedServiceSpec
		if json.Unmarshal(data, &spec) != nil {
			return
		}
		IdentityProblem(spec)
		clean, refused := Record(spec)
		again, none := Record(clean)
		if len(none) > 0 || !reflect.DeepEqual(again, clean) {
			t.Errorf("cleaning again refused %v", none)
		}
		if len(Summary(refused)) > 400 {
			t.Errorf("the summary is %d bytes long", len(Summary(refused)))
		}
	})
}

// FuzzSlice cleans arbitrary EndpointSlices of other clusters.
func FuzzSlice(f *testing.F) {
	f.Add([]byte(`{"addressType":"IPv4","ports":[{"name":"http","port":70000},{"name":"http","port":80}],"endpoints":[{"addresses":["10.0.0.1","x"],"zone":" ","hostname":"A"},{"addresses":[]}]}`))
	f.Add([]byte(`{"metadata":{"annotations":{"atoll.dev/source-slice":"a","atoll.dev/source-part":"0","atoll.dev/refused":"7 x"}},"addressType":"IPv6","endpoints":[{"addresses":["fd00::0:1"]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var s discoveryv1.EndpointSlice
		if json.Unmarshal(data, &s) != nil {
			return
		}
		clean, _ := Slice(&s)
		if again, none := Slice(clean); s.AddressType != "FQDN" && (s.AddressType == v4 || s.AddressType == v6) && (len(none) > 0 || again != clean) {
			t.Errorf("cleaning again refused %v", none)
		}
		CleanSlice(&s)
		if len(s.Labels) > len(keptLabels) || len(s.Annotations) > len(keptAnnotations)+1 {
			t.Errorf("left are %v and %v", s.Labels, s.Annotations)
		}
	})
}
