package convergence

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
	made "github.com/atoll-mcs/atoll/test/objects"
)

// users holds the objects of users and of Kubernetes' controllers in a cluster. Atoll's objects
// follow from these objects, and Atoll must not change them.
type users struct {
	namespaces map[string]bool
	open       bool // the system namespace accepts imports
	services   map[types.NamespacedName]*corev1.Service
	exports    map[types.NamespacedName]*mcsv1beta1.ServiceExport
	slices     map[types.NamespacedName]*discoveryv1.EndpointSlice
	wishes     map[aim]wish      // what TrafficPolicies ask for
	accepts    map[string]string // ids of clusters whose exports' policies may forbid clusters, by namespace
	drains     map[string]string // annotation of a namespace, or of Atoll's for the whole cluster
	nodes      map[string]*corev1.Node
	address    int // number of the last pod address
}

func newUsers() *users {
	return &users{
		namespaces: map[string]bool{steadyNamespace: true},
		services:   map[types.NamespacedName]*corev1.Service{},
		exports:    map[types.NamespacedName]*mcsv1beta1.ServiceExport{},
		slices:     map[types.NamespacedName]*discoveryv1.EndpointSlice{},
		wishes:     map[aim]wish{},
		accepts:    map[string]string{},
		drains:     map[string]string{},
		nodes:      map[string]*corev1.Node{},
	}
}

// slicesOf returns the slices of a service, sorted by name.
func (u *users) slicesOf(service types.NamespacedName) []*discoveryv1.EndpointSlice {
	var all []*discoveryv1.EndpointSlice
	for _, s := range u.slices {
		if s.Namespace == service.Namespace && s.Labels[discoveryv1.LabelServiceName] == service.Name {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b *discoveryv1.EndpointSlice) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// makeNamespace creates a namespace, or deletes it with its content.
func (c *cluster) makeNamespace(ctx context.Context, name string, exists bool) error {
	object := made.Namespace(name)
	u := c.users
	if exists {
		u.namespaces[name] = true
		return c.admin.Create(ctx, object)
	}
	delete(u.namespaces, name)
	u.open = u.open && name != systemNamespace
	maps.DeleteFunc(u.services, func(n types.NamespacedName, _ *corev1.Service) bool { return n.Namespace == name })
	maps.DeleteFunc(u.exports, func(n types.NamespacedName, _ *mcsv1beta1.ServiceExport) bool { return n.Namespace == name })
	maps.DeleteFunc(u.slices, func(n types.NamespacedName, _ *discoveryv1.EndpointSlice) bool { return n.Namespace == name })
	u.forgetPolicies(name)
	return c.admin.Delete(ctx, object)
}

// makeService creates or updates a Service. It re-creates a Service if an immutable field
// changes, and leaves a Service alone that Atoll created.
func (c *cluster) makeService(ctx context.Context, want *corev1.Service) error {
	key := client.ObjectKeyFromObject(want)
	have := c.users.services[key]
	if have != nil && (have.Spec.ClusterIP == corev1.ClusterIPNone) != (want.Spec.ClusterIP == corev1.ClusterIPNone) {
		if err := c.deleteService(ctx, key); err != nil {
			return err
		}
		have = nil
	}
	if have == nil {
		err := c.admin.Create(ctx, want)
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		c.users.services[key] = want
		return err
	}
	want.ResourceVersion = have.ResourceVersion
	if want.Spec.ClusterIP == "" {
		want.Spec.ClusterIP = have.Spec.ClusterIP
	}
	c.users.services[key] = want
	return c.admin.Update(ctx, want)
}

// deleteService deletes a Service and, as Kubernetes does, its EndpointSlices.
func (c *cluster) deleteService(ctx context.Context, key types.NamespacedName) error {
	have := c.users.services[key]
	if have == nil {
		return nil
	}
	delete(c.users.services, key)
	if err := c.admin.Delete(ctx, have); err != nil {
		return err
	}
	for _, s := range c.users.slicesOf(key) {
		if err := c.deleteSlice(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

func (c *cluster) deleteSlice(ctx context.Context, s *discoveryv1.EndpointSlice) error {
	delete(c.users.slices, client.ObjectKeyFromObject(s))
	return c.admin.Delete(ctx, s)
}

// makeSlice makes or replaces an EndpointSlice.
func (c *cluster) makeSlice(ctx context.Context, want *discoveryv1.EndpointSlice) error {
	key := client.ObjectKeyFromObject(want)
	have := c.users.slices[key]
	if have != nil && have.AddressType != want.AddressType {
		if err := c.deleteSlice(ctx, have); err != nil {
			return err
		}
		have = nil
	}
	c.users.slices[key] = want
	if have == nil {
		return c.admin.Create(ctx, want)
	}
	want.ResourceVersion = have.ResourceVersion
	return c.admin.Update(ctx, want)
}

// makeExport creates or updates a ServiceExport. It leaves a ServiceExport alone that an agent
// created for a policy.
func (c *cluster) makeExport(ctx context.Context, want *mcsv1beta1.ServiceExport) error {
	key := client.ObjectKeyFromObject(want)
	have := c.users.exports[key]
	if have == nil {
		err := c.admin.Create(ctx, want)
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		c.users.exports[key] = want
		return err
	}
	c.users.exports[key] = want
	return c.admin.Update(ctx, want) // only users write the spec, and an update keeps the status
}

func (c *cluster) deleteExport(ctx context.Context, key types.NamespacedName) error {
	delete(c.users.exports, key)
	return c.admin.Delete(ctx, made.Export(key.Namespace, key.Name))
}

// ports are candidates for the ports of a Service. Some exclude each other.
var ports = []corev1.ServicePort{
	{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80},
	{Name: "http", Protocol: corev1.ProtocolTCP, Port: 8080},
	{Name: "web", Protocol: corev1.ProtocolTCP, Port: 80},
	{Name: "http", Protocol: corev1.ProtocolUDP, Port: 80},
	{Name: "dns", Protocol: corev1.ProtocolUDP, Port: 53},
	{Name: "dns-tcp", Protocol: corev1.ProtocolTCP, Port: 53},
	{Name: "", Protocol: corev1.ProtocolTCP, Port: 9000},
	{Name: "", Protocol: corev1.ProtocolUDP, Port: 9000},
	{Name: "9000-tcp", Protocol: corev1.ProtocolTCP, Port: 9001}, // the name that Atoll gives to an unnamed port
	{Name: "grpc", Protocol: corev1.ProtocolTCP, Port: 9002, AppProtocol: ptr.To("kubernetes.io/h2c")},
}

// somePorts returns ports that fit into one Service.
func somePorts(random *rand.Rand, none bool) []corev1.ServicePort {
	var some []corev1.ServicePort
	for range 1 + random.IntN(3) {
		p := ports[random.IntN(len(ports))]
		if !slices.ContainsFunc(some, func(q corev1.ServicePort) bool {
			return p.Name == "" || q.Name == "" || p.Name == q.Name || p.Port == q.Port && p.Protocol == q.Protocol
		}) {
			some = append(some, p)
		}
	}
	if none && random.IntN(4) == 0 {
		return nil
	}
	return some
}

// someService returns a random Service.
func someService(random *rand.Rand, key types.NamespacedName) *corev1.Service {
	s := made.Service(key.Namespace, key.Name)
	if random.IntN(2) == 0 {
		s.Spec.Ports = slices.Clone(ports[:1]) // often the same, so that several clusters serve a port
		return s
	}
	if random.IntN(3) == 0 {
		s.Spec.ClusterIP = corev1.ClusterIPNone
	}
	s.Spec.Ports = somePorts(random, s.Spec.ClusterIP != "")
	if random.IntN(4) == 0 {
		s.Spec.SessionAffinity = corev1.ServiceAffinityClientIP
		s.Spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: ptr.To(int32(60 * (1 + random.IntN(2))))}}
	}
	if random.IntN(4) == 0 {
		s.Spec.InternalTrafficPolicy = ptr.To(corev1.ServiceInternalTrafficPolicyLocal)
	}
	if random.IntN(2) == 0 {
		s.Spec.TrafficDistribution = ptr.To([]string{
			corev1.ServiceTrafficDistributionPreferClose, corev1.ServiceTrafficDistributionPreferSameZone, corev1.ServiceTrafficDistributionPreferSameNode,
		}[random.IntN(3)])
	}
	if random.IntN(20) == 0 {
		s.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "example.com"}
	}
	return s
}

// someExport returns a random ServiceExport.
func someExport(random *rand.Rand, key types.NamespacedName) *mcsv1beta1.ServiceExport {
	e := made.Export(key.Namespace, key.Name)
	if random.IntN(3) == 0 {
		e.Spec.ExportedLabels = map[string]string{"team": []string{"red", "blue"}[random.IntN(2)]}
	}
	if random.IntN(4) == 0 {
		e.Spec.ExportedAnnotations = map[string]string{"note": []string{"one", "two"}[random.IntN(2)]}
	}
	if random.IntN(4) == 0 {
		metav1.SetMetaDataAnnotation(&e.ObjectMeta, names.AnnotationOnClusterLoss, names.OnLossKeep)
	}
	if random.IntN(4) == 0 {
		metav1.SetMetaDataAnnotation(&e.ObjectMeta, names.AnnotationDrained, someDrain(random))
	}
	return e
}

// someSlice returns a random EndpointSlice of a Service, with unused pod addresses.
func (c *cluster) someSlice(random *rand.Rand, service *corev1.Service, number int) *discoveryv1.EndpointSlice {
	manager := "endpointslice-controller.k8s.io"
	if random.IntN(4) == 0 {
		manager = "somebody.example.com"
	}
	s := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: service.Namespace, Name: fmt.Sprintf("%s-%d", service.Name, number),
			Labels: map[string]string{discoveryv1.LabelServiceName: service.Name, discoveryv1.LabelManagedBy: manager},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
	}
	if number == 2 {
		s.Name += ".with.dots"
	}
	switch random.IntN(20) {
	case 0:
		s.AddressType = discoveryv1.AddressTypeIPv6
	case 1:
		s.AddressType = discoveryv1.AddressTypeFQDN
	}
	for _, p := range service.Spec.Ports {
		s.Ports = append(s.Ports, discoveryv1.EndpointPort{
			Name: ptr.To(p.Name), Protocol: ptr.To(p.Protocol), Port: ptr.To(p.Port + 1000*int32(random.IntN(2))), AppProtocol: p.AppProtocol,
		})
	}
	for range random.IntN(9) {
		s.Endpoints = append(s.Endpoints, c.someEndpoint(random, s.AddressType))
	}
	return s
}

func (c *cluster) someEndpoint(random *rand.Rand, addresses discoveryv1.AddressType) discoveryv1.Endpoint {
	c.users.address++
	n := c.users.address
	e := discoveryv1.Endpoint{}
	switch addresses {
	case discoveryv1.AddressTypeIPv4:
		e.Addresses = []string{fmt.Sprintf("10.%d.%d.%d", 200+c.number, n/200, 1+n%200)}
		if random.IntN(30) == 0 {
			e.Addresses = []string{fmt.Sprintf("127.0.%d.%d", n/200, 1+n%200)} // no cluster may import a loopback address
		}
	case discoveryv1.AddressTypeIPv6:
		e.Addresses = []string{fmt.Sprintf("fd00:%d::%x", c.number, n)}
	default:
		e.Addresses = []string{fmt.Sprintf("pod-%d.example.com", n)}
	}
	if random.IntN(2) == 0 {
		e.Conditions = discoveryv1.EndpointConditions{
			Ready: ptr.To(random.IntN(3) > 0), Serving: ptr.To(random.IntN(3) > 0), Terminating: ptr.To(random.IntN(4) == 0),
		}
	}
	if random.IntN(3) == 0 {
		e.Hostname = ptr.To(fmt.Sprintf("host-%d", random.IntN(4)))
	}
	if random.IntN(2) == 0 {
		e.Zone = ptr.To([]string{"a", "b", "c"}[random.IntN(3)])
	}
	if random.IntN(2) == 0 {
		e.NodeName = ptr.To(fmt.Sprintf("node-%d", 1+random.IntN(2)))
		e.TargetRef = &corev1.ObjectReference{Kind: "Pod", Namespace: "any", Name: fmt.Sprintf("pod-%d", n)}
	}
	return e
}
