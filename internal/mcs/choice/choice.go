// Package choice decides which endpoints of an imported service are active or on standby in one importing cluster, by
// preferred, drained and silent clusters, and weights.
//
// kube-proxy uses endpoints that serve and terminate when no endpoint is ready (KEP-1669), separately for each address
// family, port name and protocol. A standby endpoint is written in this state, so failover needs no further write. The
// fallback is one flat set: only the next preferred group, drained and silent clusters stand by.
//
// The decision depends only on the final state of its input, not on the order of events or of lists. The caller
// passes the endpoints' conditions at their source, not those of slices that already have a role.
package choice

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Service is an imported service as one importing cluster sees it.
type Service struct {
	Name types.NamespacedName
	// Importer is the importing cluster, and ImporterProperties are the values of its ClusterProperties by name.
	Importer           names.ClusterID
	ImporterProperties map[string]string
	// Headless services have no order and no shares (KEP-5939 draft): Policy is ignored. Their usable endpoints are never absent or off:
	// no proxy uses them, and DNS answers their hosts' names (ADR 39).
	Headless bool
	// OmitStandby makes absent what would stand by or be off, for proxies that use such endpoints like ready ones.
	OmitStandby bool
	// Policy is nil if there is none. The caller refuses a policy that Validate rejects.
	Policy *Policy
	// Clusters are the source clusters in any order, each once. The importing cluster is one if it exports the service.
	Clusters []Cluster
}

// Cluster is one source cluster.
type Cluster struct {
	ID names.ClusterID
	// Properties are the values of the cluster's ClusterProperties by name. ID replaces the property of the cluster id.
	Properties map[string]string
	// Drained is set if an administrator wants no new connections there.
	Drained bool
	// Silent is set if the importing cluster gets no answer from there.
	Silent bool
	// Slices are the cluster's planned slices, with the ports and conditions of their sources. They are not changed.
	Slices []*discoveryv1.EndpointSlice
}

// Role says how an endpoint is written.
type Role int

// The roles, from the least to the most used.
const (
	// Unchanged endpoints are written as they are: they are not usable, or there is nothing to decide.
	Unchanged Role = iota
	// Absent endpoints are not written.
	Absent
	// Off endpoints get no traffic at all. Proxies move UDP flows away from them.
	Off
	// Standby endpoints keep their connections, and get new ones only while no endpoint is ready.
	Standby
	// Active endpoints are ready.
	Active
)

// Reason explains a role to people.
type Reason string

// Reasons of roles.
const (
	// Preferred is the reason of active endpoints, also if there is no order.
	Preferred Reason = "Preferred"
	// AllDrained and AllSilent are the reasons of active endpoints of drained or silent clusters: nothing else is usable.
	AllDrained Reason = "AllDrained"
	AllSilent  Reason = "AllSilent"
	// BehindPreferred means that a preferred group of clusters has a usable endpoint.
	BehindPreferred Reason = "BehindPreferred"
	// FallbackNone means that no selector matches the cluster, and that the policy allows no other clusters.
	FallbackNone Reason = "FallbackNone"
	Drained      Reason = "Drained"
	Silent       Reason = "Silent"
	// BeyondShare means that the other endpoints of the cluster are enough for its weight.
	BeyondShare Reason = "BeyondShare"
	// ZeroWeight and NoWeight mean that the cluster's weight is 0, or that no weight lists the cluster.
	ZeroWeight Reason = "ZeroWeight"
	NoWeight   Reason = "NoWeight"
	// Terminating endpoints are not written as serving while other endpoints are used.
	Terminating Reason = "Terminating"
	// NotReady means that an endpoint, or a cluster's every endpoint, is not ready.
	NotReady Reason = "NotReady"
)

// Decision is a role and its reason.
type Decision struct {
	Role   Role
	Reason Reason
}

// Result has the roles of a service's endpoints. The zero value leaves all endpoints unchanged.
type Result struct {
	// Clusters has each cluster's highest role of all ports, by id. It is nil if there was nothing to decide.
	Clusters []ClusterResult
	// Ports has the decision for each port of each address family, sorted.
	Ports []PortResult
	// SelectorResults are the clusters that match each selector of the policy and are neither drained nor silent, sorted. Endpoints do
	// not matter (KEP-5939 draft, clusterSelectorResults).
	SelectorResults [][]names.ClusterID

	service  types.NamespacedName
	importer names.ClusterID
	headless bool
	omits    bool
	index    map[names.ClusterID]int
	ports    map[portKey]*portState
}

// PortResult is the decision for one port of one address family. A headless service has one for each family, without
// port and protocol, because DNS has one list of addresses for all ports.
type PortResult struct {
	AddressType discoveryv1.AddressType
	Port        string
	Protocol    corev1.Protocol
	// Clusters are sorted by id.
	Clusters []ClusterResult
}

// ClusterResult is one cluster's part in a decision.
type ClusterResult struct {
	Cluster names.ClusterID
	// Decision is for the cluster's usable endpoints. Of an active cluster some may be standby, BeyondShare.
	Decision
	// Usable and Active count endpoints.
	Usable, Active int
	// Share is the cluster's part of all active endpoints, in percent. WantedShare is the part by weight, 0 if weights do
	// not apply.
	Share, WantedShare float64
}

// isUndecided reports whether all endpoints can stay as they are.
func (s *Service) isUndecided() bool {
	for i := range s.Clusters {
		if s.Clusters[i].Drained || s.Clusters[i].Silent {
			return false
		}
	}
	return s.Headless || s.Policy == nil || len(s.Policy.Selectors)+len(s.Policy.Weights) == 0
}

// Decide returns the roles of a service's endpoints. If nothing is preferred, drained, silent or weighted, it looks at
// no endpoint.
func Decide(s Service) Result {
	if s.isUndecided() {
		return Result{}
	}
	if s.Headless || s.Policy == nil {
		s.Policy = &Policy{}
	}
	s.Clusters = slices.SortedFunc(slices.Values(s.Clusters), func(a, b Cluster) int { return cmp.Compare(a.ID, b.ID) })
	r := Result{service: s.Name, importer: s.Importer, headless: s.Headless, omits: s.OmitStandby && !s.Headless, index: map[names.ClusterID]int{}}
	for i := range s.Clusters {
		r.index[s.Clusters[i].ID] = i
	}
	var groups []int
	groups, r.SelectorResults = s.groups()
	d := decider{Service: &s, groups: groups, weights: s.weights(), hasUDP: r.collect(s.Clusters)}
	for _, port := range r.ports {
		d.decide(port)
	}
	r.report(&s)
	return r
}

// portKey is what kube-proxy decides separately.
type portKey struct {
	addressType discoveryv1.AddressType
	name        string
	protocol    corev1.Protocol
}

// keyOf returns the key of a slice's port, nil for a slice without ports.
func (r *Result) keyOf(slice *discoveryv1.EndpointSlice, port *discoveryv1.EndpointPort) portKey {
	if r.headless || port == nil {
		return portKey{addressType: slice.AddressType}
	}
	return portKey{slice.AddressType, ptr.Deref(port.Name, ""), ptr.Deref(port.Protocol, corev1.ProtocolTCP)}
}

// target is an endpoint at a port. An address that is in two slices is one endpoint. The port's number is 0 if any.
type target struct {
	address string
	port    int32
}

func (r *Result) targetOf(endpoint *discoveryv1.Endpoint, port *discoveryv1.EndpointPort) target {
	var t target
	if len(endpoint.Addresses) > 0 {
		t.address = endpoint.Addresses[0]
	}
	if port != nil && !r.headless {
		t.port = ptr.Deref(port.Port, 0)
	}
	return t
}

// portState is the decision for one portKey.
type portState struct {
	clusters  []clusterState // as Service.Clusters, sorted
	hasActive bool
}

// clusterState is the decision for one cluster's endpoints at a port.
type clusterState struct {
	Decision
	usable map[target]bool
	// active are the usable endpoints within the cluster's share, nil for all.
	active map[target]bool
	// wanted is the part by weight, in percent.
	wanted float64
}

// collect gathers the usable endpoints, and reports whether the service has a UDP port.
func (r *Result) collect(clusters []Cluster) (hasUDP bool) {
	r.ports = map[portKey]*portState{}
	for i := range clusters {
		for _, slice := range clusters[i].Slices {
			for _, port := range portsOf(slice) {
				hasUDP = hasUDP || port != nil && ptr.Deref(port.Protocol, corev1.ProtocolTCP) == corev1.ProtocolUDP
				key := r.keyOf(slice, port)
				if r.ports[key] == nil {
					r.ports[key] = &portState{clusters: make([]clusterState, len(clusters))}
				}
				r.ports[key].clusters[i].add(r, slice, port)
			}
		}
	}
	return hasUDP
}

func (c *clusterState) add(r *Result, slice *discoveryv1.EndpointSlice, port *discoveryv1.EndpointPort) {
	if c.usable == nil {
		c.usable = make(map[target]bool, len(slice.Endpoints))
	}
	for i := range slice.Endpoints {
		if e := &slice.Endpoints[i]; isReady(e) {
			c.usable[r.targetOf(e, port)] = true
		}
	}
}

// portsOf returns a slice's ports. A slice without ports has one that is nil: headless services need none.
func portsOf(slice *discoveryv1.EndpointSlice) []*discoveryv1.EndpointPort {
	if len(slice.Ports) == 0 {
		return []*discoveryv1.EndpointPort{nil}
	}
	ports := make([]*discoveryv1.EndpointPort, len(slice.Ports))
	for i := range slice.Ports {
		ports[i] = &slice.Ports[i]
	}
	return ports
}

// isReady follows kube-proxy: an unset condition means ready.
func isReady(endpoint *discoveryv1.Endpoint) bool {
	return ptr.Deref(endpoint.Conditions.Ready, true)
}

// isTerminating reports whether kube-proxy would use an endpoint that is not ready while no other is.
func isTerminating(endpoint *discoveryv1.Endpoint) bool {
	return ptr.Deref(endpoint.Conditions.Serving, isReady(endpoint)) && ptr.Deref(endpoint.Conditions.Terminating, false)
}

// report fills what people see.
func (r *Result) report(s *Service) {
	for i := range s.Clusters {
		r.Clusters = append(r.Clusters, ClusterResult{Cluster: s.Clusters[i].ID, Decision: Decision{Unchanged, NotReady}})
	}
	for key, port := range r.ports {
		if key.protocol == "" && !r.headless {
			continue // no client reaches endpoints without a port
		}
		r.Ports = append(r.Ports, r.result(key, port, s.Clusters))
	}
	slices.SortFunc(r.Ports, func(a, b PortResult) int {
		return cmp.Or(cmp.Compare(a.AddressType, b.AddressType), cmp.Compare(a.Port, b.Port), cmp.Compare(a.Protocol, b.Protocol))
	})
	for _, port := range r.Ports {
		for i, c := range port.Clusters {
			if c.Role > r.Clusters[i].Role {
				r.Clusters[i] = c
			}
		}
	}
}

func (r *Result) result(key portKey, p *portState, clusters []Cluster) PortResult {
	result := PortResult{AddressType: key.addressType, Port: key.name, Protocol: key.protocol}
	total := 0
	for i := range p.clusters {
		c := &p.clusters[i]
		active := 0
		switch {
		case c.Role == Active && c.active == nil:
			active = len(c.usable)
		case c.Role == Active:
			active = len(c.active)
		}
		total += active
		result.Clusters = append(result.Clusters, ClusterResult{
			Cluster: clusters[i].ID, Decision: r.omit(c.Decision), Usable: len(c.usable), Active: active, WantedShare: c.wanted,
		})
	}
	for i := range result.Clusters {
		if c := &result.Clusters[i]; c.Active > 0 {
			c.Share = 100 * float64(c.Active) / float64(total)
		}
	}
	return result
}

// omit makes a decision absent if endpoints that get no traffic are not to be written.
func (r *Result) omit(d Decision) Decision {
	if r.omits && (d.Role == Standby || d.Role == Off) {
		d.Role = Absent
	}
	return d
}
