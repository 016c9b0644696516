// Package endpoints builds the EndpointSlices that a cluster publishes and imports. Each source slice becomes one slice
// on the broker and one in each importing cluster, with names derived from the source's name (KEP-1645, "Using
// EndpointSlice objects to track endpoints"). It does no I/O.
package endpoints

import (
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
)

// Export has what an exported Service's slices depend on, besides their sources.
type Export struct {
	Cluster         names.ClusterID
	Service         types.NamespacedName
	BrokerNamespace string
	// Ports are the exported ports. Restricted is set if the Service has other ports, which pods' slices then omit.
	Ports      []mcsv1beta1.ServicePort
	Restricted bool
}

// Slice returns the published form of one of the Service's slices, or nil, and the parts left out because others would
// refuse them. It drops data without meaning elsewhere: pod references, node names, topology hints.
func (x Export) Slice(source *discoveryv1.EndpointSlice) (slice *discoveryv1.EndpointSlice, refused []validation.Refused) {
	if source == nil || !IsSource(source) || Unsupported(source) {
		return nil, nil
	}
	clean, refused := validation.Slice(source)
	slice = x.slice(source.Name, source.AddressType)
	copyTrigger(source, slice)
	slice.Endpoints, slice.Ports = withoutLocalMeaning(clean.Endpoints), x.exposed(clean.Ports)
	return slice, refused
}

// exposed returns a source slice's exported ports.
func (x Export) exposed(source []discoveryv1.EndpointPort) []discoveryv1.EndpointPort {
	if !x.Restricted {
		return source
	}
	kept := []discoveryv1.EndpointPort{}
	for _, port := range source {
		if slices.ContainsFunc(x.Ports, func(exported mcsv1beta1.ServicePort) bool { return isPort(port, exported) }) {
			kept = append(kept, port)
		}
	}
	return kept
}

// slice returns a slice on the broker without endpoints.
func (x Export) slice(source string, addressType discoveryv1.AddressType) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: x.BrokerNamespace,
			Name:      names.BrokerSlice(x.Cluster, x.Service.Namespace, source),
			Labels: map[string]string{
				names.LabelServiceName:      x.Service.Name,
				names.LabelServiceNamespace: x.Service.Namespace,
				names.LabelSourceCluster:    x.Cluster.String(),
				discoveryv1.LabelManagedBy:  names.AgentManager,
				// If the broker is a user's cluster, its kube-proxy must ignore this slice.
				names.LabelHeadless: "",
			},
			Annotations: map[string]string{names.AnnotationSourceSlice: source},
		},
		AddressType: addressType,
	}
}

// copyTrigger copies the time of the change that caused a slice's update: kube-proxy measures from it
// (network_programming_duration_seconds).
func copyTrigger(from, to *discoveryv1.EndpointSlice) {
	if at, ok := from.Annotations[names.AnnotationLastChangeTriggerTime]; ok {
		to.Annotations[names.AnnotationLastChangeTriggerTime] = at
	}
}

const (
	// builtInManager manages the slices of Services with a selector.
	builtInManager = "endpointslice-controller.k8s.io"
	// mirroringManager manages the slices that are mirrored from Endpoints objects.
	mirroringManager = "endpointslicemirroring-controller.k8s.io"
	// karmadaManager manages other clusters' slices that Karmada adds to a MultiClusterService's Service (its
	// controller endpointslice-dispatch-controller).
	karmadaManager = "endpointslice-dispatch-controller.karmada.io"
)

// IsSource reports whether a slice has its own cluster's endpoints. Imported slices do not, or a cluster would export
// its imports. Other implementations mark them with the API's label for the source cluster.
func IsSource(slice *discoveryv1.EndpointSlice) bool {
	if slice.DeletionTimestamp != nil {
		return false
	}
	switch slice.Labels[discoveryv1.LabelManagedBy] {
	case builtInManager, mirroringManager:
		return true // regardless of the labels, which users can set on the Service or Endpoints object
	case names.AgentManager, karmadaManager:
		return false
	}
	return slice.Labels[names.LabelSourceCluster] == ""
}

// Unsupported reports whether a slice has domain names instead of addresses. kube-proxy does not route them.
func Unsupported(slice *discoveryv1.EndpointSlice) bool {
	return slice.AddressType != discoveryv1.AddressTypeIPv4 && slice.AddressType != discoveryv1.AddressTypeIPv6
}

// withoutLocalMeaning returns another cluster's endpoints. They share pointers with the originals: do not change them.
func withoutLocalMeaning(endpoints []discoveryv1.Endpoint) []discoveryv1.Endpoint {
	out := withoutHints(endpoints)
	for i := range out {
		out[i].NodeName, out[i].TargetRef = nil, nil
	}
	return out
}

// withoutHints returns endpoints of the importing cluster itself. An unknown readiness counts as ready (discovery/v1), which not
// every proxy knows.
func withoutHints(endpoints []discoveryv1.Endpoint) []discoveryv1.Endpoint {
	out := slices.Clone(endpoints)
	for i := range out {
		out[i].Hints, out[i].DeprecatedTopology = nil, nil
		if out[i].Conditions.Ready == nil {
			out[i].Conditions.Ready = ptr.To(true)
		}
	}
	return out
}
