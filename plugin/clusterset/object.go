package clusterset

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// serviceKey names a multi-cluster service.
type serviceKey struct{ namespace, name string }

// String returns the key as it stands in DNS names, which is how the index
// finds it.
func (k serviceKey) String() string { return k.name + "." + k.namespace }

// serviceImport is what answers need of a ServiceImport.
type serviceImport struct {
	key  serviceKey
	kind mcsv1beta1.ServiceImportType
	// ours says that Atoll has it, and that only Atoll's slices belong to it.
	ours bool
	ips  []netip.Addr
	// ports are those that can be asked for by name.
	ports []servicePort
}

// servicePort is a port with a name.
type servicePort struct {
	portName
	number uint16
}

// portName is how a client asks for a port, in lower case.
type portName struct{ name, protocol string }

// label returns the name that a client asks for, relative to the service.
func (p portName) label() string { return "_" + p.name + "._" + p.protocol }

// endpointSlice is what answers need of an EndpointSlice. It holds only ready
// endpoints and none of the Kubernetes types, which are about five times larger.
type endpointSlice struct {
	key     sliceKey
	service serviceKey
	cluster names.ClusterID
	// ours says that Atoll has made it.
	ours  bool
	ports []servicePort
	// addresses has one element for each address of each ready endpoint, in order.
	addresses []address
	// triggered is when the change happened that led to this, by the clock of who
	// noticed it first; zero if nobody has said.
	triggered time.Time
}

// sliceKey names an EndpointSlice.
type sliceKey struct{ namespace, name string }

// equal reports whether s and t make the same answers.
func (s *serviceImport) equal(t *serviceImport) bool {
	return s.key == t.key && s.kind == t.kind && s.ours == t.ours &&
		slices.Equal(s.ips, t.ips) && slices.Equal(s.ports, t.ports)
}

// equal reports whether s and t make the same answers.
func (s *endpointSlice) equal(t *endpointSlice) bool {
	return s.key == t.key && s.service == t.service && s.cluster == t.cluster && s.ours == t.ours &&
		slices.Equal(s.ports, t.ports) && slices.EqualFunc(s.addresses, t.addresses, func(a, b address) bool {
		return a.hostname == b.hostname && a.ip == b.ip
	})
}

// newServiceImport takes from o what answers need. What a DNS answer could not
// carry is left out.
func newServiceImport(o *mcsv1beta1.ServiceImport) *serviceImport {
	s := &serviceImport{
		key:  serviceKey{o.Namespace, o.Name},
		kind: o.Spec.Type,
		ours: o.Labels[names.LabelManagedBy] == names.AgentManager && isReported(o),
	}
	for _, text := range o.Spec.IPs {
		if ip, err := netip.ParseAddr(text); err == nil && ip.Zone() == "" {
			s.ips = append(s.ips, ip.Unmap())
		}
	}
	for _, p := range o.Spec.Ports {
		s.ports = appendPort(s.ports, p.Name, p.Protocol, p.Port)
	}
	return s
}

// isReported tells whether Atoll's agent has said of an import that its slices are there, or why not. Before that, an import
// that another implementation hands over has that one's alone.
func isReported(o *mcsv1beta1.ServiceImport) bool {
	ready := meta.FindStatusCondition(o.Status.Conditions, string(mcsv1beta1.ServiceImportConditionReady))
	return ready != nil && ready.Status != metav1.ConditionUnknown
}

// newEndpointSlice takes from o what answers need. A slice of domain names, or
// one that comes from no valid cluster, counts as empty.
func newEndpointSlice(o *discoveryv1.EndpointSlice) *endpointSlice {
	s := &endpointSlice{
		key:     sliceKey{o.Namespace, o.Name},
		service: serviceKey{o.Namespace, o.Labels[names.LabelServiceName]},
		ours:    o.Labels[discoveryv1.LabelManagedBy] == names.AgentManager,
	}
	var err error
	if s.cluster, err = names.ParseClusterID(o.Labels[names.LabelSourceCluster]); err != nil {
		return s
	}
	for _, p := range o.Ports {
		// A port without a number stands for all ports, which no record can say.
		if p.Name == nil || p.Port == nil {
			continue
		}
		protocol := corev1.ProtocolTCP
		if p.Protocol != nil {
			protocol = *p.Protocol
		}
		s.ports = appendPort(s.ports, *p.Name, protocol, *p.Port)
	}
	for i := range o.Endpoints {
		s.appendEndpoint(&o.Endpoints[i], o.AddressType)
	}
	slices.SortFunc(s.addresses, func(a, b address) int { return inOrder(&a, &b) })
	s.addresses = slices.Clip(slices.CompactFunc(s.addresses, func(a, b address) bool { return inOrder(&a, &b) == 0 }))
	if text, ok := o.Annotations[names.AnnotationLastChangeTriggerTime]; ok {
		// What is no time counts as none.
		s.triggered, _ = time.Parse(time.RFC3339Nano, text)
	}
	return s
}

// appendPort appends the port if clients can ask for it: unnamed ports have no
// SRV records, and the name must fit in a label behind its underscore.
func appendPort(ports []servicePort, name string, protocol corev1.Protocol, number int32) []servicePort {
	if protocol == "" {
		protocol = corev1.ProtocolTCP
	}
	p := portName{strings.ToLower(name), strings.ToLower(string(protocol))}
	if !isLabel(p.name) || !isLabel(p.protocol) || len(p.name) > maxLabel-1 {
		return ports
	}
	if number < 1 || number > 1<<16-1 {
		return ports
	}
	return append(ports, servicePort{p, uint16(number)})
}

// appendEndpoint appends the addresses of a ready endpoint that are of the
// slice's family. Unknown readiness is ready, as EndpointConditions has it; who
// writes the slice has counted in publishNotReadyAddresses already.
func (s *endpointSlice) appendEndpoint(e *discoveryv1.Endpoint, family discoveryv1.AddressType) {
	if ready := e.Conditions.Ready; ready != nil && !*ready {
		return
	}
	hostname := ""
	if e.Hostname != nil {
		hostname = strings.ToLower(*e.Hostname)
	}
	if hostname != "" && !isLabel(hostname) {
		hostname = ""
	}
	for _, text := range e.Addresses {
		ip, err := netip.ParseAddr(text)
		if err != nil || ip.Zone() != "" || ip.Is4In6() {
			continue
		}
		if ip.Is4() != (family == discoveryv1.AddressTypeIPv4) || ip.Is6() != (family == discoveryv1.AddressTypeIPv6) {
			continue
		}
		s.addresses = append(s.addresses, newAddress(s, hostname, ip))
	}
}

// maxLabel is the longest label of a domain name, RFC 1035 section 2.3.4.
const maxLabel = 63

// isLabel reports whether s, in lower case, can stand in a domain name as it is.
func isLabel(s string) bool {
	if s == "" || len(s) > maxLabel {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if c != '-' && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}
