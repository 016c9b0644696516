package endpoints

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/derived"
	"github.com/atoll-mcs/atoll/internal/mcs/merge"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/revision"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
)

// Import is what the imported slices of one source cluster depend on beside their sources.
type Import struct {
	// Import is the importing cluster's ServiceImport.
	Import *mcsv1beta1.ServiceImport
	// Cluster is the source cluster. Own tells that it is the importing cluster itself.
	Cluster names.ClusterID
	Own     bool
	// Ports are the ports that the source cluster exports. Of the import's ports it gets traffic only for those among them.
	Ports []mcsv1beta1.ServicePort
	// IPFamilies are those in which the source cluster exports the service, as far as it says so. Of the import's families it gets traffic
	// only for those among them.
	IPFamilies []corev1.IPFamily
}

// Slice returns what the importing cluster keeps for one slice: one from the broker or, when Own is set, one of its own. It is nil for a slice
// that serves nobody here, and for one on the broker whose name and origin do not agree: two would be imported under one name.
func (m Import) Slice(source *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	switch {
	case source == nil, !m.inBoth(source.AddressType):
		return nil
	case m.Own:
		if !IsSource(source) || Unsupported(source) {
			return nil
		}
		clean, _ := validation.Slice(source) // what is left out, the export says
		return m.slice(clean, source.Name, withoutHints(clean.Endpoints))
	}
	// The endpoints of a headless import are pods. A cluster that still publishes its cluster IP does not know yet that the service is
	// headless, and is about to publish them.
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

// inBoth tells whether addresses of a type are of a family that the source cluster exports and the import has. Others serve nobody:
// kube-proxy has no Service for them, the importing cluster no way to them, or the exporting Service does not use them itself.
func (m Import) inBoth(addresses discoveryv1.AddressType) bool {
	family := corev1.IPFamily(addresses) // they are written alike
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
				discoveryv1.LabelServiceName: m.Import.Annotations[names.AnnotationDerivedService],
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

// ports returns those of a source slice's ports for which its cluster gets traffic, under each of the names that they
// have here. A port without number stands for all ports and is kept, if it is one of the import's by name and protocol.
func (m Import) ports(source []discoveryv1.EndpointPort) []discoveryv1.EndpointPort {
	importPorts := m.Import.Spec.Ports
	portNames := m.portNames()
	kept := []discoveryv1.EndpointPort{}
	for _, port := range source {
		i := slices.IndexFunc(importPorts, func(ip mcsv1beta1.ServicePort) bool { return isPort(port, ip) })
		if i < 0 || !merge.Serves(m.Ports, importPorts[i]) {
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

// portNames are the names of each of the import's ports in its slices. Implementations of the Gateway API find ports by
// their names in the ServiceImport, and so does DNS for a headless one; kube-proxy finds them by their names in the
// derived Service, which may differ. Where another port has that name in the derived Service, it is that port's alone.
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
	return all
}
