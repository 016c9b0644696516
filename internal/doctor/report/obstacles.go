package report

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/install/dnswiring"
	"github.com/atoll-mcs/atoll/internal/install/render"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
	"github.com/atoll-mcs/atoll/internal/mcs/merge"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/refusal"
)

// path is what the findings say about the path to the endpoints.
type path struct {
	// routed is false if clients cannot reach the clusterset IPs. current is false if all endpoints that serve are of clusters
	// without a current heartbeat.
	routed, current bool
}

// findings lists the problems on the path from the exports to DNS.
func (x *Explanation) findings(s *survey.Survey, service types.NamespacedName, exports []merge.Export) (is path) {
	x.unread(s)
	if idle(s, render.AgentName) {
		x.Findings.add(Warning, "agent", "No atoll-agent pod is ready. Imported services keep working, but changes in other clusters do not arrive.", s.On.Atoll("status"))
	}
	x.exported(s, service, exports)
	switch {
	case len(exports) > 0 || x.Import != nil:
		x.importing(s, service, exports)
		x.unrecorded(s)
	case s.Broker == nil: // whether other clusters export the service is unknown
		x.Findings.rejected(s, service, "import")
	}
	if x.Import != nil && x.Import.Status != foreign {
		x.reachable(s)
	}
	is = path{routed: x.derived(s), current: x.heartbeats(s)}
	x.leftOut()
	x.Findings.statusRefused(s)
	x.Findings.foreignSlices(s)
	x.Findings.leftovers(s, service)
	x.allowed(s)
	return is
}

func (x *Explanation) unread(s *survey.Survey) {
	switch {
	case s.BrokerErr == nil:
	case errors.Is(s.BrokerErr, survey.ErrNotJoined):
		x.Findings.notJoined(s.On)
	default:
		x.Findings.add(Warning, "broker", "The broker cannot be read, so the exports of other clusters are unknown: "+s.BrokerErr.Error(), "If this machine must use a different URL for the broker than the cluster's pods, add --broker-server URL.")
	}
	x.Findings.unread(s)
}

// exported checks the queried cluster's export, and that any export exists.
func (x *Explanation) exported(s *survey.Survey, service types.NamespacedName, exports []merge.Export) {
	for _, e := range x.Exports {
		switch {
		case e.Status == notPermitted && e.Cluster != x.Cluster:
			x.Findings.add(Warning, "export", fmt.Sprintf("The broker does not permit cluster %s to export namespace %s. Other clusters ignore the export.", e.Cluster, e.Namespace),
				"To see the permissions of cluster "+e.Cluster+": "+command.Broker.Atoll("broker members list %s --clusterset %s", e.Cluster, s.Clusterset))
		case e.Status == noPortExposed:
			x.Findings.add(Warning, "export", fmt.Sprintf("Cluster %s: %s", e.Cluster, e.Message), "Compare the ports of the Service with spec.ports of the MultiClusterService.")
		case e.Cluster != x.Cluster || e.problem == "":
		case e.Status == deleting:
			x.Findings.add(e.problem, "export", e.Message, "")
		case e.problem == Warning:
			x.Findings.add(Warning, "export", e.Message, "Give the Services, the exported labels and annotations of the ServiceExports, and their TrafficPolicies the same values in all clusters.")
		default:
			x.Findings.add(e.problem, "export", e.Message, "")
		}
	}
	x.endingService(s, service)
	if len(exports) == 0 && len(x.Exports) > 0 && x.Import == nil && len(x.Findings) == 0 {
		if slices.ContainsFunc(x.Exports, func(e Export) bool { return e.Status == hubOnly }) {
			x.Findings.add(Warning, "export", "Only the load balancers of the MultiClusterService use this service. No cluster imports the service, so its name does not resolve.",
				"To let clusters import the service, add CrossCluster to spec.types of the MultiClusterService.")
		} else {
			x.Findings.add(Pending, "export", "The export has not reached the broker yet, so no cluster imports this service.", "Check the agents of the exporting cluster: "+command.Of(x.Exports[0].Cluster).Atoll("status"))
		}
	}
	if len(exports) > 0 || s.Broker == nil || len(x.Exports) > 0 {
		return
	}
	if serviceOf(s, service) != nil {
		x.Findings.add(Error, "export", "No cluster exports this service. This cluster has a Service with this name.", "To export the Service: "+s.On.Atoll("export %s -n %s", service.Name, service.Namespace))
	} else {
		x.Findings.add(Error, "export", "No cluster exports this service.", "Check the name, or export the Service from a cluster that has it: "+command.Of("CLUSTER").Atoll("export %s -n %s", service.Name, service.Namespace))
	}
}

// missingRecords returns the clusters whose records the import was made of but that have no record on the broker.
// status.clusters would be older.
func (x *Explanation) missingRecords(s *survey.Survey) []string {
	if s.Broker == nil || x.Import == nil || x.Import.Status == foreign {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(x.Import.applied), func(id string) bool {
		return slices.ContainsFunc(x.Exports, func(e Export) bool { return e.Cluster == id })
	})
}

// unrecorded reports imports of exports that the broker no longer has.
func (x *Explanation) unrecorded(s *survey.Survey) {
	if missing := x.missingRecords(s); len(missing) > 0 {
		x.Findings.add(Warning, "import", fmt.Sprintf("The broker no longer has the export from %s. This cluster keeps using the last known type and ports. "+
			"The last known values apply until the agents of the exporting cluster publish or withdraw the export, or that cluster is lost.", names.ListClusters(missing)), "Check whether the agents of that cluster run: "+command.Of(missing[0]).Atoll("status"))
	}
}

// stale reports whether the import differs from the broker's records because it keeps a missing one.
func (x *Explanation) stale(s *survey.Survey, exports []merge.Export) bool {
	if len(exports) == 0 || len(x.missingRecords(s)) == 0 {
		return false
	}
	merged := merge.Resolve(exports).Spec
	return x.Import.Type != string(merged.Type) || !slices.Equal(x.Import.Ports, ports(merged.Ports))
}

// importing checks the queried cluster's import.
func (x *Explanation) importing(s *survey.Survey, service types.NamespacedName, exports []merge.Export) {
	namespace, readable := namespaceOf(s, service.Namespace)
	if ending := endingNamespace(s, service.Namespace); ending != nil {
		x.Findings.add(Error, "import", fmt.Sprintf("Namespace %s of this cluster is being deleted. Services are not imported into the namespace.", service.Namespace),
			"The namespace's conditions show why the deletion is not complete: "+s.On.Kubectl("get namespace %s -o yaml", service.Namespace))
		return
	}
	if readable && namespace == nil {
		x.Findings.add(Error, "import", "This cluster has no namespace "+service.Namespace+". A cluster imports a service only if the service's namespace exists.", s.On.Kubectl("create namespace %s", service.Namespace))
		return
	}
	x.refused(s, service.Namespace, exports)
	if s.Broker != nil && !policyOf(s, service).Consumes(x.Cluster) {
		x.Findings.add(Error, "import", "The hub's MultiClusterService lets other clusters import this service, but not this cluster.", "Add cluster "+x.Cluster+" to consumerClusters or range of the MultiClusterService.")
	}
	if x.Import == nil {
		if !x.Findings.rejected(s, service, "import") && len(x.Findings) == 0 {
			x.Findings.add(Pending, "import", "This cluster has no ServiceImport of the service yet.", "Check this cluster's agents: "+s.On.Atoll("status"))
		}
		return
	}
	switch {
	case x.Import.Status == foreign:
		x.Findings.add(Error, "import", x.Import.Message, takeOver(s, x.Import.Namespace, x.Import.Name))
	case x.Import.problem != "":
		x.Findings.add(x.Import.problem, "import", x.Import.Message, "")
	}
}

// endingService reports that the queried cluster's Service is being deleted. It exists and serves until its finalizers are
// removed.
func (x *Explanation) endingService(s *survey.Survey, service types.NamespacedName) {
	if have := serviceOf(s, service); have != nil && have.DeletionTimestamp != nil {
		x.Findings.add(Warning, "export", fmt.Sprintf("Service %s of this cluster is being deleted. The deletion waits for %s. The Service still exists and serves. When the deletion ends, its endpoints are withdrawn from all clusters.", service, finalizers(have)),
			s.On.Kubectl("get service %s -n %s -o yaml", service.Name, service.Namespace))
	}
}

// refused reports exports that the queried cluster refuses.
func (x *Explanation) refused(s *survey.Survey, namespace string, exports []merge.Export) {
	rules := rulesIn(s, namespace)
	if rules.Malformed != nil {
		x.Findings.add(Warning, "import", fmt.Sprintf("Annotation %s of namespace %s has invalid entries, which are ignored: %s.", names.AnnotationRefuseImports, namespace, strings.ReplaceAll(rules.Malformed.Error(), "\n", ", ")),
			s.On.Kubectl("annotate namespace %s --overwrite %s=ID,ID", namespace, names.AnnotationRefuseImports))
	}
	for _, e := range exports {
		reason := rules.Reason(names.ClusterID(e.ClusterID))
		if e.ClusterID == x.Cluster || reason == "" {
			continue
		}
		severity := Error
		if x.Import != nil {
			severity = Warning // imported from other clusters
		}
		why, undo := reason.Explain(namespace, s.On)
		x.Findings.add(severity, "import", fmt.Sprintf("The export of cluster %s is not imported: %s.", e.ClusterID, why), undo)
	}
}

// rulesIn returns the clusters that the queried cluster refuses in a namespace, as far as readable.
func rulesIn(s *survey.Survey, name string) refusal.Rules {
	namespace, _ := namespaceOf(s, name)
	if namespace == nil {
		return refusal.Rules{}
	}
	return refusal.In(name, namespace.Labels, namespace.Annotations, agentRefuses(s))
}

// agentRefuses returns what the agents' flags refuse.
func agentRefuses(s *survey.Survey) (refuses refusal.Agent) {
	values := func(flag string) (all []string) {
		for _, container := range s.Cluster.Deployments[render.AgentName].Spec.Template.Spec.Containers {
			for i, arg := range container.Args {
				if value, ok := strings.CutPrefix(arg, "--"+flag+"="); ok {
					all = append(all, value)
				} else if arg == "--"+flag && i+1 < len(container.Args) {
					all = append(all, container.Args[i+1])
				}
			}
		}
		return all
	}
	refuses.Clusters, _ = refusal.Parse(strings.Join(values(refusal.Flag), ",")) // an agent with an invalid value does not start
	refuses.Closed = strings.Split(strings.Join(values(refusal.ClosedFlag), ","), ",")
	return refuses
}

// reachable checks the endpoints and the network path to them.
func (x *Explanation) reachable(s *survey.Survey) {
	all := Endpoints(s)
	missing, fallback, _ := x.Import.unserved(all)
	switch {
	case slices.ContainsFunc(all, func(e Endpoint) bool { return e.State == EndpointReady }) || len(fallback) > 0:
		x.unserved(missing, fallback)
	case x.Import.isHeadless():
		x.Findings.add(Error, "endpoints", "No endpoint is ready, so the name does not resolve to an address.", "The table of endpoints below shows the reason for each cluster.")
	default:
		x.Findings.add(Error, "endpoints", "No endpoint is ready. Connections to the service are refused.", "The table of endpoints below shows the reason for each cluster.")
	}
	x.resolvable(s)
}

// resolvable checks the cluster's DNS servers and atoll-dns.
func (x *Explanation) resolvable(s *survey.Survey) {
	x.Findings.forwarding(s)
	for _, below := range s.Cluster.DNS.Below {
		if x.isIn(below.Zone) || strings.HasSuffix(below.Zone, "."+x.Name) {
			x.Findings.below(below)
		}
	}
	if dns := s.Cluster.DNS; len(dns.Wired)+len(dns.Unknown) > 0 && idle(s, render.DNSName) {
		x.Findings.add(Error, "DNS", "No atoll-dns pod is ready, so pods cannot resolve the name.", s.On.Atoll("status"))
	}
}

// isIn reports whether the service's name is in a zone.
func (x *Explanation) isIn(zone string) bool {
	return x.Name == zone || strings.HasSuffix(x.Name, "."+zone)
}

// resolves reports whether pods can resolve the name. Unknown DNS servers do not count.
func resolves(s *survey.Survey) bool {
	dns := s.Cluster.DNS
	switch {
	case dns.Down != "" && !slices.Contains(dns.Wired, dnswiring.NodeLocal): // a cache forwards to atoll-dns by itself
		return false
	case len(dns.Found) == 0:
		return true
	}
	return len(dns.Wired)+len(dns.Unknown) > 0 && !idle(s, render.DNSName)
}

// unclear reports whether another DNS server may answer for the name: for a zone that the name is in, or in place of all
// servers.
func (x *Explanation) unclear(s *survey.Survey) bool {
	dns := s.Cluster.DNS
	return len(dns.Wired) == 0 && len(dns.Unknown) > 0 ||
		slices.ContainsFunc(dns.Below, func(below dnswiring.Below) bool { return x.isIn(below.Zone) })
}

// idle reports whether a program of Atoll is installed but has no ready pod.
// HasNoReadyAgent reports whether the queried cluster has agents, and none is ready. The survey needs Scope.Installation.
func HasNoReadyAgent(s *survey.Survey) bool { return idle(s, render.AgentName) }

func idle(s *survey.Survey, name string) bool {
	d, ok := s.Cluster.Deployments[name]
	return ok && d.Status.ReadyReplicas == 0
}

// serviceOf returns the queried cluster's own Service, or nil.
func serviceOf(s *survey.Survey, service types.NamespacedName) *corev1.Service {
	for i, have := range s.Cluster.Services {
		if have.Namespace == service.Namespace && have.Name == service.Name {
			return &s.Cluster.Services[i]
		}
	}
	return nil
}

// endingNamespace returns a namespace of the queried cluster that is being deleted, or nil.
func endingNamespace(s *survey.Survey, name string) *corev1.Namespace {
	for i, n := range s.Cluster.Namespaces {
		if n.Name == name && n.DeletionTimestamp != nil {
			return &s.Cluster.Namespaces[i]
		}
	}
	return nil
}

// namespaceOf returns a namespace of the queried cluster, or nil. readable is false when namespaces cannot be read.
func namespaceOf(s *survey.Survey, name string) (namespace *corev1.Namespace, readable bool) {
	for i, n := range s.Cluster.Namespaces {
		if n.Name == name && n.DeletionTimestamp == nil {
			return &s.Cluster.Namespaces[i], true
		}
	}
	return nil, len(s.Cluster.Namespaces) > 0
}
