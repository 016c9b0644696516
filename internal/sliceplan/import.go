package sliceplan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/derived"
	"github.com/atoll-mcs/atoll/internal/merge"
	"github.com/atoll-mcs/atoll/internal/names"
)

// Importation is what is needed to plan the slices that one source cluster
// contributes to an import.
type Importation struct {
	// Import is the importing cluster's ServiceImport.
	Import *mcsv1beta1.ServiceImport
	// DerivedService is the name of the import's derived Service.
	DerivedService string
	// Cluster is the source cluster.
	Cluster names.ClusterID
	// Ports are the ports that the source cluster exports. Of the import's ports it
	// gets traffic only for those among them.
	Ports []mcsv1beta1.ServicePort
	// IPFamilies are those in which the source cluster exports the service, as far as it
	// says so. Of the import's families it gets traffic only for those among them.
	IPFamilies []corev1.IPFamily
	// Sources are the source cluster's slices: from the broker or, when Own is set,
	// the importing cluster's own ones.
	Sources []*discoveryv1.EndpointSlice
	Own     bool
	// MaxEndpoints is the limit of endpoints for one slice. Slices from the broker
	// keep the size that their cluster gave them.
	MaxEndpoints int
	// Imported are the slices in this cluster that were made of Sources. They matter where
	// Own is set.
	Imported []*discoveryv1.EndpointSlice
}

// Import plans the slices that an importing cluster keeps.
func Import(p Importation) []discoveryv1.EndpointSlice {
	served := slices.DeleteFunc(slices.Clone(p.Sources), func(source *discoveryv1.EndpointSlice) bool {
		return !p.inBoth(source.AddressType)
	})
	if p.Own {
		return p.fromOwn(served)
	}
	var plan []discoveryv1.EndpointSlice
	for _, source := range served {
		if slice, ok := p.fromBroker(source); ok {
			plan = append(plan, slice)
		}
	}
	return plan
}

// inBoth tells whether addresses of a type are of a family that the source cluster
// exports and the import has. Others serve nobody: kube-proxy has no Service for them, the
// importing cluster no way to them, or the exporting Service does not use them itself.
func (p Importation) inBoth(addresses discoveryv1.AddressType) bool {
	family := corev1.IPFamily(addresses) // they are written alike
	return slices.Contains(p.Import.Spec.IPFamilies, family) &&
		(len(p.IPFamilies) == 0 || slices.Contains(p.IPFamilies, family))
}

func (p Importation) fromOwn(sources []*discoveryv1.EndpointSlice) []discoveryv1.EndpointSlice {
	var plan []discoveryv1.EndpointSlice
	have := partsOf(p.Imported, func(source string, part int) string {
		return names.ImportedSlice(p.Cluster, source, part)
	})
	valid, _ := usable(sources)
	for _, source := range distinct(valid) {
		for _, part := range divide(withoutHints(source.Endpoints), have[source.Name], p.MaxEndpoints) {
			plan = append(plan, p.slice(source, source.Name, part.number, part.endpoints))
		}
	}
	return plan
}

// fromBroker makes one slice of one on the broker, unless what that says of its origin is
// missing or does not agree with its name: two would be made under one name. Nor does it of a
// cluster IP for a headless import, whose endpoints are pods: the cluster that it is of does not
// know yet that the service is headless, and is about to publish these.
func (p Importation) fromBroker(source *discoveryv1.EndpointSlice) (discoveryv1.EndpointSlice, bool) {
	name, part, ok := origin(source)
	if ByClusterIP(source) && p.Import.Spec.Type == mcsv1beta1.Headless {
		return discoveryv1.EndpointSlice{}, false
	}
	if !ok || source.Name != names.BrokerSlice(p.Cluster, p.Import.Namespace, name, part) {
		return discoveryv1.EndpointSlice{}, false
	}
	return p.slice(source, name, part, withoutLocalMeaning(source.Endpoints)), true
}

func (p Importation) slice(source *discoveryv1.EndpointSlice, name string, part int, endpoints []discoveryv1.Endpoint) discoveryv1.EndpointSlice {
	labels := map[string]string{
		names.LabelServiceName:       p.Import.Name,
		names.LabelSourceCluster:     p.Cluster.String(),
		discoveryv1.LabelManagedBy:   names.AgentManager,
		discoveryv1.LabelServiceName: p.DerivedService,
	}
	if p.Import.Spec.Type == mcsv1beta1.Headless {
		labels[names.LabelHeadless] = ""
	}
	annotations := originAnnotations(name, part)
	withTrigger(source, p.Import.CreationTimestamp.Time, annotations)
	return discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       p.Import.Namespace,
			Name:            names.ImportedSlice(p.Cluster, name, part),
			Labels:          labels,
			Annotations:     annotations,
			OwnerReferences: []metav1.OwnerReference{derived.Owner(p.Import)},
		},
		AddressType: source.AddressType,
		Endpoints:   endpoints,
		Ports:       p.ports(source.Ports),
	}
}

// ports returns those of a source slice's ports for which its cluster gets traffic, under each of the names that they
// have here. A port without number stands for all ports and is kept, if it is one of the import's by name and protocol.
func (p Importation) ports(source []discoveryv1.EndpointPort) []discoveryv1.EndpointPort {
	importPorts := p.Import.Spec.Ports
	portNames := p.portNames()
	kept := []discoveryv1.EndpointPort{}
	for _, port := range source {
		i := slices.IndexFunc(importPorts, func(ip mcsv1beta1.ServicePort) bool {
			return isPort(port, ip)
		})
		if i < 0 || !merge.Serves(p.Ports, importPorts[i]) {
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
func (p Importation) portNames() [][]string {
	called := derived.PortNames(p.Import.Spec.Ports)
	all := make([][]string, len(called))
	for i, port := range p.Import.Spec.Ports {
		switch {
		case p.Import.Spec.Type == mcsv1beta1.Headless || port.Name == called[i]:
			all[i] = []string{port.Name}
		case slices.Contains(called, port.Name):
			all[i] = []string{called[i]}
		default:
			all[i] = []string{called[i], port.Name}
		}
	}
	return all
}
