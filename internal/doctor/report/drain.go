package report

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/mcs/merge"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// DrainImpact says which of the cluster's exported services a drain does not empty: those that no other cluster can serve,
// those with UDP ports, those whose traffic stays in the cluster, and headless ones. If the broker cannot be read, it says that
// this is not known.
func DrainImpact(s *survey.Survey) (texts []string) {
	if s.Broker == nil {
		return []string{"the command cannot read the broker, so it does not know which services no other cluster can serve. The traffic of these services stays in this cluster"}
	}
	var alone, udp, stays, byName []string
	for _, e := range s.Broker.Exports {
		if e.Spec.ClusterID != s.ClusterID.String() {
			continue
		}
		name := e.Spec.Service().String()
		if e.Spec.Type == mcsv1beta1.Headless {
			byName = append(byName, name)
		}
		if e.Spec.Scope == brokerv1alpha1.ScopeHub {
			continue // the hub's load balancers decide
		}
		if ports, have, lacking := onlyHere(s, e.Spec); lacking > 0 && lacking == have {
			alone = append(alone, name)
		} else if lacking > 0 {
			alone = append(alone, fmt.Sprintf("%s (port %s)", name, strings.Join(ports, ", ")))
		}
		for _, p := range e.Spec.Ports {
			if p.Protocol == corev1.ProtocolUDP && !slices.Contains(udp, name) {
				udp = append(udp, name)
			}
		}
		if ptr.Deref(e.Spec.InternalTrafficPolicy, "") == corev1.ServiceInternalTrafficPolicyLocal {
			stays = append(stays, name)
		}
	}
	add := func(services []string, text string) {
		if len(services) > 0 {
			slices.Sort(services)
			texts = append(texts, fmt.Sprintf(text, fewOf(services)))
		}
	}
	add(alone, "no other cluster can serve %s, so its traffic stays in this cluster")
	add(byName, "%s is headless: while a pod is ready in another cluster, its name resolves only to pods of other clusters. The names of its pods in this cluster still resolve")
	add(udp, "%s has UDP ports: clients that keep their source port keep reaching the same endpoint")
	add(stays, "%s has internalTrafficPolicy Local: clients in this cluster keep reaching the endpoints on their node")
	return texts
}

// DrainSummary counts the cluster's exported services, and those of them that other clusters can serve on all ports. DrainImpact names
// the others. It is "" if the broker cannot be read.
func DrainSummary(s *survey.Survey) string {
	if s.Broker == nil {
		return ""
	}
	services, served, idle := 0, 0, 0
	for _, e := range s.Broker.Exports {
		if e.Spec.ClusterID != s.ClusterID.String() || e.Spec.Scope == brokerv1alpha1.ScopeHub {
			continue
		}
		services++
		if _, have, lacking := onlyHere(s, e.Spec); have == 0 {
			idle++ // a drain moves no traffic of it
		} else if lacking == 0 {
			served++
		}
	}
	what := "services"
	switch services {
	case 0:
		return "it has no exported services"
	case 1:
		what = "service"
	}
	text := fmt.Sprintf("%d exported %s; other clusters can serve %d", services, what, served)
	if idle > 0 {
		text += fmt.Sprintf("; %d without ready endpoints in cluster %s", idle, s.ClusterID)
	}
	return text
}

// onlyHere returns the names of the ports at which the cluster has ready endpoints of a service, and no other cluster that is not
// drained has. It also counts the ports of each IP family: those with ready endpoints here, and those of them that no other cluster
// has. It needs the EndpointSlices on the broker.
func onlyHere(s *survey.Survey, own merge.Export) (ports []string, have, lacking int) {
	exports := constituents(s, own.Service())
	of := func(id string) int {
		return slices.IndexFunc(exports, func(e merge.Export) bool { return e.ClusterID == id })
	}
	serves := func(id string) bool {
		return s.Cluster.Withdrawn[id] == "" && s.Cluster.Silent[id] == "" && of(id) >= 0 && !isDrained(s, exports[of(id)])
	}
	var merged []mcsv1beta1.ServicePort
	if len(exports) > 0 {
		merged = merge.Resolve(exports).Spec.Ports
	}
	type key struct{ family, port string }
	here, others := map[key]bool{}, map[key]bool{}
	for i := range s.Broker.Slices {
		slice := &s.Broker.Slices[i]
		id := layout.Cluster(slice).String()
		if at := of(id); at >= 0 {
			slice = asImported(s, slice, exports[at].Ports, merged)
		}
		if slice.Labels[names.LabelServiceName] != own.ServiceName || slice.Labels[names.LabelServiceNamespace] != own.ServiceNamespace ||
			!slices.ContainsFunc(slice.Endpoints, func(e discoveryv1.Endpoint) bool { return state(e) == EndpointReady }) {
			continue
		}
		for _, p := range slice.Ports {
			if k := (key{string(slice.AddressType), ptr.Deref(p.Name, "")}); id == own.ClusterID {
				here[k] = true
			} else if serves(id) {
				others[k] = true
			}
		}
	}
	for k := range here {
		if !others[k] {
			ports = append(ports, k.port)
		}
	}
	have, lacking = len(here), len(ports)
	slices.Sort(ports)
	return slices.Compact(ports), have, lacking
}

// isDrained reports whether a cluster's part in a service is drained.
func isDrained(s *survey.Survey, export merge.Export) bool {
	return export.Drained || s.Broker.Permissions.Drains(names.ClusterID(export.ClusterID))
}

// drained says how many of a member's exports are drained: "all", "2 of 7", or "" for none.
func drained(s *survey.Survey, member string) string {
	if s.Broker.Permissions.Drains(names.ClusterID(member)) {
		return "all"
	}
	all, n := 0, 0
	for _, e := range s.Broker.Exports {
		if e.Spec.ClusterID == member {
			if all++; e.Spec.Drained {
				n++
			}
		}
	}
	switch n {
	case 0:
		return ""
	case all:
		return "all"
	}
	return fmt.Sprintf("%d of %d", n, all)
}

// fewOf lists the first of many services.
func fewOf(services []string) string {
	const most = 5
	if len(services) <= most {
		return strings.Join(services, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(services[:most], ", "), len(services)-most)
}
