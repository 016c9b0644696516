package endpoints

import (
	"cmp"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/derived"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/revision"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
)

// Import has what a source cluster's imported slices depend on, besides their sources.
type Import struct {
	// Import is the importing cluster's ServiceImport.
	Import *mcsv1beta1.ServiceImport
	// Service is the name of the import's derived Service, and ServicePorts are the ports that it has. A Service gets a new
	// name of a port only when its slices have the name, too, so slices have the old and the new name meanwhile.
	Service      string
	ServicePorts []corev1.ServicePort
	// Cluster is the source cluster. Own is set if it is the importing cluster itself.
	Cluster names.ClusterID
	Own     bool
	// Ports are the ports that the source cluster exports. It gets traffic for no other ports of the import.
	Ports []mcsv1beta1.ServicePort
	// IPFamilies are the source cluster's IP families, if it lists them. It gets traffic for no other families.
	IPFamilies []corev1.IPFamily
}

// Slice returns the imported form of a slice from the broker or, if Own is set, of this cluster. It is nil for a slice
// that is useless here, and for a slice whose name and origin disagree: two could get the same name.
func (m Import) Slice(source *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	switch {
	case source == nil, !m.inBoth(source.AddressType):
		return nil
	case m.Own:
		if !IsSource(source) || Unsupported(source) {
			return nil
		}
		clean, _ := validation.Slice(source) // the export reports what is left out
		return m.slice(clean, source.Name, withoutHints(clean.Endpoints))
	}
	// A headless import has pods as endpoints. A cluster that still publishes a cluster IP will publish its pods soon.
	name := source.Annotations[names.AnnotationSourceSlice]
	if ByClusterIP(source) && m.Import.Spec.Type == mcsv1beta1.Headless || source.Name != names.BrokerSlice(m.Cluster, m.Import.Namespace, name) {
		return nil
	}
	slice := m.slice(source, name, withoutLocalMeaning(source.Endpoints))
	if of := revision.Of(source); of > 0 {
		slice.Annotations[names.AnnotationRevision] = strconv.FormatInt(of, 10)
	}
	return slice
}

// inBoth reports whether both the source cluster and the import have the addresses' family. Otherwise kube-proxy has no
// Service for it, there is no route, or the exporting Service does not use the address.
func (m Import) inBoth(addresses discoveryv1.AddressType) bool {
	family := corev1.IPFamily(addresses) // the same strings
	return slices.Contains(m.Import.Spec.IPFamilies, family) && (len(m.IPFamilies) == 0 || slices.Contains(m.IPFamilies, family))
}

func (m Import) slice(source *discoveryv1.EndpointSlice, name string, endpoints []discoveryv1.Endpoint) *discoveryv1.EndpointSlice {
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: m.Import.Namespace,
			Name:      names.ImportedSlice(m.Cluster, name),
			Labels: map[string]string{
				names.LabelServiceName:       m.Import.Name,
				names.LabelSourceCluster:     m.Cluster.String(),
				discoveryv1.LabelManagedBy:   names.AgentManager,
				discoveryv1.LabelServiceName: m.Service,
			},
			Annotations:     map[string]string{names.AnnotationSourceSlice: name},
			OwnerReferences: []metav1.OwnerReference{derived.Owner(m.Import)},
		},
		AddressType: source.AddressType,
		Endpoints:   endpoints,
		Ports:       m.ports(source.Ports),
	}
	if m.Import.Spec.Type == mcsv1beta1.Headless {
		slice.Labels[names.LabelHeadless] = ""
	}
	copyTrigger(source, slice)
	return slice
}

// Serves returns the index of the import's port that a source slice's port serves, or -1. Traffic follows protocol and number: the
// name says which exported port it is.
func Serves(port discoveryv1.EndpointPort, exported, imported []mcsv1beta1.ServicePort) int {
	return newServer(exported, imported).index(port)
}

type portName struct {
	name     string
	protocol corev1.Protocol
}

type portNumber struct {
	number   int32
	protocol corev1.Protocol
}

// server finds ports in constant time: a member may export 100 and change them without pause.
type server struct {
	exported map[portName]int32 // numbers
	imported map[portNumber]int // indices
}

func newServer(exported, imported []mcsv1beta1.ServicePort) server {
	s := server{make(map[portName]int32, len(exported)), make(map[portNumber]int, len(imported))}
	for i := len(exported) - 1; i >= 0; i-- { // the first of equal ports counts
		p := &exported[i]
		s.exported[portName{p.Name, cmp.Or(p.Protocol, corev1.ProtocolTCP)}] = p.Port
	}
	for i := len(imported) - 1; i >= 0; i-- {
		p := &imported[i]
		s.imported[portNumber{p.Port, cmp.Or(p.Protocol, corev1.ProtocolTCP)}] = i
	}
	return s
}

func (s server) index(port discoveryv1.EndpointPort) int {
	protocol := ptr.Deref(port.Protocol, corev1.ProtocolTCP)
	number, found := s.exported[portName{ptr.Deref(port.Name, ""), protocol}]
	if i, imported := s.imported[portNumber{number, protocol}]; found && imported {
		return i
	}
	return -1
}

// ports returns a source slice's ports for which its cluster gets traffic, under each of their names here. A port
// without number means all ports.
func (m Import) ports(source []discoveryv1.EndpointPort) []discoveryv1.EndpointPort {
	portNames, serves := m.portNames(), newServer(m.Ports, m.Import.Spec.Ports)
	kept := []discoveryv1.EndpointPort{}
	for _, port := range source {
		i := serves.index(port)
		if i < 0 {
			continue
		}
		for _, name := range portNames[i] {
			port := *port.DeepCopy()
			port.Name = &name
			port.Protocol = ptr.To(ptr.Deref(port.Protocol, corev1.ProtocolTCP))
			kept = append(kept, port)
		}
	}
	return kept
}

// portNames returns the names of each import port in its slices. Gateway API implementations, and DNS for headless
// services, use the names in the ServiceImport. kube-proxy uses those in the derived Service, which may differ. If
// another port has the same name in the derived Service, only that port keeps it.
func (m Import) portNames() [][]string {
	called := derived.PortNames(m.Import.Spec.Ports)
	all := make([][]string, len(called))
	for i, port := range m.Import.Spec.Ports {
		switch {
		case m.Import.Spec.Type == mcsv1beta1.Headless || port.Name == called[i]:
			all[i] = []string{port.Name}
		case slices.Contains(called, port.Name):
			all[i] = []string{called[i]}
		default:
			all[i] = []string{called[i], port.Name}
		}
	}
	for _, has := range m.ServicePorts {
		isTaken := slices.ContainsFunc(all, func(names []string) bool { return slices.Contains(names, has.Name) })
		i := slices.IndexFunc(m.Import.Spec.Ports, func(p mcsv1beta1.ServicePort) bool {
			return p.Port == has.Port && cmp.Or(p.Protocol, corev1.ProtocolTCP) == has.Protocol
		})
		if i >= 0 && !isTaken && m.Import.Spec.Type != mcsv1beta1.Headless {
			all[i] = append(all[i], has.Name)
		}
	}
	return all
}
