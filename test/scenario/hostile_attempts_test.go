package scenario

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

const (
	ipv4 = discoveryv1.AddressTypeIPv4
	ipv6 = discoveryv1.AddressTypeIPv6
)

type (
	recordSpec = brokerv1alpha1.ExportedServiceSpec
	slice      = discoveryv1.EndpointSlice
)

// onTheBroker returns attempts with c1's credentials. These attempts need no agent.
func (w *world) onTheBroker() []hostileAttempt {
	return slices.Concat(w.records(), w.slices(), w.elsewhere())
}

// records returns attempts with c1's export records.
func (w *world) records() []hostileAttempt {
	port := func(name string, number int32) mcsv1beta1.ServicePort {
		return mcsv1beta1.ServicePort{Name: name, Protocol: corev1.ProtocolTCP, Port: number}
	}
	ports := func(name string, more ...mcsv1beta1.ServicePort) hostileAttempt {
		return w.recording(name, false, func(s *recordSpec) { s.Ports = append(s.Ports, more...) })
	}
	many := func(count int) (list []mcsv1beta1.ServicePort) {
		for i := range count {
			list = append(list, port(fmt.Sprintf("p%d", i), int32(1000+i)))
		}
		return list
	}
	spec := func(name string, change func(*recordSpec)) hostileAttempt { return w.recording(name, false, change) }
	unusable := func(name string, change func(*recordSpec)) hostileAttempt { return w.recording(name, true, change) }
	timeout := func(affinity corev1.ServiceAffinity, seconds int32) func(*recordSpec) {
		return func(s *recordSpec) {
			s.SessionAffinity = affinity
			s.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: &seconds}}
		}
	}
	return []hostileAttempt{
		ports("port 0", port("other", 0)),
		ports("port 70000", port("other", 70000)),
		ports("a port's name twice", port("good", 83), port("http", 83)),
		ports("a port's number twice", port("other", 82), port("another", 82)),
		ports("a port's name of 100 KiB", port(strings.Repeat("x", 100<<10), 82)),
		ports("two ports without a name", port("", 82), port("", 83)),
		ports("protocol QUIC", mcsv1beta1.ServicePort{Name: "other", Port: 82, Protocol: "QUIC"}),
		ports("an application protocol that is none", mcsv1beta1.ServicePort{Name: "other", Port: 82, Protocol: corev1.ProtocolTCP, AppProtocol: ptr.To("a b/c/d")}),
		ports("1,000 ports", many(999)...),
		spec("the IP family IPv5", func(s *recordSpec) { s.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol, "IPv5"} }),
		spec("an IP family twice", func(s *recordSpec) { s.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv4Protocol} }),
		spec("session affinity Cookie", func(s *recordSpec) { s.SessionAffinity = "Cookie" }),
		spec("an affinity timeout of 86,401 s", timeout(corev1.ServiceAffinityClientIP, 86401)),
		spec("an affinity timeout without affinity", timeout(corev1.ServiceAffinityNone, 10)),
		spec("an internal traffic policy that is none", func(s *recordSpec) {
			s.InternalTrafficPolicy = ptr.To(corev1.ServiceInternalTrafficPolicy("Nowhere"))
		}),
		spec("a traffic distribution that is none", func(s *recordSpec) { s.TrafficDistribution = ptr.To("PreferNobody") }),
		spec("a traffic distribution that older servers refuse", func(s *recordSpec) { s.TrafficDistribution = ptr.To("PreferSameNode") }),
		spec("an exported annotation of 200 KiB", func(s *recordSpec) { s.ExportedAnnotations = map[string]string{"big": strings.Repeat("x", 200<<10)} }),
		spec("1,000 exported labels", func(s *recordSpec) {
			s.ExportedLabels = map[string]string{}
			for i := range 1000 {
				s.ExportedLabels[fmt.Sprintf("l%d", i)] = "x"
			}
		}),
		spec("exported labels that are none", func(s *recordSpec) { s.ExportedLabels = map[string]string{"a b": "c\nd", "": "e"} }),
		spec("exported labels that mean something to others", func(s *recordSpec) {
			s.ExportedLabels = map[string]string{names.LabelManagedBy: "somebody", names.LabelServiceName: "bystander", "service.kubernetes.io/service-proxy-name": "none"}
			s.ExportedAnnotations = map[string]string{names.AnnotationDerivedService: "bystander-clusterset", "atoll.dev/clusterset-ips": "10.0.0.1"}
		}),
		unusable("type Anycast", func(s *recordSpec) { s.Type = "Anycast" }),
		unusable("scope World", func(s *recordSpec) { s.Scope = "World" }),
		spec("onClusterLoss explode", func(s *recordSpec) { s.OnClusterLoss = "explode" }),
		unusable("no exportedAt", func(s *recordSpec) { s.ExportedAt = metav1.Time{} }),
		unusable("another cluster's id", func(s *recordSpec) { s.ClusterID = "c2" }),
		unusable("a namespace with a dot", func(s *recordSpec) { s.ServiceNamespace = "hostile.quiet" }),
		unusable("another service's name", func(s *recordSpec) { s.ServiceName, s.ServiceNamespace = "bystander", quietNamespace }),
		spec("an exportedAt in a hundred years", func(s *recordSpec) { s.ExportedAt = metav1.Date(2126, 1, 1, 0, 0, 0, 0, time.UTC) }),
		{name: "a record that is 200 KiB of annotations", do: func(ctx context.Context) error {
			r := record(sharedNamespace, "evil-big", w.good())
			r.Annotations["x"] = strings.Repeat("x", 200<<10)
			return w.put(ctx, r)
		}},
		w.named("kubernetes", metav1.NamespaceDefault),
		w.named("kube-dns", metav1.NamespaceSystem),
		w.named("atoll-dns", names.SystemNamespace),
		w.named("web", "no-such-namespace"),
		w.named("kubernetes", sharedNamespace),
		w.named("taken", sharedNamespace),
		w.named("taken-clusterset", sharedNamespace),
		w.named("shared-clusterset", sharedNamespace),
		w.named("local", sharedNamespace),
	}
}

// named exports a service, with an endpoint, whose name has a meaning in the other clusters.
func (w *world) named(name, namespace string) hostileAttempt {
	return w.exporting(fmt.Sprintf("an export of %s/%s", namespace, name), namespace, name)
}

func (w *world) exporting(attempt, namespace, name string) hostileAttempt {
	return hostileAttempt{name: attempt, do: func(ctx context.Context) error {
		if err := w.put(ctx, record(namespace, name, 80)); err != nil {
			return err
		}
		return w.put(ctx, published(ipv4, namespace, name, "198.51.100.7"))
	}}
}

// endpoints adds endpoints to a slice.
func endpoints(addresses ...string) func(*slice) {
	return func(s *slice) {
		for _, a := range addresses {
			s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{a}})
		}
	}
}

func endpointPort(name string, number int32) discoveryv1.EndpointPort {
	return discoveryv1.EndpointPort{Name: &name, Port: &number, Protocol: ptr.To(corev1.ProtocolTCP)}
}

// many adds n endpoints and ports to a slice.
func many(count, ports int) func(*slice) {
	return func(s *slice) {
		for i := range count {
			endpoints(fmt.Sprintf("203.0.%d.%d", i/250, 1+i%250))(s)
		}
		for i := range ports {
			s.Ports = append(s.Ports, endpointPort(fmt.Sprintf("p%d", i), int32(1000+i)))
		}
	}
}

// slices returns attempts with c1's endpoint slices.
func (w *world) slices() []hostileAttempt {
	ports := func(name string, more ...discoveryv1.EndpointPort) hostileAttempt {
		return w.slicing(name, ipv4, false, func(s *slice) { s.Ports = append(s.Ports, more...) })
	}
	at := func(name string, family discoveryv1.AddressType, addresses ...string) hostileAttempt {
		return w.slicing(name, family, false, endpoints(addresses...))
	}
	endpoint := func(name string, change func(*discoveryv1.Endpoint)) hostileAttempt {
		return w.slicing(name, ipv4, false, func(s *slice) {
			endpoints("198.51.100.254")(s)
			change(&s.Endpoints[1])
		})
	}
	labelled := func(name, key, value string) hostileAttempt {
		return w.slicing(name, ipv4, true, func(s *slice) { s.Labels[key] = value })
	}
	annotated := func(name, key, value string) hostileAttempt {
		return w.slicing(name, ipv4, true, func(s *slice) { s.Annotations[key] = value })
	}
	c2, _ := w.lab.Spec.Cluster("c2")
	c3, _ := w.lab.Spec.Cluster("c3")
	var pods, services, nodes [2][]string // by family
	for _, c := range []*lab.Cluster{c2, c3} {
		for family := range 2 {
			pods[family] = append(pods[family], c.PodCIDRs[family].Addr().Next().Next().String())
			services[family] = append(services[family], c.ServiceCIDRs[family].Addr().Next().String())
			nodes[family] = append(nodes[family], c.Nodes[0].Addresses[family].String())
		}
	}
	return []hostileAttempt{
		ports("port 0", endpointPort("bad", 0)),
		ports("port 70000", endpointPort("bad", 70000)),
		ports("a port's name twice", endpointPort("good", 81)),
		ports("protocol QUIC", discoveryv1.EndpointPort{Name: ptr.To("bad"), Port: ptr.To[int32](81), Protocol: ptr.To(corev1.Protocol("QUIC"))}),
		ports("a port without a number", discoveryv1.EndpointPort{Name: ptr.To("bad"), Protocol: ptr.To(corev1.ProtocolTCP)}),
		at("loopback addresses", ipv4, "127.0.0.1"),
		at("loopback addresses of IPv6", ipv6, "::1"),
		at("link-local addresses of IPv6", ipv6, "fe80::1"),
		at("the metadata service's address", ipv4, "169.254.169.254"),
		at("other metadata services' addresses", ipv4, "100.100.100.200", "168.63.129.16"),
		at("a metadata service's address of IPv6", ipv6, "fd00:ec2::254"),
		at("NAT64 addresses", ipv6, "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe"),
		at("IPv4 addresses within IPv6", ipv6, "::ffff:127.0.0.1"),
		at("an address that is not canonical", ipv6, "2001:DB8:0:0:0:0:0:1"),
		at("an address with leading zeros", ipv4, "198.51.100.010"),
		at("the importers' pods' addresses", ipv4, pods[0]...),
		at("the importers' pods' addresses of IPv6", ipv6, pods[1]...),
		at("the importers' Services' addresses", ipv4, services[0]...),
		at("the importers' Services' addresses of IPv6", ipv6, services[1]...),
		at("the importers' nodes' and API servers' addresses", ipv4, nodes[0]...),
		at("the importers' nodes' and API servers' addresses of IPv6", ipv6, nodes[1]...),
		w.slicing("1,000 endpoints and 100 ports", ipv4, false, many(999, 99)),
		w.slicing("1,000 endpoints and 1,000 ports", ipv4, false, many(999, 999)),
		endpoint("a zone of 10 KiB", func(e *discoveryv1.Endpoint) { e.Zone = ptr.To(strings.Repeat("z", 10<<10)) }),
		endpoint("a host name that is none", func(e *discoveryv1.Endpoint) { e.Hostname = ptr.To("_.*") }),
		endpoint("a node's name, and hints", func(e *discoveryv1.Endpoint) {
			e.NodeName, e.Hints = ptr.To("c2-n1"), &discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: "r2-a"}}}
		}),
		endpoint("a target", func(e *discoveryv1.Endpoint) {
			e.TargetRef = &corev1.ObjectReference{Kind: "Pod", Namespace: quietNamespace, Name: "web"}
		}),
		endpoint("two addresses", func(e *discoveryv1.Endpoint) { e.Addresses = append(e.Addresses, "127.0.0.1") }),
		endpoint("an address twice", func(e *discoveryv1.Endpoint) { e.Addresses[0] = "198.51.100.253" }),
		annotated("another slice's name as its source", names.AnnotationSourceSlice, "shared-ipv4"),
		annotated("a source that is no name", names.AnnotationSourceSlice, "../../../x"),
		annotated("a source of 200 KiB", names.AnnotationSourceSlice, strings.Repeat("x", 200<<10)),
		annotated("revision 0", names.AnnotationRevision, "0"),
		annotated("revision 99999999999999999999", names.AnnotationRevision, "99999999999999999999"),
		annotated("the highest revision", names.AnnotationRevision, strconv.FormatInt(math.MaxInt64, 10)),
		annotated("200 KiB of annotations", "x", strings.Repeat("x", 200<<10)),
		annotated("a trigger time of the year 9999", names.AnnotationLastChangeTriggerTime, "9999-01-01T00:00:00Z"),
		labelled("the bystander's name", names.LabelServiceName, "bystander"),
		labelled("the bystander's namespace", names.LabelServiceNamespace, quietNamespace),
		labelled("c2 as its source", names.LabelSourceCluster, "c2"),
		labelled("the name of Service kubernetes", discoveryv1.LabelServiceName, "kubernetes"),
		labelled("another manager", discoveryv1.LabelManagedBy, "endpointslice-controller.k8s.io"),
		labelled("the headless mark", names.LabelHeadless, ""),
		labelled("another advertise mode", names.LabelAdvertiseMode, "cluster-ip"),
	}
}

// elsewhere returns attempts with c1's other objects on the broker, and attempts that create
// and delete objects.
func (w *world) elsewhere() []hostileAttempt {
	patching := func(name string, object client.Object, patch string) hostileAttempt {
		return hostileAttempt{name: name, do: func(ctx context.Context) error { return planes.Merge(ctx, w.member, object, patch) }}
	}
	member := func(name, patch string) hostileAttempt { return patching(name, objects.Member("c1"), patch) }
	lease := func(name, patch string) hostileAttempt { return patching(name, objects.Lease("c1"), patch) }
	catalogue := func(name, namespace, service string, change func(*mcsv1beta1.ServiceImport)) hostileAttempt {
		return hostileAttempt{name: name, do: func(ctx context.Context) error {
			entry := objects.Import(objects.Clusterset, names.CatalogueEntry(namespace, service))
			if err := w.member.Get(ctx, client.ObjectKeyFromObject(entry), entry); err != nil {
				return err
			}
			change(entry)
			return w.member.Update(ctx, entry)
		}}
	}
	flips := w.makeUp(ipv4)
	again := func(name string, times int, pause time.Duration, do func(ctx context.Context, i int) error) hostileAttempt {
		return hostileAttempt{name: name, astray: true, do: repeatedly(times, pause, do)}
	}
	delays := func(ctx context.Context, i int) error {
		namespace := []string{objects.Clusterset, metav1.NamespaceDefault}[i%2]
		return w.member.Create(ctx, &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Namespace: namespace, GenerateName: "noise-"},
			InvolvedObject: corev1.ObjectReference{Namespace: namespace, Kind: "MemberCluster", Name: "c2"},
			Reason:         "Noise", Message: strings.Repeat("x", 1000), Type: corev1.EventTypeWarning,
		})
	}
	return []hostileAttempt{
		{name: "a takeover of the bystander, with an export of 2021 that is headless and has another port", do: func(ctx context.Context) error {
			r := record(quietNamespace, "bystander", 8443)
			r.Spec.ExportedAt, r.Spec.Type = metav1.Date(2021, 1, 1, 0, 0, 0, 0, time.UTC), mcsv1beta1.Headless
			return w.put(ctx, r)
		}},
		w.older("the port has another name", func(s *recordSpec) { s.Ports[0].Name = "renamed" }),
		w.older("the internal traffic policy is Local", func(s *recordSpec) {
			s.InternalTrafficPolicy = ptr.To(corev1.ServiceInternalTrafficPolicyLocal)
		}),
		w.exporting("endpoints for the bystander", quietNamespace, "bystander"),
		member("ranges that cover all addresses", `{"spec":{"podCIDRs":["0.0.0.0/0","::/0"],"serviceCIDRs":["0.0.0.0/0","::/0"]}}`),
		member("ranges that are none", `{"spec":{"podCIDRs":["x","10.0.0.0/99"],"serviceCIDRs":["300.0.0.0/8"]}}`),
		member("a region of 10 KiB", `{"spec":{"region":"`+strings.Repeat("r", 10<<10)+`"}}`),
		member("another advertise mode", `{"spec":{"advertiseMode":"cluster-ip"}}`),
		member("another's cluster UID", `{"spec":{"clusterUID":"stolen"}}`),
		member("200 KiB of annotations on its MemberCluster", `{"metadata":{"annotations":{"x":"`+strings.Repeat("x", 200<<10)+`"}}}`),
		{name: "its MemberCluster deleted and created again", do: func(ctx context.Context) error {
			entry := objects.Member("c1")
			if err := w.member.Get(ctx, client.ObjectKeyFromObject(entry), entry); err != nil {
				return err
			}
			if err := w.member.Delete(ctx, entry); err != nil {
				return err
			}
			return w.member.Create(ctx, &brokerv1alpha1.MemberCluster{ObjectMeta: objects.OnBroker("c1", "c1"), Spec: entry.Spec})
		}},
		lease("a heartbeat of 1970", `{"spec":{"renewTime":"1970-01-01T00:00:00.000000Z"}}`),
		lease("a heartbeat of the year 2200", `{"spec":{"renewTime":"2200-01-01T00:00:00.000000Z"}}`),
		lease("a holder of 100 KiB", `{"spec":{"holderIdentity":"`+strings.Repeat("h", 100<<10)+`"}}`),
		catalogue("a false catalogue entry of a service that it exports too", sharedNamespace, "shared", func(s *mcsv1beta1.ServiceImport) {
			s.Spec.Type, s.Spec.Ports, s.Spec.IPs = mcsv1beta1.Headless, []mcsv1beta1.ServicePort{{Name: "x", Port: 1}}, nil
		}),
		catalogue("a false catalogue entry of the bystander", quietNamespace, "bystander", func(s *mcsv1beta1.ServiceImport) { s.Spec.Type = mcsv1beta1.Headless }),
		again("a record that changes ports 30 times in 3 s", 30, 100*time.Millisecond, func(ctx context.Context, i int) error {
			return w.put(ctx, record(sharedNamespace, flips.name, flips.port-int32(i%2)))
		}),
		again("a record that changes its type 30 times in 3 s", 30, 100*time.Millisecond, func(ctx context.Context, i int) error {
			r := record(sharedNamespace, flips.name, flips.port)
			r.Spec.Type = []mcsv1beta1.ServiceImportType{mcsv1beta1.Headless, mcsv1beta1.ClusterSetIP}[i%2]
			return w.put(ctx, r)
		}),
		again("endpoints that change 30 times in 3 s", 30, 100*time.Millisecond, func(ctx context.Context, i int) error {
			return w.put(ctx, published(ipv4, sharedNamespace, flips.name, fmt.Sprintf("198.51.100.%d", 1+i)))
		}),
		again("a record that is deleted and created 30 times", 30, 50*time.Millisecond, func(ctx context.Context, i int) error {
			r := record(sharedNamespace, flips.name, flips.port)
			if i%2 == 0 {
				return client.IgnoreNotFound(w.member.Delete(ctx, r))
			}
			return w.put(ctx, r)
		}),
		again("300 Events about others", 300, time.Millisecond, delays),
		{name: "its own record of a service that c2 exports too, deleted and created again", do: func(ctx context.Context) error {
			if err := w.member.Delete(ctx, w.honest.DeepCopy()); client.IgnoreNotFound(err) != nil {
				return err
			}
			return w.put(ctx, w.honest.DeepCopy())
		}},
		{name: "an export that is older than it was, of a service that c2 exports too", do: func(ctx context.Context) error {
			r := w.honest.DeepCopy()
			r.Spec.ExportedAt = metav1.Date(2021, 1, 1, 0, 0, 0, 0, time.UTC) // all other fields are unchanged
			return w.put(ctx, r)
		}},
		{name: "its own slices of a service that c2 exports too, deleted", astray: true, do: func(ctx context.Context) error {
			list := &discoveryv1.EndpointSliceList{}
			if err := w.member.List(ctx, list, client.InNamespace(objects.Clusterset), client.MatchingLabels{names.LabelSourceCluster: "c1", names.LabelServiceName: "shared"}); err != nil {
				return err
			}
			for i := range list.Items {
				if err := w.member.Delete(ctx, &list.Items[i]); err != nil {
					return err
				}
				if err := w.put(ctx, &list.Items[i]); err != nil { // put clears the resource version of the deleted object
					return err
				}
			}
			return nil
		}},
	}
}

// older replaces c1's export of a service that c2 exports too by one with an earlier time, so that c1's values are used.
func (w *world) older(what string, change func(*recordSpec)) hostileAttempt {
	return hostileAttempt{name: "an export of 2021 of a service that c2 exports too, where " + what, do: func(ctx context.Context) error {
		r := w.honest.DeepCopy()
		if err := w.member.Delete(ctx, r.DeepCopy()); client.IgnoreNotFound(err) != nil {
			return err
		}
		r.Spec.ExportedAt = metav1.Date(2021, 1, 1, 0, 0, 0, 0, time.UTC)
		change(&r.Spec)
		return w.put(ctx, r)
	}}
}

// inItsCluster returns attempts of c1's administrator in c1, where the agent runs.
func (w *world) inItsCluster() []hostileAttempt {
	admin := w.admin["c1"]
	creating := func(name string, objects ...client.Object) hostileAttempt {
		return hostileAttempt{name: name, do: func(ctx context.Context) error {
			for _, o := range objects {
				if err := admin.Create(ctx, o); err != nil {
					return err
				}
			}
			return nil
		}}
	}
	at := func(name string, family discoveryv1.AddressType, port int32, change func(*slice)) hostileAttempt {
		m := w.makeUp(family)
		s, bad := webService(sharedNamespace, m.name), objects.Slice(sharedNamespace, m.name, m.name, m.address)
		s.Spec.Selector = nil
		s.Spec.Ports = []corev1.ServicePort{{Name: "good", Port: m.port}, {Name: "bad", Port: 81}}
		delete(bad.Labels, discoveryv1.LabelManagedBy)
		bad.AddressType, bad.Ports = family, []discoveryv1.EndpointPort{endpointPort("good", 8080), endpointPort("bad", port)}
		change(bad)
		a := creating(name, s, bad, objects.Export(sharedNamespace, m.name))
		a.arrived = func(t *testing.T) {
			w.importersHave(t, m, m.address)
			planes.Delete(t, admin, bad) // the slice affects kube-proxy in c1, which its own administrator may break
		}
		return a
	}
	exporting := func(name, service string, change func(*mcsv1beta1.ServiceExportSpec)) hostileAttempt {
		export := objects.Export(sharedNamespace, service)
		change(&export.Spec)
		return creating(name, webService(sharedNamespace, service), export)
	}
	changing := func(name string, change func(*corev1.Service)) hostileAttempt {
		return hostileAttempt{name: name, do: func(ctx context.Context) error { return w.changeShared(ctx, change) }}
	}
	lie := objects.Slice(sharedNamespace, "false", "", "198.51.100.9")
	lie.Labels = map[string]string{names.LabelServiceName: "shared", names.LabelSourceCluster: "c2", discoveryv1.LabelManagedBy: "somebody"}
	falsely := creating("false EndpointSlices for imports, in its own cluster", lie)
	falsely.arrived = func(t *testing.T) {
		planes.Eventually(t, "c3 has no such endpoint", func() error {
			if slices.Contains(w.addressesFrom(t, "c3", sharedNamespace, "shared", "c2"), "198.51.100.9") {
				return errors.New("c3 imported the endpoint")
			}
			return nil
		})
	}
	c2, _ := w.lab.Spec.Cluster("c2")
	return []hostileAttempt{
		at("an EndpointSlice with port 70000", ipv4, 70000, func(*slice) {}),
		at("an EndpointSlice with port 0", ipv4, 0, func(*slice) {}),
		at("an EndpointSlice with metadata services' addresses", ipv4, 81, endpoints("100.100.100.200", "168.63.129.16")),
		at("an EndpointSlice with NAT64 addresses", ipv6, 81, endpoints("64:ff9b::a9fe:a9fe", "fd00:ec2::254")),
		at("an EndpointSlice with c2's own addresses", ipv4, 81, endpoints(c2.Nodes[0].Addresses[0].String(), c2.PodCIDRs[0].Addr().Next().String(), c2.ServiceCIDRs[0].Addr().Next().String())),
		at("an EndpointSlice with 1,000 endpoints and 80 ports", ipv4, 81, many(999, 78)),
		at("an EndpointSlice with annotations of Atoll's and 200 KiB of others", ipv4, 81, func(s *slice) {
			s.Annotations = map[string]string{names.AnnotationSourceSlice: "bystander", "big": strings.Repeat("x", 200<<10)}
		}),
		exporting("an export with an annotation of 200 KiB", "evil-annotated", func(e *mcsv1beta1.ServiceExportSpec) {
			e.ExportedAnnotations = map[string]string{"big": strings.Repeat("x", 200<<10)}
		}),
		exporting("an export with labels that are none", "evil-labelled", func(e *mcsv1beta1.ServiceExportSpec) {
			e.ExportedLabels = map[string]string{"a b": "c\nd", names.LabelManagedBy: "somebody"}
		}),
		exporting("an export that would take a user's Service's name", "taken", func(*mcsv1beta1.ServiceExportSpec) {}),
		exporting("an export with a name that derived Services have", "shared-clusterset-clusterset", func(*mcsv1beta1.ServiceExportSpec) {}),
		creating("an export of default/kubernetes", objects.Export(metav1.NamespaceDefault, "kubernetes")),
		creating("an export of kube-system/kube-dns", objects.Export(metav1.NamespaceSystem, "kube-dns")),
		changing("its Service with 100 further ports", func(s *corev1.Service) {
			for i := range 100 {
				s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: fmt.Sprintf("p%d", i), Port: int32(1000 + i), TargetPort: intstr.FromInt32(8080)})
			}
		}),
		changing("its Service with its own affinity and distribution", func(s *corev1.Service) {
			s.Spec.Ports, s.Spec.SessionAffinity, s.Spec.TrafficDistribution = s.Spec.Ports[:1], corev1.ServiceAffinityClientIP, ptr.To(corev1.ServiceTrafficDistributionPreferClose)
		}),
		{name: "its Service that changes a port 30 times in 3 s", do: repeatedly(30, 100*time.Millisecond, func(ctx context.Context, i int) error {
			return w.changeShared(ctx, func(s *corev1.Service) {
				s.Spec.SessionAffinity = corev1.ServiceAffinityNone
				s.Spec.Ports = append(s.Spec.Ports[:1], corev1.ServicePort{Name: "flip", Port: int32(900 + i%2), TargetPort: intstr.FromInt32(8080)})
			})
		})},
		{name: "its export that is deleted and created 10 times", do: repeatedly(10, time.Millisecond, func(ctx context.Context, _ int) error {
			if err := admin.Delete(ctx, objects.Export(sharedNamespace, "shared")); err != nil {
				return err
			}
			return admin.Create(ctx, objects.Export(sharedNamespace, "shared"))
		}), arrived: func(t *testing.T) { w.waitImport(t, sharedNamespace, "shared", "c1", "c2") }},
		falsely,
	}
}

// repeatedly calls do several times, even if the broker refuses the call.
func repeatedly(times int, pause time.Duration, do func(ctx context.Context, i int) error) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		next := time.NewTicker(pause)
		defer next.Stop()
		for i := range times {
			if err := do(ctx, i); err != nil && !refused(err) {
				return fmt.Errorf("time %d: %w", i, err)
			}
			<-next.C
		}
		return nil
	}
}

// changeShared changes c1's Service that c2 exports too.
func (w *world) changeShared(ctx context.Context, change func(*corev1.Service)) error {
	s := &corev1.Service{}
	if err := w.admin["c1"].Get(ctx, client.ObjectKey{Namespace: sharedNamespace, Name: "shared"}, s); err != nil {
		return err
	}
	change(s)
	return w.admin["c1"].Update(ctx, s)
}
