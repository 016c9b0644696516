// Package sliceplan plans EndpointSlices: those that a cluster publishes on the
// broker for a Service that it exports, those that a cluster keeps for a service
// that it imports, and the least changes from what there is to what there should
// be. It decides only; the controllers read and write. Source slices are planned
// independently of each other, so that a plan can be of one alone, where none has
// what another one has too, and whether they are searched for that stays as it was
// (MayOverlap).
//
// What is published is in publish.go and clusterip.go, what is imported in import.go;
// which cluster IPs can't be imported in overlap.go; the least changes in divide.go and diff.go.
//
// The rules are those of KEP-1645, "Using EndpointSlice objects to track
// endpoints", and KEP-0752: a slice holds endpoints of one source cluster, keeps
// its name, and corresponds to one source slice, unless that has too many
// endpoints.
package sliceplan

import (
	"slices"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/validation"
	"github.com/atoll-mcs/atoll/internal/names"
)

// DefaultMaxEndpoints is the number of endpoints in a slice that keeps a change of
// one endpoint cheap (KEP-0752, "Sharding").
const DefaultMaxEndpoints = 100

// Publication is what is needed to plan one exported Service's slices on the
// broker.
type Publication struct {
	Cluster            names.ClusterID
	Namespace, Service string
	// Exported is when the Service's ServiceExport was made.
	Exported time.Time
	// BrokerNamespace is the clusterset's namespace on the broker.
	BrokerNamespace string
	// Sources are the Service's EndpointSlices in its own cluster.
	Sources []*discoveryv1.EndpointSlice
	// Published are the slices on the broker that were made of Sources.
	Published []*discoveryv1.EndpointSlice
	// MaxEndpoints is the limit of endpoints for one slice.
	MaxEndpoints int
	// Ports are those that are exported. In the slices of pods others are left out only where
	// Restricted says that the Service has others.
	Ports      []mcsv1beta1.ServicePort
	Restricted bool
	// ClusterIPs are the Service's. They matter to PublishClusterIPs alone.
	ClusterIPs []string
}

// Publish plans the slices on the broker. What has a meaning in the source cluster
// alone is left out: a pod's reference, the node's name (which may be the name of
// another node elsewhere) and topology hints. Slices of domain names are not
// published; Unsupported tells which these are. refused is what is left out of Sources because other clusters would refuse it.
func Publish(p Publication) (plan []discoveryv1.EndpointSlice, refused []validation.Refused) {
	sources, refused := usable(p.Sources)
	have := partsOf(p.Published, func(source string, part int) string {
		return names.BrokerSlice(p.Cluster, p.Namespace, source, part)
	})
	for _, source := range distinct(sources) {
		for _, part := range divide(withoutLocalMeaning(source.Endpoints), have[source.Name], p.MaxEndpoints) {
			slice := p.slice(source.Name, part.number, source.AddressType)
			withTrigger(source, p.Exported, slice.Annotations)
			slice.Endpoints, slice.Ports = part.endpoints, p.exposed(source.Ports)
			plan = append(plan, slice)
		}
	}
	return plan, refused
}

// exposed returns those of a source slice's ports that are exported.
func (p Publication) exposed(source []discoveryv1.EndpointPort) []discoveryv1.EndpointPort {
	if !p.Restricted {
		return source
	}
	kept := []discoveryv1.EndpointPort{}
	for _, port := range source {
		if slices.ContainsFunc(p.Ports, func(exported mcsv1beta1.ServicePort) bool { return isPort(port, exported) }) {
			kept = append(kept, port)
		}
	}
	return kept
}

// slice is a slice on the broker without endpoints.
func (p Publication) slice(source string, part int, addressType discoveryv1.AddressType) discoveryv1.EndpointSlice {
	return discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: p.BrokerNamespace,
			Name:      names.BrokerSlice(p.Cluster, p.Namespace, source, part),
			Labels: map[string]string{
				names.LabelServiceName:      p.Service,
				names.LabelServiceNamespace: p.Namespace,
				names.LabelSourceCluster:    p.Cluster.String(),
				discoveryv1.LabelManagedBy:  names.AgentManager,
				// The broker may be somebody's cluster: its kube-proxy must not see this.
				names.LabelHeadless: "",
			},
			Annotations: originAnnotations(source, part),
		},
		AddressType: addressType,
	}
}

// karmadaManager manages the slices of other clusters that Karmada adds to the Service of a
// MultiClusterService (its controller endpointslice-dispatch-controller).
const karmadaManager = "endpointslice-dispatch-controller.karmada.io"

// isSource tells whether a slice describes endpoints of its own cluster. Those that were
// imported are no source, for a cluster would export what it imported: neither Atoll's nor those of
// another implementation, which bear the API's label for the cluster that they come from.
func isSource(slice *discoveryv1.EndpointSlice) bool {
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

// Unsupported tells whether a slice holds domain names in place of addresses, which
// can't be imported: kube-proxy does not route them.
func Unsupported(slice *discoveryv1.EndpointSlice) bool {
	return slice.AddressType != discoveryv1.AddressTypeIPv4 && slice.AddressType != discoveryv1.AddressTypeIPv6
}

// usable returns the valid parts of the slices that describe endpoints of their own cluster by addresses, and what is not valid.
func usable(sources []*discoveryv1.EndpointSlice) (usable []*discoveryv1.EndpointSlice, refused []validation.Refused) {
	usable = make([]*discoveryv1.EndpointSlice, 0, len(sources))
	for _, s := range sources {
		if isSource(s) && !Unsupported(s) {
			clean, problems := validation.Slice(s)
			usable, refused = append(usable, clean), append(refused, problems...)
		}
	}
	return usable, refused
}

// withoutLocalMeaning returns another cluster's endpoints. They share what they point to
// with the given ones, as everything in a plan does: nobody changes it.
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
