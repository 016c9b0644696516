package membership

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/broker/credential"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

var update = flag.Bool("update", false, "write the list of attempts into the manual")

// place is the clusterset's namespace.
const place = broker.DefaultNamespace

// sliceOf returns a member's slice on the broker, for a Service without endpoints.
func sliceOf(id, namespace, name string) *discoveryv1.EndpointSlice {
	return objects.Published(id, namespace, name, name)
}

// permitted returns the permissions for one member.
func permitted(id string) *corev1.ConfigMap {
	return objects.Permissions(map[string]string{"ranges." + id: "10.2.0.0/16"})
}

// altered applies a change to an object.
func altered[T client.Object](object T, change func(T)) T {
	change(object)
	return object
}

// attempt is an attack by a hostile member.
type attempt struct {
	what string
	do   func(context.Context, client.Client) error
}

func creating(what string, object client.Object) attempt {
	return attempt{"creating " + what, func(ctx context.Context, c client.Client) error { return c.Create(ctx, object) }}
}

func deleting(what string, object client.Object) attempt {
	return attempt{what, func(ctx context.Context, c client.Client) error { return c.Delete(ctx, object) }}
}

func deletingAll(what string, of client.Object) attempt {
	return attempt{what, func(ctx context.Context, c client.Client) error {
		return c.DeleteAllOf(ctx, of, client.InNamespace(place))
	}}
}

func patching(what string, object client.Object, patch string) attempt {
	return attempt{what, func(ctx context.Context, c client.Client) error {
		return planes.Merge(ctx, c, object, patch)
	}}
}

func listing(what string, list client.ObjectList, in string) attempt {
	return attempt{what, func(ctx context.Context, c client.Client) error { return c.List(ctx, list, client.InNamespace(in)) }}
}

func watching(what string, list client.ObjectList) attempt {
	return attempt{what, func(ctx context.Context, c client.Client) error {
		w, err := c.(client.WithWatch).Watch(ctx, list, client.InNamespace(place))
		if err == nil {
			w.Stop()
		}
		return err
	}}
}

// token requests a token for a service account.
func token(what, account string, spec authenticationv1.TokenRequestSpec) attempt {
	return attempt{"asking for " + what, func(ctx context.Context, c client.Client) error {
		of := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: place, Name: account}}
		return c.SubResource("token").Create(ctx, of, &authenticationv1.TokenRequest{Spec: spec})
	}}
}

// applying is server-side apply, which is neither the verb create nor update.
func applying(what string, object client.Object, kind string) attempt {
	return attempt{what, func(ctx context.Context, c client.Client) error {
		object.GetObjectKind().SetGroupVersionKind(brokerv1alpha1.GroupVersion.WithKind(kind))
		data, err := json.Marshal(object)
		if err != nil {
			return err
		}
		return c.Patch(ctx, object, client.RawPatch(types.ApplyPatchType, data), client.FieldOwner("mallory"), client.ForceOwnership)
	}}
}

// badRecord tries to create a record that is valid except for a change.
func badRecord(what string, change func(*brokerv1alpha1.ExportedService)) attempt {
	return creating("a record with "+what, altered(objects.Record("c2", "shop", "db"), change))
}

// badPreference tries to create a record whose preference is valid except for a change.
func badPreference(what string, change func(*trafficv1alpha1.Preference)) attempt {
	return badRecord("a preference with "+what, func(e *brokerv1alpha1.ExportedService) {
		e.Spec.Preference = &trafficv1alpha1.Preference{Fallback: trafficv1alpha1.FallbackAll}
		change(e.Spec.Preference)
	})
}

// badSlice tries to create a slice that is valid except for a change.
func badSlice(what string, change func(*discoveryv1.EndpointSlice)) attempt {
	return creating("a slice with "+what, altered(withEndpoints(sliceOf("c2", "shop", "db"), 1), change))
}

func affinity(timeout int32) func(*brokerv1alpha1.ExportedService) {
	return func(e *brokerv1alpha1.ExportedService) {
		e.Spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: &timeout}}
	}
}

func ports(all ...mcsv1beta1.ServicePort) func(*brokerv1alpha1.ExportedService) {
	return func(e *brokerv1alpha1.ExportedService) { e.Spec.Ports = all }
}

// manyPorts returns ports with the longest names and application protocols.
func manyPorts(n int) []mcsv1beta1.ServicePort {
	var all []mcsv1beta1.ServicePort
	for i := range n {
		all = append(all, mcsv1beta1.ServicePort{
			Name: fmt.Sprintf("%s-%04d", strings.Repeat("a", 58), i), Protocol: corev1.ProtocolTCP, Port: int32(i + 1),
			AppProtocol: ptr.To(strings.Repeat("a", 253-8) + ".example/" + strings.Repeat("b", 63)),
		})
	}
	return all
}

func manyKeys(n int) map[string]string {
	keys := map[string]string{}
	for i := range n {
		keys[fmt.Sprintf("example.org/%04d", i)] = "x"
	}
	return keys
}

func manyProperties(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(`"example.org/%04d":"x"`, i)
	}
	return "{" + strings.Join(all, ",") + "}"
}

func withEndpoints(s *discoveryv1.EndpointSlice, n int) *discoveryv1.EndpointSlice {
	fill(s, 1, n)
	return s
}

// fill adds ports and endpoints to a slice, with all fields that an agent writes.
func fill(s *discoveryv1.EndpointSlice, ports, endpoints int) {
	s.Ports, s.Endpoints = nil, nil
	for _, p := range manyPorts(ports) {
		s.Ports = append(s.Ports, discoveryv1.EndpointPort{Name: &p.Name, Protocol: &p.Protocol, Port: &p.Port, AppProtocol: p.AppProtocol})
	}
	for i := range endpoints {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{fmt.Sprintf("10.2.%d.%d", i/250, i%250+1)}, Hostname: ptr.To(fmt.Sprintf("%s-%04d", strings.Repeat("h", 58), i)),
			Zone: ptr.To(strings.Repeat("z", 63)), Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true), Serving: ptr.To(true), Terminating: ptr.To(false)},
		})
	}
}

// attempts returns the attacks of c2 on c1, on c1.eu, on the clusterset, and on the broker's
// own cluster. eu is also a member; the id of c1.eu ends with it.
func attempts() []attempt {
	type meta = metav1.ObjectMeta
	in := func(name string) meta { return meta{Namespace: place, Name: name} }
	long := authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To(int64(30 * 24 * time.Hour / time.Second))}
	return []attempt{
		// Objects of another member.
		creating("a MemberCluster with another id", objects.Member("c9")),
		creating("a MemberCluster with another member's name", altered(objects.Member("c2"), func(m *brokerv1alpha1.MemberCluster) { m.Name = "c9" })),
		creating("a MemberCluster with another member's id in its spec", altered(objects.Member("c2"), func(m *brokerv1alpha1.MemberCluster) { m.Spec.ClusterID = "c9" })),
		patching("changing another member's MemberCluster", objects.Member("c1"), `{"spec":{"region":"nowhere"}}`),
		patching("relabelling another member's MemberCluster as its own", objects.Member("c1"), `{"metadata":{"labels":{"multicluster.kubernetes.io/source-cluster":"c2"}}}`),
		patching("relabelling its own MemberCluster as another member's", objects.Member("c2"), `{"metadata":{"labels":{"multicluster.kubernetes.io/source-cluster":"c1"}}}`),
		patching("changing its own id to another member's", objects.Member("c2"), `{"spec":{"clusterID":"c1"}}`),
		patching("changing its own cluster's UID", objects.Member("c2"), `{"spec":{"clusterUID":"0f1c2d3e-0000-4000-8000-000000000001"}}`),
		deleting("deleting its own MemberCluster", objects.Member("c2")),
		deleting("deleting another member's MemberCluster", objects.Member("c1")),
		deletingAll("deleting all MemberClusters", &brokerv1alpha1.MemberCluster{}),
		applying("applying another member's MemberCluster", objects.Member("c1"), "MemberCluster"),
		creating("another member's heartbeat", objects.Lease("c9")),
		creating("a heartbeat with another member's name", altered(objects.Lease("c2"), func(l *coordinationv1.Lease) { l.Name = "c9" })),
		patching("stopping another member's heartbeat", objects.Lease("c1"), `{"spec":{"renewTime":"1970-01-01T00:00:00.000000Z"}}`),
		deleting("deleting another member's heartbeat", objects.Lease("c1")),
		deletingAll("deleting all heartbeats", &coordinationv1.Lease{}),
		watching("watching the heartbeats", &coordinationv1.LeaseList{}),
		creating("a record of another member", objects.Record("c1", "shop", "db")),
		creating("a record with another member's name", altered(objects.Record("c2", "shop", "db"), func(e *brokerv1alpha1.ExportedService) { e.Name = "db.shop.c1" })),
		creating("a record with another member's id", altered(objects.Record("c2", "shop", "db"), func(e *brokerv1alpha1.ExportedService) { e.Spec.ClusterID = "c1" })),
		patching("changing another member's record", objects.Record("c1", "shop", "web"), `{"spec":{"exportedAt":"2020-02-02T00:00:00Z"}}`),
		patching("changing its own record to another service", objects.Record("c2", "shop", "web"), `{"spec":{"serviceName":"db"}}`),
		deleting("deleting another member's record", objects.Record("c1", "shop", "web")),
		deletingAll("deleting all records", &brokerv1alpha1.ExportedService{}),
		applying("applying another member's record", objects.Record("c1", "shop", "web"), "ExportedService"),
		creating("a slice of another member", sliceOf("c1", "shop", "db")),
		creating("a slice without an owner", altered(sliceOf("c2", "shop", "db"), func(s *discoveryv1.EndpointSlice) { delete(s.Labels, names.LabelSourceCluster) })),
		creating("a slice with the name of another member's slice", altered(sliceOf("c2", "shop", "db"), func(s *discoveryv1.EndpointSlice) { s.Name = "db.shop.c1" })),
		patching("adding endpoints to another member's slice", sliceOf("c1", "shop", "web"), `{"endpoints":[{"addresses":["10.9.9.9"]}]}`),
		deleting("deleting another member's slice", sliceOf("c1", "shop", "web")),
		deletingAll("deleting all slices", &discoveryv1.EndpointSlice{}),
		// Objects that no member may write.
		creating("a slice of a Service of the broker's own cluster", altered(sliceOf("c2", "shop", "db"), func(s *discoveryv1.EndpointSlice) { s.Labels[discoveryv1.LabelServiceName] = "kubernetes" })),
		creating("a slice that the broker's own controller manages", altered(sliceOf("c2", "shop", "db"), func(s *discoveryv1.EndpointSlice) {
			s.Labels[discoveryv1.LabelManagedBy] = "endpointslice-controller.k8s.io"
		})),
		creating("a record with a finalizer", altered(objects.Record("c2", "shop", "db"), func(e *brokerv1alpha1.ExportedService) { e.Finalizers = []string{"mallory.example/stay"} })),
		patching("adding a finalizer to its MemberCluster", objects.Member("c2"), `{"metadata":{"finalizers":["mallory.example/stay"]}}`),
		creating("a record with an exportedAt older than the API", altered(objects.Record("c2", "shop", "db"), func(e *brokerv1alpha1.ExportedService) { e.Spec.ExportedAt = metav1.Unix(0, 0) })),
		creating("a record of a service whose name has a dot", objects.Record("c2", "shop.x", "db")),
		creating("a catalogue entry that does not name it", objects.Import(place, "db.shop")),
		// Objects of a namespace that the member may not export.
		creating("a record of a namespace that it may not export", objects.Record("c2", "payments", "db")),
		creating("a record of a namespace whose name begins as one that it may export", objects.Record("c2", "shopping", "db")),
		creating("a slice of a namespace that it may not export", withEndpoints(sliceOf("c2", "payments", "db"), 1)),
		creating("a slice with a digest for its name, of a namespace that it may not export", altered(withEndpoints(sliceOf("c2", "payments", "db"), 1), func(s *discoveryv1.EndpointSlice) { s.Name = "0123456789abcdef" })),
		patching("moving its own slice into a namespace that it may not export", sliceOf("c2", "shop", "spare"), `{"metadata":{"labels":{"`+names.LabelServiceNamespace+`":"payments"}}}`),
		applying("applying a record of a namespace that it may not export", objects.Record("c2", "payments", "db"), "ExportedService"),
		patching("filling an empty slice of a namespace that it may not export", sliceOf("c2", "payments", "spare"), `{"endpoints":[{"addresses":["10.2.0.9"]}]}`),
		patching("publishing again a withdrawn record of a namespace that it may not export", objects.Record("c2", "payments", "spare"), `{"metadata":{"annotations":{"`+names.AnnotationState+`":null}}}`),
		creating("a catalogue entry of a namespace that it may not export", objects.Entry("payments", "db", "c2", "c2")),
		patching("taking over a catalogue entry of a namespace that it may not export", objects.Entry("payments", "web", "", ""), `{"metadata":{"labels":{"`+names.LabelClusters+`":"c2"},"annotations":{"`+names.AnnotationClusters+`":"c2"}}}`),
		patching("emptying a catalogue entry that names it, of a namespace that it may not export", objects.Entry("payments", "spare", "", ""), `{"spec":{"ports":[]}}`),
		// Objects that no cluster can use, or that cost other clusters too much.
		patching("moving its own exportedAt backwards", objects.Record("c2", "shop", "web"), `{"spec":{"exportedAt":"2021-01-01T00:00:00Z"}}`),
		badRecord("a port 0", ports(mcsv1beta1.ServicePort{Port: 0})),
		badRecord("a port 70000", ports(mcsv1beta1.ServicePort{Port: 70000})),
		badRecord("a negative port", ports(mcsv1beta1.ServicePort{Port: -1})),
		badRecord("a port of the protocol HTTP", ports(mcsv1beta1.ServicePort{Port: 80, Protocol: "HTTP"})),
		badRecord("one port twice", ports(mcsv1beta1.ServicePort{Name: "a", Port: 80}, mcsv1beta1.ServicePort{Name: "b", Port: 80, Protocol: "TCP"})),
		badRecord("one port name twice", ports(mcsv1beta1.ServicePort{Name: "a", Port: 80}, mcsv1beta1.ServicePort{Name: "a", Port: 81})),
		badRecord("two ports, one without a name", ports(mcsv1beta1.ServicePort{Port: 80}, mcsv1beta1.ServicePort{Name: "a", Port: 81})),
		badRecord("a port name that is not a label", ports(mcsv1beta1.ServicePort{Name: "Not a label", Port: 80})),
		badRecord("a port name of 1,000 bytes", ports(mcsv1beta1.ServicePort{Name: strings.Repeat("a", 1000), Port: 80})),
		badRecord("an application protocol of 64 KiB", ports(mcsv1beta1.ServicePort{Port: 80, AppProtocol: ptr.To(strings.Repeat("a", 64<<10))})),
		badRecord("an invalid application protocol", ports(mcsv1beta1.ServicePort{Port: 80, AppProtocol: ptr.To("a b")})),
		badRecord("1,001 ports", ports(manyPorts(1001)...)),
		badRecord("an affinity timeout of two days", affinity(172_800)),
		badRecord("an affinity timeout of 0 s", affinity(0)),
		badRecord("an unknown session affinity", func(e *brokerv1alpha1.ExportedService) { e.Spec.SessionAffinity = "Cookie" }),
		badRecord("an unknown internal traffic policy", func(e *brokerv1alpha1.ExportedService) {
			e.Spec.InternalTrafficPolicy = ptr.To(corev1.ServiceInternalTrafficPolicy("Nowhere"))
		}),
		badRecord("an unknown traffic distribution", func(e *brokerv1alpha1.ExportedService) { e.Spec.TrafficDistribution = ptr.To("Everywhere") }),
		badRecord("one IP family twice", func(e *brokerv1alpha1.ExportedService) { e.Spec.IPFamilies = []corev1.IPFamily{"IPv4", "IPv4"} }),
		badRecord("an unknown IP family", func(e *brokerv1alpha1.ExportedService) { e.Spec.IPFamilies = []corev1.IPFamily{"IPv5"} }),
		badRecord("exported annotations of 256 KiB", func(e *brokerv1alpha1.ExportedService) {
			e.Spec.ExportedAnnotations = map[string]string{"note": strings.Repeat("x", 256<<10)}
		}),
		badRecord("1,001 exported labels", func(e *brokerv1alpha1.ExportedService) { e.Spec.ExportedLabels = manyKeys(1001) }),
		badRecord("an exported label of 1,000 bytes", func(e *brokerv1alpha1.ExportedService) {
			e.Spec.ExportedLabels = map[string]string{"a": strings.Repeat("x", 1000)}
		}),
		badRecord("annotations of 200 KiB in the record's metadata", func(e *brokerv1alpha1.ExportedService) {
			e.Annotations["note"] = strings.Repeat("x", 200<<10)
		}),
		badRecord("2,000 annotations in the record's metadata", func(e *brokerv1alpha1.ExportedService) { e.Annotations = manyKeys(2000) }),
		badPreference("17 groups of clusters", func(p *trafficv1alpha1.Preference) { p.ClusterSelectors = make([]trafficv1alpha1.ClusterGroup, 17) }),
		badPreference("an unknown operator", func(p *trafficv1alpha1.Preference) {
			p.ClusterSelectors = []trafficv1alpha1.ClusterGroup{{PropertySelector: trafficv1alpha1.PropertySelector{MatchExpressions: []trafficv1alpha1.PropertyExpression{{Key: "region", Operator: "Near"}}}}}
		}),
		badPreference("an unknown fallback", func(p *trafficv1alpha1.Preference) { p.Fallback = "Never" }),
		badPreference("a negative weight", func(p *trafficv1alpha1.Preference) {
			p.Weights = []trafficv1alpha1.ClusterWeight{{Cluster: "c1", Weight: -1}}
		}),
		badPreference("65 weights", func(p *trafficv1alpha1.Preference) {
			for i := range 65 {
				p.Weights = append(p.Weights, trafficv1alpha1.ClusterWeight{Cluster: fmt.Sprintf("c%d", i)})
			}
		}),
		badRecord("no revision", func(e *brokerv1alpha1.ExportedService) { delete(e.Annotations, names.AnnotationRevision) }),
		badRecord("revision 0", func(e *brokerv1alpha1.ExportedService) { e.Annotations[names.AnnotationRevision] = "0" }),
		badRecord("a revision of 19 digits", func(e *brokerv1alpha1.ExportedService) {
			e.Annotations[names.AnnotationRevision] = "1000000000000000000"
		}),
		creating("a record of a Service with a name in capitals", objects.Record("c2", "shop", "DB")),
		patching("a MemberCluster with annotations of 200 KiB", objects.Member("c2"), `{"metadata":{"annotations":{"note":"`+strings.Repeat("x", 200<<10)+`"}}}`),
		patching("a MemberCluster with a region of 100 KiB", objects.Member("c2"), `{"spec":{"region":"`+strings.Repeat("x", 100<<10)+`"}}`),
		patching("a MemberCluster with a region of control characters", objects.Member("c2"), `{"spec":{"region":"eu\u001b[2J"}}`),
		patching("a MemberCluster with a version that turns text around", objects.Member("c2"), `{"spec":{"agentVersion":"v1\u202e"}}`),
		patching("a MemberCluster with a property whose name has a line break", objects.Member("c2"), `{"spec":{"properties":{"a\nb":"x"}}}`),
		patching("a MemberCluster with 65 properties", objects.Member("c2"), `{"spec":{"properties":`+manyProperties(65)+`}}`),
		patching("a MemberCluster with a property of 257 bytes", objects.Member("c2"), `{"spec":{"properties":{"a":"`+strings.Repeat("x", 257)+`"}}}`),
		patching("a MemberCluster with an empty property", objects.Member("c2"), `{"spec":{"properties":{"region":""}}}`),
		patching("a MemberCluster with a property of control characters", objects.Member("c2"), `{"spec":{"properties":{"region":"eu\u001b[2J"}}}`),
		patching("a MemberCluster with 1,000 pod ranges", objects.Member("c2"), `{"spec":{"podCIDRs":["10.0.0.0/8"`+strings.Repeat(`,"10.0.0.0/8"`, 999)+`]}}`),
		patching("a heartbeat with annotations of 200 KiB", objects.Lease("c2"), `{"metadata":{"annotations":{"note":"`+strings.Repeat("x", 200<<10)+`"}}}`),
		patching("a heartbeat with a holder of 100 KiB", objects.Lease("c2"), `{"spec":{"holderIdentity":"`+strings.Repeat("x", 100<<10)+`"}}`),
		badSlice("revision 0", func(s *discoveryv1.EndpointSlice) { s.Annotations[names.AnnotationRevision] = "0" }),
		badSlice("a port 70000", func(s *discoveryv1.EndpointSlice) { s.Ports[0].Port = ptr.To(int32(70000)) }),
		badSlice("a port 0", func(s *discoveryv1.EndpointSlice) { s.Ports[0].Port = ptr.To(int32(0)) }),
		badSlice("a negative port", func(s *discoveryv1.EndpointSlice) { s.Ports[0].Port = ptr.To(int32(-1)) }),
		badSlice("1,000 ports and 1,000 endpoints", func(s *discoveryv1.EndpointSlice) { fill(s, 1000, 1000) }),
		badSlice("1,001 ports", func(s *discoveryv1.EndpointSlice) { fill(s, 1001, 1) }),
		badSlice("100 ports and 501 endpoints", func(s *discoveryv1.EndpointSlice) { fill(s, 100, 501) }),
		badSlice("two addresses of an endpoint", func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Addresses = []string{"10.2.0.1", "10.2.0.2"} }),
		badSlice("a node's name", func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].NodeName = ptr.To("node") }),
		badSlice("a reference to a pod", func(s *discoveryv1.EndpointSlice) {
			s.Endpoints[0].TargetRef = &corev1.ObjectReference{Kind: "Pod", Name: "shell"}
		}),
		badSlice("topology hints", func(s *discoveryv1.EndpointSlice) {
			s.Endpoints[0].Hints = &discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: "z"}}}
		}),
		badSlice("a zone of 10 KiB", func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Zone = ptr.To(strings.Repeat("z", 10<<10)) }),
		badSlice("domain names", func(s *discoveryv1.EndpointSlice) {
			s.AddressType, s.Endpoints[0].Addresses = discoveryv1.AddressTypeFQDN, []string{"example.org"}
		}),
		badSlice("annotations of 200 KiB", func(s *discoveryv1.EndpointSlice) {
			s.Annotations["note"] = strings.Repeat("x", 200<<10)
		}),
		creating("a catalogue entry with an exported label", altered(objects.Entry("shop", "db", "c2", "c2"), func(i *mcsv1beta1.ServiceImport) { i.Labels["team"] = "a" })),
		creating("a catalogue entry with an exported annotation", altered(objects.Entry("shop", "db", "c2", "c2"), func(i *mcsv1beta1.ServiceImport) { i.Annotations["note"] = "x" })),
		creating("a catalogue entry with annotations of 200 KiB", altered(objects.Entry("shop", "db", "c2", "c2"), func(i *mcsv1beta1.ServiceImport) { i.Annotations["note"] = strings.Repeat("x", 200<<10) })),
		creating("a catalogue entry with 1,001 ports", altered(objects.Entry("shop", "db", "c2", "c2"), func(i *mcsv1beta1.ServiceImport) { i.Spec.Ports = manyPorts(1001) })),
		creating("a catalogue entry with a traffic distribution of 100 KiB", altered(objects.Entry("shop", "db", "c2", "c2"), func(i *mcsv1beta1.ServiceImport) { i.Spec.TrafficDistribution = ptr.To(strings.Repeat("x", 100<<10)) })),
		// Other objects of the broker's cluster.
		listing("reading Secrets", &corev1.SecretList{}, place),
		listing("reading Secrets of all namespaces", &corev1.SecretList{}, ""),
		listing("reading ConfigMaps", &corev1.ConfigMapList{}, place),
		// The permissions, which members may only read.
		patching("permitting itself more addresses", permitted("c2"), `{"data":{"ranges.c2":"0.0.0.0/0"}}`),
		patching("permitting itself more namespaces", permitted("c2"), `{"data":{"namespaces.c2":"*"}}`),
		patching("draining another member", permitted("c2"), `{"data":{"drained.c1":"true"}}`),
		patching("permitting another member nothing", permitted("c2"), `{"data":{"namespaces.c1":""}}`),
		{"writing the permissions", func(ctx context.Context, c client.Client) error { return c.Update(ctx, permitted("c2")) }},
		{"applying the permissions", func(ctx context.Context, c client.Client) error {
			return c.Patch(ctx, permitted("c2"), client.RawPatch(types.ApplyPatchType, []byte(`{"apiVersion":"v1","kind":"ConfigMap","data":{}}`)), client.FieldOwner("mallory"), client.ForceOwnership)
		}},
		creating("the permissions again", permitted("c2")),
		deleting("deleting the permissions", permitted("c2")),
		deletingAll("deleting all ConfigMaps", &corev1.ConfigMap{}),
		{"deleting the permissions with a deletecollection", func(ctx context.Context, c client.Client) error {
			return c.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace(place), client.MatchingFields{"metadata.name": names.MemberPermissions})
		}},
		creating("a ConfigMap", &corev1.ConfigMap{ObjectMeta: in("mallory")}),
		listing("reading accounts", &corev1.ServiceAccountList{}, place),
		listing("reading another clusterset's records", &brokerv1alpha1.ExportedServiceList{}, "staging"),
		listing("reading another clusterset's heartbeats", &coordinationv1.LeaseList{}, "staging"),
		listing("reading all slices", &discoveryv1.EndpointSliceList{}, ""),
		creating("a record in another clusterset", altered(objects.Record("c2", "shop", "web"), func(e *brokerv1alpha1.ExportedService) { e.Namespace = "staging" })),
		creating("a slice in the broker's own namespace", altered(sliceOf("c2", "shop", "web"), func(s *discoveryv1.EndpointSlice) { s.Namespace = "default" })),
		creating("a Service", service(place, "web")),
		creating("a pod", objects.Pod(place, "shell")),
		creating("a Secret that gets another member's token", &corev1.Secret{
			ObjectMeta: meta{Namespace: place, Name: "token", Annotations: map[string]string{corev1.ServiceAccountNameKey: "member-c1"}}, Type: corev1.SecretTypeServiceAccountToken,
		}),
		creating("an account", &corev1.ServiceAccount{ObjectMeta: in("member-c9")}),
		creating("a role for itself", &rbacv1.RoleBinding{
			ObjectMeta: in("more"), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: place, Name: "member-c2"}},
		}),
		creating("a namespace", &corev1.Namespace{ObjectMeta: meta{Name: "mallory"}}),
		deleting("deleting the clusterset", &corev1.Namespace{ObjectMeta: meta{Name: place}}),
		deleting("deleting another member's account", &corev1.ServiceAccount{ObjectMeta: in("member-c1")}),
		token("another member's token", "member-c1", authenticationv1.TokenRequestSpec{}),
		token("a token of another member's join file", "join-c1", authenticationv1.TokenRequestSpec{}),
		token("a token for a month", "member-c2", long),
	}
}

// attemptsOfEU returns the attacks of eu on c1.eu, whose id ends with eu's and whose object
// names eu could use, and on a namespace of c1.
func attemptsOfEU() []attempt {
	return []attempt{
		creating("a record whose name ends with the id c1.eu", altered(objects.Record("eu", "shop.c1", "db"), func(*brokerv1alpha1.ExportedService) {})),
		creating("a slice whose name ends with the id c1.eu", altered(sliceOf("eu", "c1", "db"), func(s *discoveryv1.EndpointSlice) { s.Name = "db.shop.c1.eu" })),
		creating("a slice whose name ends with the id c1.eu, in a namespace with a dot", sliceOf("eu", "shop.c1", "db")),
		deleting("a record of c1.eu", objects.Record("c1.eu", "shop", "web")),
		// eu may export all namespaces but those that are reserved for others.
		creating("an older record of a namespace that is reserved for c1", altered(objects.Record("eu", "vault", "web"), func(e *brokerv1alpha1.ExportedService) {
			e.Spec.ExportedAt = metav1.NewTime(time.Date(2020, 1, 2, 0, 0, 0, 0, time.UTC))
		})),
		applying("applying a record of a namespace that is reserved for c1", objects.Record("eu", "vault", "web"), "ExportedService"),
		creating("a slice of a namespace that is reserved for c1", withEndpoints(sliceOf("eu", "vault", "web"), 1)),
		patching("moving its own slice into a namespace that is reserved for c1", sliceOf("eu", "shop", "web"), `{"metadata":{"labels":{"`+names.LabelServiceNamespace+`":"vault"}}}`),
		creating("a catalogue entry of a namespace that is reserved for c1", objects.Entry("vault", "web", "eu", "eu")),
	}
}

const asAdministrator = "acting as an administrator"

// Pitfall 35: with its own credentials a member can write, delete and read only its own
// objects, whatever it tries.
func TestHostileMember(t *testing.T) {
	deployBroker(t)
	must(t, "", "broker deploy --context broker --clusterset staging")
	asMembers, memberships := map[string]client.Client{}, map[string]credential.Membership{}
	ids := []string{"c1", "c2", "eu", "c1.eu"}
	for _, id := range ids { // before one of them is a member: the command refuses an id that ends with a member's
		memberships[id] = invited(t, id)
	}
	for _, id := range ids {
		asMembers[id] = asMember(t, memberships[id])
		removedAfterwards(t, id)
		planes.Create(t, asMembers[id], objects.Member(id), objects.Lease(id), objects.Record(id, "shop", "web"), sliceOf(id, "shop", "web")) // its own
	}
	// c2 has withdrawn its objects of a namespace that it may not export.
	spare := altered(objects.Record("c2", "payments", "spare"), func(e *brokerv1alpha1.ExportedService) {
		e.Annotations[names.AnnotationState] = names.StateWithdrawn
	})
	listed := objects.Entry("payments", "spare", "c2", "c2")
	listed.Spec.Ports = manyPorts(1)
	planes.Create(t, asMembers["c2"], sliceOf("c2", "shop", "spare"), sliceOf("c2", "payments", "spare"), spare, listed)
	planes.Create(t, asMembers["c1"], objects.Entry("payments", "web", "c1", "c1"))
	permitAllAfterwards(t)
	must(t, "", "broker members set c2 --ranges 10.2.0.0/16 --namespaces shop,team-a-* --context broker")
	awaitPermissions(t, asMembers["c2"], objects.Record("c2", "payments", "probe"))
	must(t, "", "broker members set c1 --owns vault --context broker")
	awaitPermissions(t, asMembers["eu"], objects.Record("eu", "vault", "probe"))
	before := inventory(t, lab.Broker)
	all := attempts()
	for _, a := range all {
		expectRefused(t, a.what, a.do(t.Context(), asMembers["c2"]))
	}
	ofEU := attemptsOfEU()
	for _, a := range ofEU {
		expectRefused(t, a.what, a.do(t.Context(), asMembers["eu"]))
	}
	config := broker.NewToken(memberships["c2"].Token, nil).Config(memberships["c2"])
	config.Impersonate = rest.ImpersonationConfig{UserName: "kubernetes-admin", Groups: []string{"system:masters"}}
	_, err := kubernetes.NewForConfigOrDie(config).CoreV1().Secrets("").List(t.Context(), metav1.ListOptions{})
	expectRefused(t, asAdministrator, err)
	t.Logf("%d attempts", len(all)+len(ofEU)+1)
	expectInventory(t, lab.Broker, before)
	expectListed(t, append(append(all, ofEU...), attempt{what: asAdministrator}))
	for what, read := range map[string]func(client.Client) ([]corev1.ConfigMap, error){
		"get": func(c client.Client) ([]corev1.ConfigMap, error) {
			have := permitted("")
			err := c.Get(t.Context(), client.ObjectKeyFromObject(have), have)
			return []corev1.ConfigMap{*have}, err
		},
		"list": func(c client.Client) ([]corev1.ConfigMap, error) {
			list := &corev1.ConfigMapList{}
			err := c.List(t.Context(), list, client.InNamespace(place), client.MatchingFields{"metadata.name": names.MemberPermissions})
			return list.Items, err
		},
	} {
		if have, err := read(asMembers["c2"]); err != nil || len(have) != 1 || len(have[0].Data) != 4 || have[0].Data["ranges.c2"] != "10.2.0.0/16" {
			t.Errorf("permissions, read by %s: %+v, %v", what, have, err)
		}
	}
	have := objects.Member("c1")
	if planes.Read(t, on[lab.Broker], have); have.Spec.Region != "" {
		t.Errorf("c1's entry is %+v", have.Spec)
	}
	expectAccepted(t, asMembers["c2"])
	planes.Delete(t, on[lab.Broker], namespace("staging"))
	expectGone(t, lab.Broker, namespace("staging"))
}

// awaitPermissions waits until the broker's API server refuses an object that is no longer
// permitted. The API server watches the ConfigMap, so the change takes a moment.
func awaitPermissions(t *testing.T, member client.Client, refused client.Object) {
	t.Helper()
	eventually(t, "the broker enforces the permissions", func() error {
		err := member.Create(t.Context(), refused.DeepCopyObject().(client.Object), client.DryRunAll)
		if apierrors.IsForbidden(err) {
			return nil
		}
		return fmt.Errorf("want Forbidden, got %v", err)
	})
}

// expectAccepted checks that a member may write everything that agents write, up to the size
// limits, and may withdraw and delete all its objects.
func expectAccepted(t *testing.T, c2 client.Client) {
	t.Helper()
	large := altered(objects.Record("c2", "team-a-b", "large"), func(e *brokerv1alpha1.ExportedService) {
		e.Spec.Ports = manyPorts(100)
		e.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv6Protocol, corev1.IPv4Protocol}
		e.Spec.SessionAffinity = corev1.ServiceAffinityClientIP
		affinity(86_400)(e)
		e.Spec.InternalTrafficPolicy = ptr.To(corev1.ServiceInternalTrafficPolicyLocal)
		e.Spec.TrafficDistribution = ptr.To("PreferSameNode")
		e.Spec.ExportedLabels = manyKeys(1000)
		size := 0
		for key, value := range e.Spec.ExportedLabels {
			size += len(key) + len(value)
		}
		e.Spec.ExportedAnnotations = map[string]string{"note": strings.Repeat("x", validation.MaxMetadata-size-len("note"))}
	})
	large.Spec.Preference = &trafficv1alpha1.Preference{
		ClusterSelectors: make([]trafficv1alpha1.ClusterGroup, 16), Fallback: trafficv1alpha1.FallbackNone, Weights: []trafficv1alpha1.ClusterWeight{{Cluster: "c1", Weight: 1_000_000}},
	}
	if err := planes.Merge(t.Context(), c2, objects.Member("c2"), `{"spec":{"properties":`+manyProperties(64)+`}}`); err != nil {
		t.Errorf("64 properties: %v", err)
	}
	wide, long := sliceOf("c2", "shop", "wide"), sliceOf("c2", "shop", "long")
	for _, s := range []*discoveryv1.EndpointSlice{wide, long} {
		s.Labels[names.LabelServiceName] = strings.Repeat("s", 63)
		s.Annotations = map[string]string{
			names.AnnotationSourceSlice: strings.Repeat("s", 253), names.AnnotationRevision: "1", names.AnnotationLastChangeTriggerTime: time.Now().Format(time.RFC3339Nano),
		}
	}
	fill(wide, 100, 500)
	fill(long, 50, 1000)
	headless := withEndpoints(sliceOf("c2", "shop", "headless"), 2)
	headless.Ports = nil
	v6 := withEndpoints(sliceOf("c2", "shop", "v6"), 1)
	v6.AddressType, v6.Endpoints[0].Addresses = discoveryv1.AddressTypeIPv6, []string{"fd00:2::1"}
	digit := objects.Record("c2", "shop", "1-digit-first")
	digit.Spec.Ports = []mcsv1beta1.ServicePort{{Port: 65535}} // of no name and, by default, TCP
	dns := objects.Record("c2", "shop", "dns")
	dns.Spec.Ports = []mcsv1beta1.ServicePort{{Name: "udp", Port: 53, Protocol: corev1.ProtocolUDP}, {Name: "tcp", Port: 53, Protocol: corev1.ProtocolTCP}}
	catalogue := objects.Entry("shop", "large", "c2", "c2")
	catalogue.Spec.Ports = manyPorts(1000)
	for _, o := range []client.Object{large, wide, long, headless, v6, digit, dns, catalogue} {
		began := time.Now()
		if err := c2.Create(t.Context(), o); err != nil {
			t.Errorf("creating a valid %T %s: %v", o, o.GetName(), err)
			continue
		}
		t.Logf("%T %s was created in %v", o, o.GetName(), time.Since(began).Round(time.Millisecond))
	}
	later := objects.Record("c2", "shop", "web")
	if err := planes.Merge(t.Context(), c2, later, `{"spec":{"exportedAt":"2035-01-01T00:00:00Z"}}`); err != nil {
		t.Errorf("moving exportedAt forwards: %v", err)
	}
	// A member may withdraw and delete objects that existed before the permissions, in each of
	// the ways that agents use.
	must(t, "", "broker members set c2 --no-namespaces --context broker")
	awaitPermissions(t, c2, objects.Record("c2", "shop", "probe"))
	err := planes.Merge(t.Context(), c2, wide, `{"metadata":{"annotations":{"note":"x"}}}`)
	expectRefused(t, "changing a slice of a namespace that it may not export any more", err)
	for what, do := range map[string]func() error{
		"marking a record as withdrawn": func() error {
			return planes.Merge(t.Context(), c2, large, `{"metadata":{"annotations":{"`+names.AnnotationState+`":"`+names.StateWithdrawn+`"}}}`)
		},
		"emptying a slice": func() error {
			return planes.Merge(t.Context(), c2, wide, `{"endpoints":[]}`)
		},
		"deleting a record": func() error { return c2.Delete(t.Context(), dns) },
		"deleting a slice":  func() error { return c2.Delete(t.Context(), long) },
		"deleting a catalogue entry of a namespace that it may not export": func() error {
			return c2.Delete(t.Context(), objects.Entry("payments", "spare", "", ""))
		},
		"deleting an entry that names clusters that are lost": func() error {
			return c2.Delete(t.Context(), objects.Entry("payments", "web", "", ""))
		},
	} {
		planes.Succeeds(t, what, do())
	}
	// Without the ConfigMap the broker refuses nothing. Importing clusters apply the last known
	// permissions.
	planes.Delete(t, on[lab.Broker], permitted(""))
	eventually(t, "the broker has no restrictions", func() error {
		return c2.Create(t.Context(), objects.Record("c2", "payments", "probe"), client.DryRunAll)
	})
	deployBroker(t)
}

// expectListed keeps the manual's list of attempts current.
func expectListed(t *testing.T, all []attempt) {
	t.Helper()
	const manual, begin, end = "../../docs/reference/hostile-member.md", "<!-- attempts -->\n", "<!-- /attempts -->"
	page, err := os.ReadFile(manual)
	noError(t, err)
	var list strings.Builder
	for i, a := range all {
		fmt.Fprintf(&list, "%d. %s\n", i+1, a.what)
	}
	before, rest, _ := strings.Cut(string(page), begin)
	listed, after, ok := strings.Cut(rest, end)
	switch {
	case !ok:
		t.Errorf("%s has no markers for the list of attempts", manual)
	case *update:
		noError(t, os.WriteFile(manual, []byte(before+begin+list.String()+end+after), 0o644))
	case listed != list.String():
		t.Errorf("%s: the list of attempts is out of date; update it with: go test ./test/membership -run TestHostileMember -args -update", manual)
	}
}

// expectRefused requires a denial by an authorizer, by an admission policy or by a schema.
func expectRefused(t *testing.T, what string, err error) {
	t.Helper()
	switch {
	case err == nil:
		t.Errorf("%s was allowed", what)
	case !strings.Contains(err.Error(), "is forbidden: User") && !strings.Contains(err.Error(), "denied request") && !apierrors.IsInvalid(err):
		t.Errorf("%s failed for another reason: %v", what, err)
	}
}

// invited returns the membership of a cluster that has joined.
func invited(t *testing.T, id string) credential.Membership {
	t.Helper()
	m := parsed(t, joinFile(t, id))
	m.Token = planes.Token(t, on[lab.Broker], place, names.MemberAccount(m.ClusterID))
	return m
}
