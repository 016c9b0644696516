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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/endpoints"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/ownership"
)

// serviceKey names a multi-cluster service.
type serviceKey struct{ namespace, name string }

// String returns the key in the form of DNS names, as the index uses it.
func (k serviceKey) String() string { return k.name + "." + k.namespace }

// serviceImport is the part of a ServiceImport that answers need.
type serviceImport struct {
	key  serviceKey
	uid  types.UID
	kind mcsv1beta1.ServiceImportType
	// managed means that Atoll manages the import, written that its spec is as Atoll wrote it.
	managed, written bool
	// ours means that only Atoll's slices count, because Atoll has imported the service.
	ours bool
	ips  []netip.Addr
	// ports are the ports with SRV records.
	ports []servicePort
}

// servicePort is a port with a name.
type servicePort struct {
	portName
	number uint16
}

// portName is a port in DNS, in lower case.
type portName struct{ name, protocol string }

// label returns the port's name relative to the service.
func (p portName) label() string { return "_" + p.name + "._" + p.protocol }

// endpointSlice is the part of an EndpointSlice that answers need: only ready endpoints, and no Kubernetes types,
// which are about five times larger.
type endpointSlice struct {
	key     sliceKey
	service serviceKey
	cluster names.ClusterID
	// ours means that Atoll created the slice.
	ours  bool
	ports []servicePort
	// addresses has every address of every endpoint that is ready or on standby, sorted.
	addresses []address
	// triggered is the time of the change behind this version, by the clock of the component that saw it first; zero
	// if unknown.
	triggered time.Time
}

// sliceKey names an EndpointSlice.
type sliceKey struct{ namespace, name string }

// equal reports whether s and t give the same answers.
func (s *serviceImport) equal(t *serviceImport) bool {
	return s.key == t.key && s.uid == t.uid && s.kind == t.kind && s.managed == t.managed && s.written == t.written && s.ours == t.ours &&
		slices.Equal(s.ips, t.ips) && slices.Equal(s.ports, t.ports)
}

// equal reports whether s and t give the same answers.
func (s *endpointSlice) equal(t *endpointSlice) bool {
	return s.key == t.key && s.service == t.service && s.cluster == t.cluster && s.ours == t.ours &&
		slices.Equal(s.ports, t.ports) && slices.EqualFunc(s.addresses, t.addresses, func(a, b address) bool {
		return a.hostname == b.hostname && a.ip == b.ip && a.standby == b.standby
	})
}

// newServiceImport keeps the fields that answers need. It drops values that DNS cannot represent.
func newServiceImport(o *mcsv1beta1.ServiceImport) *serviceImport {
	s := &serviceImport{
		key:     serviceKey{o.Namespace, o.Name},
		uid:     o.UID,
		kind:    o.Spec.Type,
		managed: ownership.IsManaged(o),
	}
	s.written = s.managed && !ownership.IsEdited(o)
	s.ours = s.managed && isReported(o)
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

// after returns the import that counts when s follows old, which may be nil.
//
// An edit of an import that Atoll manages does not count: Atoll's agent reverts it in a moment, and Services and slices do not
// follow it either. Once Atoll has imported a service, it stays so: a failing write makes Ready Unknown again.
func (s *serviceImport) after(old *serviceImport) *serviceImport {
	if old == nil || s.uid == "" || old.uid != s.uid || !old.managed {
		return s
	}
	if old.written && s.managed && !s.written {
		return old
	}
	s.ours = s.ours || old.ours && s.managed
	return s
}

// isReported reports whether Atoll's agent has set the Ready condition. Before that, an import taken over from another
// implementation only has that implementation's slices.
func isReported(o *mcsv1beta1.ServiceImport) bool {
	ready := meta.FindStatusCondition(o.Status.Conditions, string(mcsv1beta1.ServiceImportConditionReady))
	return ready != nil && ready.Status != metav1.ConditionUnknown
}

// newEndpointSlice keeps the fields that answers need. Slices of domain names or without a valid cluster count as
// empty.
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
		// A port without a number means all ports, which SRV cannot express.
		if p.Name == nil || p.Port == nil {
			continue
		}
		protocol := corev1.ProtocolTCP
		if p.Protocol != nil {
			protocol = *p.Protocol
		}
		s.ports = appendPort(s.ports, *p.Name, protocol, *p.Port)
	}
	hasStandby := o.Labels[names.LabelStandby]+o.Annotations[names.LabelStandby] != ""
	for i := range o.Endpoints {
		e := &o.Endpoints[i]
		if standby := hasStandby && endpoints.IsStandby(e); standby || ptr.Deref(e.Conditions.Ready, true) { // as kube-proxy reads the condition
			s.appendEndpoint(e, o.AddressType, standby)
		}
	}
	slices.SortFunc(s.addresses, func(a, b address) int {
		if order := inOrder(&a, &b); order != 0 || a.standby == b.standby {
			return order
		}
		if a.standby {
			return 1 // the ready one of two is kept
		}
		return -1
	})
	s.addresses = slices.Clip(slices.CompactFunc(s.addresses, func(a, b address) bool { return inOrder(&a, &b) == 0 }))
	if text, ok := o.Annotations[names.AnnotationLastChangeTriggerTime]; ok {
		// An invalid time counts as unknown.
		s.triggered, _ = time.Parse(time.RFC3339Nano, text)
	}
	return s
}

// appendPort appends a port that can have SRV records: it needs a name that fits in a label after the underscore.
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

// appendEndpoint appends the addresses of an endpoint in the slice's family. The slice's writer already considered
// publishNotReadyAddresses.
func (s *endpointSlice) appendEndpoint(e *discoveryv1.Endpoint, family discoveryv1.AddressType, standby bool) {
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
		a := newAddress(s, hostname, ip)
		a.standby = standby
		s.addresses = append(s.addresses, a)
	}
}

// maxLabel is the maximum length of a DNS label, RFC 1035 section 2.3.4.
const maxLabel = 63

// isLabel reports whether s, in lower case, is valid in a domain name without escapes.
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
