// Package endpoints builds the EndpointSlices that a cluster publishes and imports. Each of its own slices
// becomes one slice on the broker and one in each importing cluster, under names that are derived from the
// source's name (KEP-1645, "Using EndpointSlice objects to track endpoints"). It decides only; controllers read
// and write.
package endpoints

import (
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
)

// Export is what the slices of one exported Service depend on beside their sources.
type Export struct {
	Cluster names.ClusterID
	Service types.NamespacedName
	// BrokerNamespace is the clusterset's namespace on the broker.
	BrokerNamespace string
	// Ports are those that are exported. In the slices of pods others are left out only where Restricted says that the Service has others.
	Ports      []mcsv1beta1.ServicePort
	Restricted bool
}

// Slice returns what is published of one of the Service's slices, nil for nothing, and what is left out of it because other clusters would
// refuse it. What has a meaning in the source cluster alone is left out too: references to pods, names of nodes, topology hints.
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

// exposed returns those of a source slice's ports that are exported.
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
				// The broker may be somebody's cluster: its kube-proxy must not see this.
				names.LabelHeadless: "",
			},
			Annotations: map[string]string{names.AnnotationSourceSlice: source},
		},
		AddressType: addressType,
	}
}

// copyTrigger copies the time of the change that led to a slice: kube-proxies measure from it until their rules are in effect
// (network_programming_duration_seconds).
func copyTrigger(from, to *discoveryv1.EndpointSlice) {
	if at, ok := from.Annotations[names.AnnotationLastChangeTriggerTime]; ok {
		to.Annotations[names.AnnotationLastChangeTriggerTime] = at
	}
}

const (
	// builtInManager manages the slices of Services with a selector.
	builtInManager = "endpointslice-controller.k8s.io"
	// mirroringManager manages the slices that are made of Endpoints objects.
	mirroringManager = "endpointslicemirroring-controller.k8s.io"
	// karmadaManager manages the slices of other clusters that Karmada adds to the Service of a MultiClusterService (its controller
	// endpointslice-dispatch-controller).
	karmadaManager = "endpointslice-dispatch-controller.karmada.io"
)

// IsSource tells whether a slice describes endpoints of its own cluster. Those that were imported are no source, for a cluster would export
// what it imported: neither Atoll's nor those of another implementation, which bear the API's label for the cluster that they come from.
func IsSource(slice *discoveryv1.EndpointSlice) bool {
	if slice.DeletionTimestamp != nil {
		return false
	}
	switch slice.Labels[discoveryv1.LabelManagedBy] {
	case builtInManager, mirroringManager:
		return true // whatever labels the Service or the Endpoints object has, which its slices get too
	case names.AgentManager, karmadaManager:
		return false
	}
	return slice.Labels[names.LabelSourceCluster] == ""
}

// Unsupported tells whether a slice holds domain names in place of addresses, which can't be imported: kube-proxy does not route them.
func Unsupported(slice *discoveryv1.EndpointSlice) bool {
	return slice.AddressType != discoveryv1.AddressTypeIPv4 && slice.AddressType != discoveryv1.AddressTypeIPv6
}

// withoutLocalMeaning returns another cluster's endpoints. They share what they point to with the given ones: nobody changes it.
func withoutLocalMeaning(endpoints []discoveryv1.Endpoint) []discoveryv1.Endpoint {
	out := withoutHints(endpoints)
	for i := range out {
		out[i].NodeName, out[i].TargetRef = nil, nil
	}
	return out
}

// withoutHints returns endpoints of the importing cluster itself.
func withoutHints(endpoints []discoveryv1.Endpoint) []discoveryv1.Endpoint {
	out := slices.Clone(endpoints)
	for i := range out {
		out[i].Hints, out[i].DeprecatedTopology = nil, nil
	}
	return out
}
