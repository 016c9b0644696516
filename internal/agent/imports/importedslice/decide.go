package importedslice

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/agent/lost"
	"github.com/atoll-mcs/atoll/internal/broker/border"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/kit/status"
	"github.com/atoll-mcs/atoll/internal/mcs/derived"
	"github.com/atoll-mcs/atoll/internal/mcs/endpoints"
	"github.com/atoll-mcs/atoll/internal/mcs/merge"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
)

type inputsOf struct {
	service types.NamespacedName
	// source is the slice on the broker that counts, or this cluster's own, or nil, with its state and the detail of the state.
	source *discoveryv1.EndpointSlice
	state  border.State
	detail string
	// imp is the ServiceImport, or nil. record is what the source cluster exports, or nil.
	imp    *mcsv1beta1.ServiceImport
	record *brokerv1alpha1.ExportedService
	// derived is the name of the import's derived Service, and ports are the ports that it has.
	derived string
	ports   []corev1.ServicePort
	// exports are the exports that are imported, and changes is when this cluster's changes with time, or zero.
	exports []merge.Export
	changes time.Time
	// member is the source cluster's MemberCluster, or nil.
	member *brokerv1alpha1.MemberCluster
	// refused is set if the namespace refuses the source cluster, lost if the cluster is lost.
	refused, lost bool
	// waits is set if the import has no derived Service yet, or if it is unknown whether the cluster is lost.
	waits bool
	// kept is set if only the hints may change, because it is unknown what counts.
	kept bool
	// out are the withdrawn endpoints of a source cluster that is not lost.
	out map[netip.AddrPort]bool
}

// imports reports whether anything is imported from the source cluster.
func (in inputsOf) imports() bool {
	return in.imp != nil && !in.refused && in.record != nil && in.record.Spec.Scope != brokerv1alpha1.ScopeHub &&
		(!in.lost || in.record.Spec.OnClusterLoss == names.OnLossKeep) && len(in.imp.Spec.IPFamilies) > 0 && !derived.Portless(in.imp)
}

// isWithdrawn reports whether nothing is imported only because the source cluster is lost.
func (in inputsOf) isWithdrawn() bool {
	return in.imp != nil && !in.refused && in.record != nil && in.lost && !in.imports()
}

// Reasons of warnings in the ServiceImport's condition Ready, and of Events.
const (
	ReasonOverlappingRanges = "OverlappingRanges"
	ReasonEndpointsRefused  = "EndpointsRefused"
	ReasonRecordInvalid     = "RecordInvalid"
	ReasonClusterLost       = "ClusterLost"
	ReasonEndpointsLost     = "EndpointsLost"
	ReasonNameTaken         = "NameTaken"
	ReasonOverBudget        = "OverBudget"
	// ReasonWeightsNotAccepted means that a part of another cluster's TrafficPolicy does not count here.
	ReasonWeightsNotAccepted = "WeightsNotAccepted"
	// ReasonPolicyInvalid means that another cluster's TrafficPolicy cannot apply to the service here.
	ReasonPolicyInvalid = "PolicyInvalid"
)

// decision is the desired slice, or nil, and a warning for users.
type decision struct {
	want     *discoveryv1.EndpointSlice
	warnings []status.Warning
}

func decide(in inputsOf, req Request, network validation.Network, self names.ClusterID) decision {
	if in.isWithdrawn() {
		return decision{warnings: []status.Warning{{Reason: ReasonClusterLost, Message: LostMessage(req.Cluster)}}}
	}
	if !in.imports() || in.source == nil || in.state == border.Stub {
		return decision{}
	}
	var warnings []status.Warning
	if count, summary := validation.RefusedOf(in.record); count > 0 {
		warnings = []status.Warning{{Reason: ReasonRecordInvalid, Message: fmt.Sprintf(
			"This cluster ignores invalid parts of the export from cluster %q: %s. Correct the export in that cluster.", req.Cluster, summary)}}
	}
	if problem, some := unusable(in, req, network, self); some {
		return decision{warnings: append(warnings, problem)}
	}
	own, clean, left := req.Cluster == self, in.source, []validation.Refused(nil)
	if !own {
		clean, left = network.Slice(req.Cluster, in.source)
	}
	clean, gone := without(clean, in.out)
	if gone > 0 {
		warnings = append(warnings, status.Warning{Reason: ReasonEndpointsLost, Message: fmt.Sprintf(
			"Cluster %q sends no heartbeat. Number of endpoints that were withdrawn because they do not answer: %d. The other endpoints are kept.", req.Cluster, gone)})
	}
	d := decision{warnings: warnings, want: endpoints.Import{
		Import: in.imp, Service: in.derived, ServicePorts: in.ports, Cluster: req.Cluster, Own: own, Ports: in.record.Spec.Ports, IPFamilies: in.record.Spec.IPFamilies,
	}.Slice(clean)}
	if len(left) > 0 {
		d.warnings = append(warnings, refused(req.Cluster, validation.Summary(left)))
	} else if count, first := validation.RefusedOf(in.source); count > 0 && !own {
		d.warnings = append(warnings, refused(req.Cluster, first))
	}
	return d
}

// unusable returns the reason why no endpoint of a source slice is imported.
func unusable(in inputsOf, req Request, network validation.Network, self names.ClusterID) (problem status.Warning, some bool) {
	switch in.state {
	case border.Refused:
		return refused(req.Cluster, in.detail), true
	case border.OverLimit:
		return status.Warning{Reason: ReasonOverBudget, Message: fmt.Sprintf(
			"Some endpoints of cluster %q are not imported, because the cluster exceeds this cluster's per-member budget. "+
				"Export fewer services or endpoints in that cluster, or raise --member-budget of this cluster's agent.", req.Cluster)}, true
	}
	text := endpoints.OverlappingRanges(network, self, req.Cluster, in.member, in.source)
	return status.Warning{Reason: ReasonOverlappingRanges, Message: text}, text != ""
}

// without returns a slice without the endpoints in out, and the number of endpoints removed.
func without(s *discoveryv1.EndpointSlice, out map[netip.AddrPort]bool) (left *discoveryv1.EndpointSlice, gone int) {
	if len(out) == 0 {
		return s, 0
	}
	short := *s
	short.Endpoints = slices.DeleteFunc(slices.Clone(s.Endpoints), func(e discoveryv1.Endpoint) bool {
		at, ok := lost.At(s, e.Addresses[0])
		return ok && out[at]
	})
	return &short, len(s.Endpoints) - len(short.Endpoints)
}

// kept returns the part of a slice that stays, or nil, without hints. It removes addresses that are not allowed.
func kept(network validation.Network, req Request, have *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	if have == nil {
		return nil
	}
	clean, _ := network.Slice(req.Cluster, have)
	stays := *clean
	stays.Endpoints = slices.Clone(clean.Endpoints)
	for i := range stays.Endpoints {
		stays.Endpoints[i].Hints = nil
	}
	return &stays
}

// lostPorts returns the ports of have that want lacks and the derived Service has. A source slice follows a change of its Service
// later than the Service's record, and both come here separately.
func lostPorts(have, want *discoveryv1.EndpointSlice, service []corev1.ServicePort) (lost []discoveryv1.EndpointPort) {
	for _, port := range have.Ports {
		isNamed := func(p discoveryv1.EndpointPort) bool { return ptr.Deref(p.Name, "") == ptr.Deref(port.Name, "") }
		isServed := func(p corev1.ServicePort) bool { return p.Name == ptr.Deref(port.Name, "") }
		if !slices.ContainsFunc(want.Ports, isNamed) && slices.ContainsFunc(service, isServed) {
			lost = append(lost, port)
		}
	}
	return lost
}

// keepRevision keeps have's revision if nothing else grew, to avoid a write for identical content. A lower revision is
// written, because its owner confirmed it.
func keepRevision(have, want *discoveryv1.EndpointSlice) {
	if layout.Revision(want) <= layout.Revision(have) { // if equal, skip the comparison of all endpoints
		return
	}
	same := *want
	same.Annotations = maps.Clone(want.Annotations)
	same.Annotations[names.AnnotationRevision] = have.Annotations[names.AnnotationRevision]
	if endpoints.Same(have, &same) {
		want.Annotations = same.Annotations
	}
}

func refused(cluster names.ClusterID, what string) status.Warning {
	return status.Warning{Reason: ReasonEndpointsRefused, Message: fmt.Sprintf(
		"Some endpoints of cluster %q are not imported: %s. The cluster's other endpoints are imported. Correct the endpoints in that cluster.", cluster, what)}
}

// LostMessage returns the message for a lost cluster.
func LostMessage(cluster names.ClusterID) string {
	return fmt.Sprintf("Cluster %q is unreachable: it sends no heartbeat, and its endpoints do not answer. The endpoints are withdrawn until the cluster is reachable again.", cluster)
}

func nameTaken(req Request, slice *discoveryv1.EndpointSlice) status.Warning {
	return status.Warning{Reason: ReasonNameTaken, Message: fmt.Sprintf(
		"Another tool or person created EndpointSlice %s/%s. The endpoints of cluster %q are in EndpointSlice %s instead, and receive traffic. "+
			"No action is needed.", slice.Namespace, req.name().Name, req.Cluster, slice.Name)}
}

// note reports the result to the controller of the import's conditions.
func (r *Reconciler) note(in inputsOf, req Request, d decision, out kit.Outcome) {
	in.service.Namespace = req.Source.Namespace
	problem := status.ProblemOf(out, d.warnings...)
	if in.imp == nil {
		problem = status.Problem{}
	}
	r.Problems.SetSlice(in.service, req.part(), problem)
}

// part names the slice among the parts of its service that have problems.
func (req Request) part() status.Part {
	return status.Part{Cluster: req.Cluster, Slice: strings.TrimSuffix(req.Source.Name+":"+req.Ports, ":")}
}
