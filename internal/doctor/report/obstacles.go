package report

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/install/render"
	"github.com/atoll-mcs/atoll/internal/mcs/merge"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/refusal"
)

// findings says what keeps clients in the asked cluster from the service, from its exports to
// the answer of DNS.
func (x *Explanation) findings(s *survey.Survey, service types.NamespacedName, exports []merge.Export) {
	x.unread(s)
	if idle(s, render.AgentName) {
		x.Findings.add(Warning, "agent", "none of its pods is ready: what there is here stays as it is, and nothing that changes elsewhere comes", "atoll status")
	}
	x.exported(s, service, exports)
	if len(exports) > 0 || x.Import != nil {
		x.importing(s, service, exports)
		x.unrecorded(s)
	}
	if x.Import != nil && x.Import.Status != foreign {
		x.reachable(s)
	}
	x.allowed(s)
}

func (x *Explanation) unread(s *survey.Survey) {
	switch {
	case s.BrokerErr == nil:
	case errors.Is(s.BrokerErr, survey.ErrNotJoined):
		x.Findings.notJoined()
	default:
		x.Findings.add(Warning, "broker", s.BrokerErr.Error()+": what other clusters export can't be seen", "give the broker's URL as this machine reaches it with --broker-server URL")
	}
	x.Findings.unread(s)
}

// exported is about the asked cluster's own export, and about there being none at all.
func (x *Explanation) exported(s *survey.Survey, service types.NamespacedName, exports []merge.Export) {
	for _, e := range x.Exports {
		switch severity, wrong := e.severity(); {
		case e.Status == notPermitted && e.Cluster != x.Cluster:
			x.Findings.add(Warning, "export", fmt.Sprintf("Cluster %s may not export the namespace %s: the broker's administrators have not permitted it. Other clusters ignore its export.", e.Cluster, e.Namespace),
				fmt.Sprintf("An administrator of the broker can see and change that: atoll broker members list %s --namespace %s", e.Cluster, s.Clusterset))
		case e.Cluster != x.Cluster || !wrong:
		case severity == Warning:
			x.Findings.add(Warning, "export", e.Message, "make the Services, and the ServiceExports' exported labels and annotations, alike in all clusters")
		default:
			x.Findings.add(severity, "export", e.Message, "")
		}
	}
	if len(exports) == 0 && len(x.Exports) > 0 && x.Import == nil && len(x.Findings) == 0 {
		x.Findings.add(Warning, "export", "the service is exported for the hub's load balancers alone, or not on the broker yet: no cluster imports it", "")
	}
	if len(exports) > 0 || s.Broker == nil || len(x.Exports) > 0 {
		return
	}
	do := fmt.Sprintf("in each cluster that has the Service: atoll export %s -n %s", service.Name, service.Namespace)
	if hasService(s, service) {
		x.Findings.add(Error, "export", "no cluster exports this service, although this one has a Service of the name", do)
	} else {
		x.Findings.add(Error, "export", "no cluster exports this service", do)
	}
}

// missingRecords are the clusters that the import names and the broker has no record of.
func (x *Explanation) missingRecords(s *survey.Survey) []string {
	if s.Broker == nil || x.Import == nil || x.Import.Status == foreign {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(x.Import.Clusters), func(id string) bool {
		return id == x.Cluster || slices.ContainsFunc(x.Exports, func(e Export) bool { return e.Cluster == id })
	})
}

// unrecorded is about exports that are imported although the broker does not have them any more.
func (x *Explanation) unrecorded(s *survey.Survey) {
	if missing := x.missingRecords(s); len(missing) > 0 {
		x.Findings.add(Warning, "import", fmt.Sprintf("The broker has no record of the export from %s. This cluster keeps the last one that it has seen, with its type and ports, "+
			"until the agents there confirm it or the cluster counts as lost", names.ListClusters(missing)), "see whether the agents of these clusters run: atoll status")
	}
}

// stale tells whether the import is kept as a missing record has it, which is something else than the records that there are
// amount to.
func (x *Explanation) stale(s *survey.Survey, exports []merge.Export) bool {
	if len(exports) == 0 || len(x.missingRecords(s)) == 0 {
		return false
	}
	merged := merge.Resolve(exports).Spec
	return x.Import.Type != string(merged.Type) || !slices.Equal(x.Import.Ports, ports(merged.Ports))
}

// importing is about the asked cluster's import.
func (x *Explanation) importing(s *survey.Survey, service types.NamespacedName, exports []merge.Export) {
	namespace, readable := namespaceOf(s, service.Namespace)
	if readable && namespace == nil {
		x.Findings.add(Error, "import", "there is no namespace "+service.Namespace+" here, and services are imported into those that there are", "kubectl create namespace "+service.Namespace)
		return
	}
	x.refused(s, service.Namespace, exports)
	if s.Broker != nil && !policyOf(s, service).Consumes(x.Cluster) {
		x.Findings.add(Error, "import", "the hub's MultiClusterService says that other clusters import this service, and this one does not", "add "+x.Cluster+" to its consumerClusters or range")
	}
	if x.Import == nil {
		if len(x.Findings) == 0 {
			x.Findings.add(Pending, "import", "there is no ServiceImport yet", "look at the agents: atoll status")
		}
		return
	}
	switch severity, wrong := x.Import.severity(); {
	case x.Import.Status == foreign:
		x.Findings.add(Error, "import", x.Import.Message, fmt.Sprintf("to have the service imported: kubectl -n %[1]s delete serviceimport %[2]s, or, to have Atoll take it over: kubectl -n %[1]s label serviceimport %[2]s %[3]s=%[4]s", service.Namespace, service.Name, names.LabelManagedBy, names.AgentManager))
	case wrong:
		x.Findings.add(severity, "import", x.Import.Message, "")
	}
}

// refused is about exports that the asked cluster's owner refuses.
func (x *Explanation) refused(s *survey.Survey, namespace string, exports []merge.Export) {
	rules := rulesIn(s, namespace)
	if rules.Malformed != nil {
		x.Findings.add(Warning, "import", fmt.Sprintf("annotation %s of namespace %s can't be read in full: %s", names.AnnotationRefuseImports, namespace, strings.ReplaceAll(rules.Malformed.Error(), "\n", ", ")),
			fmt.Sprintf("kubectl annotate namespace %s --overwrite %s=ID,ID", namespace, names.AnnotationRefuseImports))
	}
	for _, e := range exports {
		reason := rules.Reason(names.ClusterID(e.ClusterID))
		if e.ClusterID == x.Cluster || reason == "" {
			continue
		}
		severity := Error
		if x.Import != nil {
			severity = Warning // it comes from others
		}
		why, undo := reason.Explain(namespace)
		x.Findings.add(severity, "import", fmt.Sprintf("what %s exports is not imported: %s", e.ClusterID, why), undo)
	}
}

// rulesIn are which other clusters' exports the asked cluster refuses in a namespace, as far as this can be told.
func rulesIn(s *survey.Survey, name string) refusal.Rules {
	namespace, _ := namespaceOf(s, name)
	if namespace == nil {
		return refusal.Rules{}
	}
	return refusal.In(name, namespace.Labels, namespace.Annotations, agentRefuses(s))
}

// agentRefuses are the clusters that the agents refuse in all namespaces.
func agentRefuses(s *survey.Survey) refusal.Clusters {
	var ids []string
	for _, container := range s.Cluster.Deployments[render.AgentName].Spec.Template.Spec.Containers {
		for i, arg := range container.Args {
			if value, ok := strings.CutPrefix(arg, "--"+refusal.Flag+"="); ok {
				ids = append(ids, value)
			} else if arg == "--"+refusal.Flag && i+1 < len(container.Args) {
				ids = append(ids, container.Args[i+1])
			}
		}
	}
	refuses, _ := refusal.Parse(strings.Join(ids, ",")) // an agent that can't read it does not start
	return refuses
}

// reachable is about the endpoints, and the way to them.
func (x *Explanation) reachable(s *survey.Survey) {
	ready := 0
	for _, source := range x.Sources {
		ready += source.ReadyHere
	}
	if ready == 0 {
		x.Findings.add(Error, "endpoints", "no endpoint is ready: connections to the service are refused", "see each cluster's reason below")
	}
	x.resolvable(s)
}

// resolvable is about the cluster's own DNS, and who answers it.
func (x *Explanation) resolvable(s *survey.Survey) {
	missing := unwired(s)
	switch {
	case len(missing) == 0:
	case len(s.Cluster.DNS.Wired) == 0:
		x.Findings.add(Error, "DNS", "the cluster's own DNS does not ask atoll-dns, so that pods do not find the name", "atoll dns install")
	default:
		x.Findings.add(Warning, "DNS", "only a part of the cluster's DNS asks atoll-dns: pods do not find the name by way of "+strings.Join(texts(missing), ", "), "atoll dns install")
	}
	if len(s.Cluster.DNS.Wired) > 0 && idle(s, render.DNSName) {
		x.Findings.add(Error, "DNS", "no pod of atoll-dns is ready, so that pods do not find the name", "atoll status")
	}
}

// named tells whether pods of the asked cluster find the name. What is not known does not count.
func named(s *survey.Survey) bool {
	if len(s.Cluster.DNS.Found) == 0 {
		return true
	}
	return len(s.Cluster.DNS.Wired) > 0 && !idle(s, render.DNSName)
}

// idle tells whether a program of Atoll's is there of which nothing is ready.
func idle(s *survey.Survey, name string) bool {
	d, ok := s.Cluster.Deployments[name]
	return ok && d.Status.ReadyReplicas == 0
}

// hasService tells whether the asked cluster has a Service of the name.
func hasService(s *survey.Survey, service types.NamespacedName) bool {
	return slices.ContainsFunc(s.Cluster.Services, func(have corev1.Service) bool {
		return have.Namespace == service.Namespace && have.Name == service.Name
	})
}

// namespaceOf returns a namespace of the asked cluster, nil where it is not there, and false where
// nobody knows because namespaces can't be read.
func namespaceOf(s *survey.Survey, name string) (namespace *corev1.Namespace, readable bool) {
	for i, n := range s.Cluster.Namespaces {
		if n.Name == name && n.DeletionTimestamp == nil {
			return &s.Cluster.Namespaces[i], true
		}
	}
	return nil, len(s.Cluster.Namespaces) > 0
}
