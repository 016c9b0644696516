package loadbalancer

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/cloudprovider"
	"github.com/atoll-mcs/atoll/internal/broker/border"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/ranges"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
)

// published is a slice of a cluster's, with ports as "name:number" and endpoints as
// "address[/state]".
func published(cluster string, ports []string, endpoints ...string) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Labels: map[string]string{names.LabelSourceCluster: cluster}},
		AddressType: discoveryv1.AddressTypeIPv4,
	}
	for _, p := range ports {
		name, number, _ := strings.Cut(p, ":")
		var n int32
		_, _ = fmt.Sscan(number, &n)
		s.Ports = append(s.Ports, discoveryv1.EndpointPort{Name: ptr.To(name), Port: ptr.To(n), Protocol: ptr.To(corev1.ProtocolTCP)})
	}
	for _, e := range endpoints {
		address, state, _ := strings.Cut(e, "/")
		endpoint := discoveryv1.Endpoint{Addresses: []string{address}}
		switch state {
		case "ready":
			endpoint.Conditions.Ready = ptr.To(true)
		case "not":
			endpoint.Conditions = discoveryv1.EndpointConditions{Ready: ptr.To(false), Serving: ptr.To(false), Terminating: ptr.To(false)}
		case "ending":
			endpoint.Conditions = discoveryv1.EndpointConditions{Ready: ptr.To(false), Serving: ptr.To(true), Terminating: ptr.To(true)}
		case "ended":
			endpoint.Conditions = discoveryv1.EndpointConditions{Ready: ptr.To(false), Serving: ptr.To(false), Terminating: ptr.To(true)}
		}
		s.Endpoints = append(s.Endpoints, endpoint)
	}
	return s
}

// records returns the clusters' export records of shop/web.
func records(ports map[string][]mcsv1beta1.ServicePort) map[string]*brokerv1alpha1.ExportedService {
	all := map[string]*brokerv1alpha1.ExportedService{}
	for cluster, list := range ports {
		all[cluster] = &brokerv1alpha1.ExportedService{
			ObjectMeta: metav1.ObjectMeta{Name: names.Export(names.ClusterID(cluster), "shop", "web"), Annotations: map[string]string{names.AnnotationRevision: "1"}},
			Spec: brokerv1alpha1.ExportedServiceSpec{
				ClusterID: cluster, ServiceNamespace: "shop", ServiceName: "web", Type: mcsv1beta1.ClusterSetIP, ExportedAt: metav1.Now(), Ports: list,
			},
		}
	}
	return all
}

// accepted returns the parts of exports that pass the hub's border.
func accepted(slices []*discoveryv1.EndpointSlice, records map[string]*brokerv1alpha1.ExportedService) exported {
	hub := border.New(names.HubOwner, nil, border.NewBudget(border.Limits{}, nil))
	e := exported{slices: slices, records: map[string]*brokerv1alpha1.ExportedService{}, refused: refusals{}}
	for cluster, record := range records {
		e.records[cluster] = record.DeepCopy()
		_, _ = hub.Transform(e.records[cluster]) // Transform never returns an error
	}
	return e
}

type ports = []mcsv1beta1.ServicePort

func port(name string, number int32) mcsv1beta1.ServicePort {
	return mcsv1beta1.ServicePort{Name: name, Port: number, Protocol: corev1.ProtocolTCP}
}

// Pitfall 38: load balancers also enforce spec.ports: ports that are not listed are not
// forwarded.
func TestForwards(t *testing.T) {
	http := []string{"http:8080", "admin:9090"}
	records := records(map[string]ports{
		"c1": {port("http", 80), port("admin", 81)},
		"c2": {port("web", 80)},
		"c3": {port("other", 7)},
	})
	for _, tt := range []struct {
		name   string
		spec   networkingv1alpha1.MultiClusterServiceSpec
		slices []*discoveryv1.EndpointSlice
		want   string
	}{
		{"all ports", networkingv1alpha1.MultiClusterServiceSpec{}, []*discoveryv1.EndpointSlice{published("c1", http, "10.1.0.1")},
			"http 80: c1/10.1.0.1:8080; admin 81: c1/10.1.0.1:9090"},
		{"listed ports", networkingv1alpha1.MultiClusterServiceSpec{Ports: []networkingv1alpha1.ExposurePort{{Port: 80}}},
			[]*discoveryv1.EndpointSlice{published("c1", http, "10.1.0.1")}, "http 80: c1/10.1.0.1:8080"},
		{"of several clusters, where a port may have another name", networkingv1alpha1.MultiClusterServiceSpec{},
			[]*discoveryv1.EndpointSlice{published("c2", []string{"web:8000"}, "10.2.0.1"), published("c1", http, "10.1.0.1")},
			"http 80: c1/10.1.0.1:8080 c2/10.2.0.1:8000; admin 81: c1/10.1.0.1:9090"},
		{"a cluster without any of the ports", networkingv1alpha1.MultiClusterServiceSpec{},
			[]*discoveryv1.EndpointSlice{published("c3", []string{"other:7"}, "10.3.0.1")}, "http 80:; admin 81:"},
		{"a cluster without exports", networkingv1alpha1.MultiClusterServiceSpec{},
			[]*discoveryv1.EndpointSlice{published("c4", http, "10.4.0.1")}, "http 80:; admin 81:"},
		{"provider clusters", networkingv1alpha1.MultiClusterServiceSpec{
			ProviderClusters: []networkingv1alpha1.ClusterSelector{{Name: "c1"}}, Ports: []networkingv1alpha1.ExposurePort{{Name: "http"}},
		}, []*discoveryv1.EndpointSlice{published("c2", []string{"web:8000"}, "10.2.0.1"), published("c1", http, "10.1.0.1")}, "http 80: c1/10.1.0.1:8080"},
		{"states", networkingv1alpha1.MultiClusterServiceSpec{Ports: []networkingv1alpha1.ExposurePort{{Name: "http"}}},
			[]*discoveryv1.EndpointSlice{published("c1", http, "10.1.0.1/ready", "10.1.0.2/not", "10.1.0.3/ending", "10.1.0.4/ended", "10.1.0.5")},
			"http 80: c1/10.1.0.1:8080 c1/10.1.0.3:8080(draining) c1/10.1.0.5:8080"},
		{"duplicate endpoints count once, and are ready if any copy is", networkingv1alpha1.MultiClusterServiceSpec{Ports: []networkingv1alpha1.ExposurePort{{Name: "http"}}},
			[]*discoveryv1.EndpointSlice{published("c1", http, "10.1.0.1/ending", "10.1.0.2"), published("c1", http, "10.1.0.1", "10.1.0.2/ending")},
			"http 80: c1/10.1.0.1:8080 c1/10.1.0.2:8080"},
		{"addresses that are not another machine's", networkingv1alpha1.MultiClusterServiceSpec{Ports: []networkingv1alpha1.ExposurePort{{Name: "http"}}},
			[]*discoveryv1.EndpointSlice{published("c1", http, "127.0.0.1", "169.254.169.254", "224.0.0.1", "0.0.0.0", "x")}, "http 80:"},
		{"an address that two clusters publish", networkingv1alpha1.MultiClusterServiceSpec{Ports: []networkingv1alpha1.ExposurePort{{Name: "http"}}},
			[]*discoveryv1.EndpointSlice{published("c3", http, "10.1.0.1/ending"), published("c1", http, "10.1.0.1")}, "http 80: c1/10.1.0.1:8080"},
	} {
		service := &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}, {Name: "admin", Port: 81, Protocol: corev1.ProtocolTCP}}}}
		mcs := &networkingv1alpha1.MultiClusterService{Spec: tt.spec}
		s, tooMany := forwards(mcs, service, validateExports(mcs, noRules, accepted(tt.slices, records)))
		if len(tooMany) > 0 {
			t.Errorf("%s: too many backends: %v", tt.name, tooMany)
		}
		var ports []string
		for _, p := range s.Ports {
			text := fmt.Sprintf("%s %d:", p.Name, p.Number)
			for _, b := range p.Backends {
				text += fmt.Sprintf(" %s/%s", b.Cluster, b.Address)
				if b.Draining {
					text += "(draining)"
				}
			}
			ports = append(ports, text)
		}
		if got := strings.Join(ports, "; "); got != tt.want {
			t.Errorf("%s:\n%s, want\n%s", tt.name, got, tt.want)
		}
	}
}

func isNone(names.ClusterID) bool { return false }

// rulesOf are rules with the same network for all members, which need no ranges.
func rulesOf(network validation.Network, drains func(names.ClusterID) bool) rules {
	return rules{network: func(names.ClusterID) validation.Network { return network }, drains: drains, rangeless: isNone}
}

// noRules refuse nothing but addresses that no endpoint may have.
var noRules = rulesOf(validation.Network{}, isNone)

// Drained clusters get new connections only where no other cluster has a ready endpoint, for each port.
func TestDrainedClusters(t *testing.T) {
	http := []string{"http:8080", "admin:9090"}
	for name, tt := range map[string]struct {
		drained  []string // by themselves
		byBroker names.ClusterID
		c2       string // the state of c2's endpoint
		want     string
	}{
		"none":               {nil, "", "ready", "http: c1 c2; admin: c1"},
		"one, by itself":     {[]string{"c1"}, "", "ready", "http: c1(draining) c2; admin: c1"},
		"one, by the broker": {nil, "c1", "ready", "http: c1(draining) c2; admin: c1"},
		"the other ends":     {[]string{"c1"}, "", "ending", "http: c1 c2(draining); admin: c1"},
		"both":               {[]string{"c1", "c2"}, "", "ready", "http: c1 c2; admin: c1"},
	} {
		records := records(map[string]ports{"c1": {port("http", 80), port("admin", 81)}, "c2": {port("http", 80)}})
		for _, id := range tt.drained {
			records[id].Spec.Drained = true
		}
		service := &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}, {Name: "admin", Port: 81}}}}
		mcs := &networkingv1alpha1.MultiClusterService{}
		s, _ := forwards(mcs, service, validateExports(mcs, rulesOf(validation.Network{}, func(id names.ClusterID) bool { return id == tt.byBroker }),
			accepted([]*discoveryv1.EndpointSlice{published("c1", http, "10.1.0.1"), published("c2", http[:1], "10.2.0.1/"+tt.c2)}, records)))
		var got []string
		for _, p := range s.Ports {
			text := p.Name + ":"
			for _, b := range p.Backends {
				if text += " " + b.Cluster; b.Draining {
					text += "(draining)"
				}
			}
			got = append(got, text)
		}
		if got := strings.Join(got, "; "); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
		if tt.byBroker != "" && records["c1"].Spec.Drained {
			t.Errorf("%s: the record of the cache was changed", name)
		}
	}
}

// The API server accepts more notations of a range than Go. An unreadable range must admit no
// client, not all clients.
func TestSourceRanges(t *testing.T) {
	for text, want := range map[string]string{
		"": "[]", "192.0.2.0/24": "[192.0.2.0/24]", " 10.0.0.0/8": "[10.0.0.0/8]", "010.0.0.0/8,2001:db8::1/64": "[10.0.0.0/8 2001:db8::/64]",
		"10.1.2.3/16": "[10.1.0.0/16]", "::ffff:192.0.2.0/120": "[192.0.2.0/24]", "::ffff:0:0/90": "[::ffc0:0:0/90]", "x": "[0.0.0.0/32]", "x,10.0.0.0/8": "[0.0.0.0/32 10.0.0.0/8]",
	} {
		service := &corev1.Service{}
		if text != "" {
			service.Spec.LoadBalancerSourceRanges = strings.Split(text, ",")
		}
		if got := fmt.Sprint(sourceRanges(service)); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestForwardsOfTheService(t *testing.T) {
	service := &corev1.Service{Spec: corev1.ServiceSpec{
		IPFamilies: []corev1.IPFamily{corev1.IPv6Protocol}, LoadBalancerSourceRanges: []string{"192.0.2.0/24"}, SessionAffinity: corev1.ServiceAffinityClientIP,
		Ports: []corev1.ServicePort{{Port: 53, Protocol: corev1.ProtocolUDP}},
	}}
	of := func() cloudprovider.Service {
		s, _ := forwards(&networkingv1alpha1.MultiClusterService{}, service, exports{})
		return s
	}
	s := of()
	if s.Affinity != 3*time.Hour || s.Families[0] != corev1.IPv6Protocol || s.SourceRanges[0] != netip.MustParsePrefix("192.0.2.0/24") || s.Ports[0].Protocol != corev1.ProtocolUDP {
		t.Errorf("got %+v", s)
	}
	service.Spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: ptr.To[int32](7)}}
	if s := of(); s.Affinity != 7*time.Second {
		t.Errorf("got %v", s.Affinity)
	}
	service.Spec.SessionAffinity = corev1.ServiceAffinityNone
	if s := of(); s.Affinity != 0 {
		t.Errorf("got %v", s.Affinity)
	}
}

func TestConditions(t *testing.T) {
	at := netip.MustParseAddrPort
	one := cloudprovider.Service{Ports: []cloudprovider.Port{{Number: 80, Protocol: corev1.ProtocolTCP, Backends: []cloudprovider.Backend{{Address: at("10.0.0.1:8080"), Cluster: "c1"}, {Address: at("10.0.0.2:8080"), Cluster: "c2"}}}}}
	half := cloudprovider.Service{Ports: append([]cloudprovider.Port{{Number: 81, Protocol: corev1.ProtocolUDP}}, one.Ports...)}
	mixed := cloudprovider.Service{Ports: append([]cloudprovider.Port{{Number: 81, Protocol: corev1.ProtocolUDP, Backends: one.Ports[0].Backends}}, one.Ports...)}
	fine := &corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: "192.0.2.1", Ports: []corev1.PortStatus{{Port: 80, Protocol: corev1.ProtocolTCP}}}}}
	partly := fine.DeepCopy()
	partly.Ingress[0].Ports = append(partly.Ingress[0].Ports, corev1.PortStatus{Port: 81, Protocol: corev1.ProtocolUDP, Error: ptr.To(cloudprovider.PortUnsupported)})
	for _, tt := range []struct {
		name             string
		out              outcome
		ready, reachable string
	}{
		{"healthy", outcome{status: fine, forwarding: forwarding{service: one}, reports: true}, "True/Provisioned", "True/Reachable"},
		{"an error", outcome{err: errors.New("x"), forwarding: forwarding{service: one}, reports: true}, "False/ProviderFailed", "Unknown/NotReported"},
		{"an error, and an unreachable backend", outcome{status: fine, err: errors.New("x"), forwarding: forwarding{service: one}, reports: true, unreachable: []netip.AddrPort{at("10.0.0.2:8080")}}, "False/ProviderFailed", "False/SomeUnreachable"},
		{"a UDP port", outcome{status: fine, forwarding: forwarding{service: mixed}, reports: true}, "True/Provisioned", "Unknown/NotTested"},
		{"a UDP port, and an unreachable backend", outcome{status: fine, forwarding: forwarding{service: mixed}, reports: true, unreachable: []netip.AddrPort{at("10.0.0.2:8080")}}, "True/Provisioned", "False/SomeUnreachable"},
		{"a UDP port that is not carried", outcome{status: partly, forwarding: forwarding{service: mixed}, reports: true}, "False/PortsNotCarried", "True/Reachable"},
		{"no port is carried", outcome{status: partly, forwarding: forwarding{service: cloudprovider.Service{Ports: mixed.Ports[:1]}}, reports: true}, "False/PortsNotCarried", "Unknown/NotTested"},
		{"a port in spec.ports that the Service lacks", outcome{status: fine, forwarding: forwarding{service: one, existing: []string{"80"}, absent: []string{"81"}}, reports: true}, "False/NoSuchPort", "True/Reachable"},
		{"an error with a reason", outcome{status: fine, err: &cloudprovider.Error{Reason: "TooSmall", Err: errors.New("x")}, forwarding: forwarding{service: one}, reports: true}, "False/TooSmall", "Unknown/NotReported"},
		{"no address", outcome{status: &corev1.LoadBalancerStatus{}, forwarding: forwarding{service: one}}, "False/ProviderFailed", "Unknown/NotReported"},
		{"a port that is not carried", outcome{status: partly, forwarding: forwarding{service: half}, reports: true}, "False/PortsNotCarried", "False/NoBackends"},
		{"an unreachable backend", outcome{status: fine, forwarding: forwarding{service: one}, reports: true, unreachable: []netip.AddrPort{at("10.0.0.2:8080")}}, "True/Provisioned", "False/SomeUnreachable"},
		{"no reachable backend", outcome{status: fine, forwarding: forwarding{service: one}, reports: true, unreachable: []netip.AddrPort{at("10.0.0.1:8080"), at("10.0.0.2:8080")}}, "True/Provisioned", "False/NoneReachable"},
		{"an unreachable former backend", outcome{status: fine, forwarding: forwarding{service: one}, reports: true, unreachable: []netip.AddrPort{at("10.0.0.3:8080")}}, "True/Provisioned", "True/Reachable"},
		{"no backends", outcome{status: fine, reports: true}, "True/Provisioned", "False/NoBackends"},
	} {
		tt.out.provider = "p"
		conditions := tt.out.conditions()
		for i, want := range []string{tt.ready, tt.reachable} {
			if got := fmt.Sprintf("%s/%s", conditions[i].Status, conditions[i].Reason); got != want {
				t.Errorf("%s: %s is %s (%s), want %s", tt.name, conditions[i].Type, got, conditions[i].Message, want)
			}
		}
	}
	if got := (outcome{provider: "p", status: partly, forwarding: forwarding{service: half}}).ready().Message; got != "Provider p does not forward ports 81/UDP (ProtocolNotSupported). The provider forwards the other ports at 192.0.2.1." {
		t.Error(got)
	}
	for _, tt := range []struct{ got, want string }{
		{portless(forwarding{existing: []string{"80"}, absent: []string{"81"}}).Message,
			"The load balancer forwards no port: the Service has none of the ports in spec.ports (81). The ports of the Service are 80. Clients cannot connect. Correct spec.ports, or the Service's ports."},
		{portless(forwarding{}).Message,
			"The load balancer forwards no port: the Service on the broker has no ports. Clients cannot connect. Add the ports of the member clusters' Services to the Service on the broker."},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q", tt.got)
		}
	}
	if got := named([]string{"1", "2", "3", "4", "5", "6", "7"}); got != "1, 2, 3, 4, 5 (2 more not shown)" {
		t.Error(got)
	}
}

// The hub refuses only the invalid parts of an export, and counts refusals by cluster and
// reason.
func TestAdmit(t *testing.T) {
	http := []string{"http:8080"}
	hosts := hostAddresses([]net.Addr{&net.IPNet{IP: net.ParseIP("192.0.2.7"), Mask: net.CIDRMask(24, 32)}},
		&corev1.Service{Spec: corev1.ServiceSpec{ClusterIPs: []string{"10.96.0.1"}}},
		&discoveryv1.EndpointSlice{Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"192.0.2.6"}}}}, []netip.Addr{netip.MustParseAddr("192.0.2.5")})
	allowed, err := ranges.Parse("10.0.0.0/8")
	if err != nil {
		t.Fatal(err)
	}
	network := validation.Network{
		IsHost:  func(a netip.Addr) bool { return hosts[a] },
		Allowed: func(id names.ClusterID) (ranges.Set, bool) { return allowed, id == "c2" },
	}
	unclean := published("c3", []string{"http:8080", "bad:70000"}, "10.3.0.1", "100.100.100.200")
	unclean.Annotations = map[string]string{names.AnnotationSourceSlice: "web-x"}
	validation.CleanSlice(unclean)
	list := records(map[string]ports{"c1": {port("http", 80), {Name: "no", Port: 70000}}, "c2": {port("http", 80)}, "c3": {port("http", 80)}, "c5": {port("http", 80)}})
	given := []*discoveryv1.EndpointSlice{
		published("c1", http, "10.1.0.1", "192.0.2.5", "192.0.2.6", "192.0.2.7", "10.96.0.1"), published("c2", http, "10.2.0.1", "198.51.100.1"), unclean,
		published("c5", http, "127.0.0.1"), // c5 is not a provider
	}
	mcs := &networkingv1alpha1.MultiClusterService{}
	for _, c := range []string{"c1", "c2", "c3"} {
		mcs.Spec.ProviderClusters = append(mcs.Spec.ProviderClusters, networkingv1alpha1.ClusterSelector{Name: c})
	}
	e := validateExports(mcs, rulesOf(network, isNone), accepted(given, list))
	service := &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}}}
	s, _ := forwards(mcs, service, e)
	var backends []string
	for _, b := range s.Ports[0].Backends {
		backends = append(backends, b.Cluster+"/"+b.Address.String())
	}
	if got := strings.Join(backends, " "); got != "c1/10.1.0.1:8080 c2/10.2.0.1:8080 c3/10.3.0.1:8080" {
		t.Errorf("backends are %s", got)
	}
	c := outcome{forwarding: forwarding{service: s, refused: e.refused}}.accepted()
	if c.Status != metav1.ConditionFalse || c.Reason != reasonRefused {
		t.Errorf("%+v", c)
	}
	for _, want := range []string{
		"publish (8 in total)", `cluster c1: 5 refused (port "no" 70000: port number 70000 is not between 1 and 65535)`, `cluster c2: 1 refused (endpoint "198.51.100.1": the address is outside the ranges`,
		`cluster c3: 2 refused (port "bad": port number 70000 is not between 1 and 65535)`,
	} {
		if !strings.Contains(c.Message, want) {
			t.Errorf("the message lacks %q: %s", want, c.Message)
		}
	}
	if strings.Contains(c.Message, "c5") {
		t.Errorf("the message names a cluster that is not a provider: %s", c.Message)
	}
}

// The condition Accepted names each provider cluster that lacks a port, and endpoints without addresses.
func TestUnmatchedPorts(t *testing.T) {
	names := published("c4", []string{"http:8080"}, "web.example.com")
	names.AddressType = discoveryv1.AddressTypeFQDN
	udp := port("admin", 81)
	udp.Protocol = corev1.ProtocolUDP
	for _, tt := range []struct {
		name      string
		providers []string
		records   map[string]ports
		slices    []*discoveryv1.EndpointSlice
		reason    string
		words     []string
	}{
		{"all clusters have all ports", nil, map[string]ports{"c1": {port("http", 80), port("admin", 81)}, "c2": {port("web", 80), port("admin", 82)}}, nil, reasonAccepted, nil},
		{"a cluster has another port", nil, map[string]ports{"c1": {port("http", 80), port("admin", 81)}, "c2": {port("other", 7)}}, nil, reasonNotMatched,
			[]string{"cluster c2 has no port 80/TCP, 81/TCP (it exports 7/TCP)"}},
		{"another protocol", nil, map[string]ports{"c1": {port("http", 80), udp}}, nil, reasonNotMatched, []string{"cluster c1 has no port 81/TCP (it exports 80/TCP, 81/UDP)"}},
		{"a cluster that is not a provider", []string{"c1"}, map[string]ports{"c1": {port("http", 80), port("admin", 81)}, "c2": {port("other", 7)}}, nil, reasonAccepted, nil},
		{"endpoints with domain names", nil, map[string]ports{"c4": {port("http", 80), port("admin", 81)}}, []*discoveryv1.EndpointSlice{names}, reasonRefused,
			[]string{"cluster c4: 1 refused (an EndpointSlice contains domain names instead of addresses)"}},
	} {
		mcs := &networkingv1alpha1.MultiClusterService{}
		for _, p := range tt.providers {
			mcs.Spec.ProviderClusters = append(mcs.Spec.ProviderClusters, networkingv1alpha1.ClusterSelector{Name: p})
		}
		service := &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}, {Name: "admin", Port: 81}}}}
		e := validateExports(mcs, noRules, accepted(tt.slices, records(tt.records)))
		s, _ := forwards(mcs, service, e)
		c := outcome{forwarding: forwarding{service: s, refused: e.refused, unmatched: unmatched(s, e)}}.accepted()
		if c.Reason != tt.reason || (c.Status == metav1.ConditionTrue) != (tt.reason == reasonAccepted) {
			t.Errorf("%s: %+v", tt.name, c)
		}
		for _, want := range tt.words {
			if !strings.Contains(c.Message, want) {
				t.Errorf("%s: the message lacks %q: %s", tt.name, want, c.Message)
			}
		}
	}
}

// A port has a bounded number of backends: the ready ones first, and clusters take turns.
func TestChoose(t *testing.T) {
	// many returns n addresses of a cluster's range. Addresses from index drainingFrom on are
	// draining.
	many := func(third, n, drainingFrom int) map[netip.AddrPort]bool {
		all := map[netip.AddrPort]bool{}
		for i := range n {
			all[netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(third), byte(i >> 8), byte(i)}), 80)] = i >= drainingFrom
		}
		return all
	}
	join := func(maps ...map[netip.AddrPort]bool) map[netip.AddrPort]bool {
		all := map[netip.AddrPort]bool{}
		for _, m := range maps {
			for a, draining := range m {
				all[a] = draining
			}
		}
		return all
	}
	for _, tt := range []struct {
		name  string
		found map[string]map[netip.AddrPort]bool
		limit int
		want  string
		of    int
	}{
		{"all that there are", map[string]map[netip.AddrPort]bool{"c1": many(1, 3, 2), "c2": many(2, 2, 2)}, 5, "c1 2+1, c2 2+0", 5},
		{"a cluster with many backends", map[string]map[netip.AddrPort]bool{"c1": many(1, 60000, 60000), "c2": many(2, 3, 3)}, 1000, "c1 997+0, c2 3+0", 60003},
		{"equal shares", map[string]map[netip.AddrPort]bool{"c1": many(1, 900, 900), "c2": many(2, 800, 800)}, 1000, "c1 500+0, c2 500+0", 1700},
		{"ready before draining", map[string]map[netip.AddrPort]bool{"c1": many(1, 10, 0), "c2": many(2, 8, 8)}, 10, "c1 0+2, c2 8+0", 18},
		{"a cluster that publishes another cluster's addresses", map[string]map[netip.AddrPort]bool{"c0": join(many(0, 900, 900), many(2, 10, 10)), "c2": many(2, 10, 10)}, 100, "c0 90+0, c2 10+0", 910},
	} {
		chosen, of := selectBackends(tt.found, tt.limit)
		ready, draining := map[string]int{}, map[string]int{}
		for _, b := range chosen {
			if b.Draining {
				draining[b.Cluster]++
			} else {
				ready[b.Cluster]++
			}
		}
		var parts []string
		for _, cluster := range slices.Sorted(maps.Keys(tt.found)) {
			parts = append(parts, fmt.Sprintf("%s %d+%d", cluster, ready[cluster], draining[cluster]))
		}
		if got := strings.Join(parts, ", "); got != tt.want || of != tt.of {
			t.Errorf("%s: %s of %d, want %s of %d", tt.name, got, of, tt.want, tt.of)
		}
		if again, _ := selectBackends(tt.found, tt.limit); !slices.Equal(again, chosen) {
			t.Errorf("%s: the second selection differs", tt.name)
		}
		if !slices.IsSortedFunc(chosen, func(a, b cloudprovider.Backend) int { return a.Address.Compare(b.Address) }) {
			t.Errorf("%s: not sorted", tt.name)
		}
	}
	for count, want := range map[int]int{0: 1000, 1: 1000, 5: 1000, 6: 833, 100: 50, 9000: 1} {
		if got := portLimit(count); got != want {
			t.Errorf("%d ports have %d backends each, want %d", count, got, want)
		}
	}
	c := outcome{forwarding: forwarding{tooMany: []string{describeLimit(80, corev1.ProtocolTCP, 1000, 1700)}}}.accepted()
	if c.Reason != reasonTooMany || !strings.Contains(c.Message, "port 80/TCP uses 1000 of 1700") {
		t.Errorf("%+v", c)
	}
}

func TestNewProviders(t *testing.T) {
	cloudprovider.Register("a-test", func(c cloudprovider.Config) (cloudprovider.MCSLoadBalancer, error) {
		return nil, fmt.Errorf("%v %v", c.Addresses, c.Options)
	})
	cloudprovider.Register("b-test", func(cloudprovider.Config) (cloudprovider.MCSLoadBalancer, error) { return nil, errors.New("b") })
	p, err := NewProviders("a-test", []string{"192.0.2.1", "b-test=192.0.2.2", "192.0.2.3"}, []string{"x=1", "a-test.y=2=3"}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.get(t.Context(), "a-test"); err == nil || !strings.Contains(err.Error(), "[192.0.2.1 192.0.2.3] map[x:1 y:2=3]") {
		t.Errorf("got %v", err)
	}
	if got := p.configured(); len(got) != 2 {
		t.Errorf("got %v", got)
	}
	if _, err := p.get(t.Context(), "c-test"); cloudprovider.Reason(err) != reasonNoProvider || !strings.Contains(err.Error(), "a-test, b-test") {
		t.Errorf("got %v", err)
	}
	for _, wrong := range [][3]string{{"c-test", "", ""}, {"a-test", "c-test=192.0.2.1", ""}, {"a-test", "192.0.2.1", "x"}} {
		var options []string
		if wrong[2] != "" {
			options = []string{wrong[2]}
		}
		if _, err := NewProviders(wrong[0], []string{wrong[1]}, options, slog.New(slog.DiscardHandler)); err == nil {
			t.Errorf("%v: no error", wrong)
		}
	}
}

// The metrics count backends by state, and forget deletes the counts of a load balancer.
func TestTally(t *testing.T) {
	m := newMetrics()
	name := types.NamespacedName{Namespace: "n", Name: "web"}
	backend := func(text string, draining bool) cloudprovider.Backend {
		return cloudprovider.Backend{Address: netip.MustParseAddrPort(text), Draining: draining}
	}
	m.note(name, outcome{provider: "p", unreachable: []netip.AddrPort{netip.MustParseAddrPort("10.0.0.3:80")}, forwarding: forwarding{service: cloudprovider.Service{Ports: []cloudprovider.Port{
		{Backends: []cloudprovider.Backend{backend("10.0.0.1:80", false), backend("10.0.0.2:80", true), backend("10.0.0.3:80", false)}},
		{Backends: []cloudprovider.Backend{backend("10.0.0.1:81", false)}},
	}}}})
	if want := (tally{"p", 2, 1, 1}); m.known[name] != want {
		t.Errorf("got %+v, want %+v", m.known[name], want)
	}
	m.forget(name)
	if len(m.known) > 0 {
		t.Errorf("the load balancer is still known: %v", m.known)
	}
}
