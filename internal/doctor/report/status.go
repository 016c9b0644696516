package report

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/install/dnswiring"
	"github.com/atoll-mcs/atoll/internal/install/render"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Status is the state of a clusterset as one cluster sees it.
type Status struct {
	Cluster    string `json:"cluster,omitempty"`
	Clusterset string `json:"clusterset,omitempty"`
	// Broker is the broker's URL.
	Broker string `json:"broker,omitempty"`
	// BrokerMilliseconds is the time of one small request; absent if the broker is unreachable.
	BrokerMilliseconds *int64      `json:"brokerMilliseconds,omitempty"`
	Components         []Component `json:"components"`
	// DNS are the cluster's DNS servers that forward clusterset.local to atoll-dns.
	DNS     []string `json:"dns,omitempty"`
	Members []Member `json:"members,omitempty"`
	// Exports and Imports count those of the queried cluster by status.
	Exports map[string]int `json:"exports"`
	Imports map[string]int `json:"imports"`
	// Findings are the problems, the worst first.
	Findings Findings `json:"findings,omitempty"`
}

// Component is a program of Atoll in the queried cluster.
type Component struct {
	Name   string `json:"name"`
	Ready  int32  `json:"ready"`
	Wanted int32  `json:"wanted"`
	Image  string `json:"image,omitempty"`
}

// Failed reports whether a finding is an error.
func (s Status) Failed() bool {
	return slices.ContainsFunc(s.Findings, func(f Finding) bool { return f.Severity == Error })
}

// Unfinished returns the findings that may clear with time: errors and pending ones.
func (s Status) Unfinished() []Finding {
	return slices.DeleteFunc(slices.Clone(s.Findings), func(f Finding) bool { return f.Severity != Error && f.Severity != Pending })
}

// NewStatus evaluates a survey with Scope.Installation.
func NewStatus(s *survey.Survey) Status {
	status := Status{
		Cluster: s.ClusterID.String(), Clusterset: s.Clusterset, Broker: s.Server,
		DNS: texts(s.Cluster.DNS.Wired), Members: Members(s), Exports: map[string]int{}, Imports: map[string]int{},
	}
	if s.Broker != nil {
		status.BrokerMilliseconds = ptr.To(s.Broker.RoundTrip.Milliseconds())
	}
	status.components(s)
	status.broker(s)
	status.dns(s)
	status.members(s)
	status.exports(s)
	status.imports(s)
	status.Findings.allRejected(s)
	status.Findings.statusRefused(s)
	status.Findings.foreignSlices(s)
	status.Findings.leftovers(s, types.NamespacedName{})
	status.Findings.unread(s)
	slices.SortStableFunc(status.Findings, func(a, b Finding) int {
		return slices.Index(severities, a.Severity) - slices.Index(severities, b.Severity)
	})
	return status
}

func (s *Status) components(of *survey.Survey) {
	for _, name := range []string{render.AgentName, render.DNSName} {
		d, ok := of.Cluster.Deployments[name]
		if !ok {
			if of.Broker != nil && len(of.Unread) == 0 {
				s.Findings.add(Warning, name, fmt.Sprintf("Namespace %s has no Deployment %s.", names.SystemNamespace, name), "Unless "+name+" runs in another way, install "+name+": "+of.On.Atoll("join FILE"))
			}
			continue
		}
		c := Component{Name: name, Ready: d.Status.ReadyReplicas, Wanted: ptr.Deref(d.Spec.Replicas, 1), Image: survey.Image(d.Spec.Template.Spec)}
		s.Components = append(s.Components, c)
		switch show := render.ShowPods(of.On, name); {
		case c.Wanted == 0:
			s.Findings.add(Error, name, "The Deployment is scaled to 0 replicas.", of.On.Kubectl("scale deployment %s -n %s --replicas=2", name, names.SystemNamespace))
		case c.Ready == 0:
			s.Findings.add(Error, name, fmt.Sprintf("No %s pod is ready%s.", name, unready(of, name)), show)
		case c.Ready < c.Wanted && rollingOut(d):
			s.Findings.add(Pending, name, fmt.Sprintf("%d of %d pods are ready: the Deployment is rolling out%s.", c.Ready, c.Wanted, unready(of, name)), show)
		case c.Ready < c.Wanted:
			s.Findings.add(Warning, name, fmt.Sprintf("%d of %d pods are ready%s.", c.Ready, c.Wanted, unready(of, name)), show)
		}
	}
}

// unready formats why a Deployment lacks ready pods.
func unready(of *survey.Survey, name string) string {
	if why := of.Cluster.Unready[name]; len(why) > 0 {
		return " (" + strings.TrimSuffix(strings.Join(why, "; "), ".") + ")"
	}
	return ""
}

// rollingOut reports whether a Deployment creates pods of a new version. A rollout that hangs ends after its progress
// deadline.
func rollingOut(d appsv1.Deployment) bool {
	for _, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentProgressing {
			return c.Status == corev1.ConditionTrue && c.Reason != "NewReplicaSetAvailable"
		}
	}
	return false
}

func (s *Status) broker(of *survey.Survey) {
	switch {
	case of.BrokerErr == nil:
	case errors.Is(of.BrokerErr, survey.ErrNotJoined):
		s.Findings.notJoined(of.On)
	default:
		s.Findings.add(Error, "broker", "The broker cannot be read: "+of.BrokerErr.Error(), "If this machine must use a different URL for the broker than the cluster's pods, add --broker-server URL. "+
			"If the agents cannot reach the broker either, imported services keep working, but updates from other clusters are not received.")
	}
}

func (s *Status) dns(of *survey.Survey) {
	dns := of.Cluster.DNS
	if _, installed := of.Cluster.Deployments[render.DNSName]; !installed {
		return
	}
	s.Findings.forwarding(of)
	for _, below := range dns.Below {
		s.Findings.below(below)
	}
}

func (f *Findings) below(zone dnswiring.Below) {
	f.add(Warning, "DNS", sentence(zone.Text), "Remove this configuration from the cluster's DNS, unless it is intended.")
}

// forwarding adds DNS servers that do not forward clusterset.local, or that forward it to other addresses than those of
// atoll-dns.
func (f *Findings) forwarding(of *survey.Survey) {
	if down := of.Cluster.DNS.Down; down != "" {
		_, name, _ := strings.Cut(down, " ")
		namespace, _, _ := strings.Cut(name, "/")
		f.add(Error, "DNS", fmt.Sprintf("No pod of the cluster's DNS is available (%s), so pods cannot resolve any name.", down),
			of.On.Kubectl("get deployments,daemonsets,pods -n %s", namespace))
	}
	if unknown := of.Cluster.DNS.Unknown; len(unknown) > 0 {
		f.add(Warning, "DNS", fmt.Sprintf("Atoll cannot tell whether %s forwards %s to %s, because the effect of one of its plugins, or which Corefile it uses, is unknown.", strings.Join(texts(unknown), ", "), survey.Zone, render.DNSName),
			"To find out in a pod: "+of.On.Atoll("check"))
	}
	if len(unwired(of)) > 0 {
		severity, what := notForwarding(of)
		f.add(severity, "DNS", what, of.On.Atoll("dns install"))
	}
	for _, text := range of.Cluster.DNS.Invalid {
		f.add(Error, "DNS", sentence(text)+" After the next restart of the DNS pods, no pod can resolve names.", "Correct the configuration before the DNS pods restart.")
	}
	for _, text := range of.Cluster.DNS.Suspects {
		f.add(Warning, "DNS", sentence(text), "Correct the configuration before the DNS pods restart.")
	}
	if len(of.Cluster.DNS.Elsewhere) > 0 {
		f.add(Warning, "DNS", sentence(of.Cluster.DNS.ElsewhereText())+" If no atoll-dns answers at the address, pods cannot resolve names of the clusterset.", of.On.Atoll("dns install"))
	}
}

// sentence begins a text with a capital letter and ends it with a period.
func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] + "." }

// notForwarding describes DNS servers of the cluster that do not forward clusterset.local.
func notForwarding(of *survey.Survey) (Severity, string) {
	if len(of.Cluster.DNS.Wired)+len(of.Cluster.DNS.Unknown) == 0 {
		return Error, fmt.Sprintf("This cluster's DNS servers do not forward %s to %s, so pods cannot resolve names of the clusterset.", survey.Zone, render.DNSName)
	}
	return Warning, fmt.Sprintf("Only some of this cluster's DNS servers forward %s to %s. Pods that use %s cannot resolve names of the clusterset.",
		survey.Zone, render.DNSName, strings.Join(texts(unwired(of)), ", "))
}

// unwired returns the DNS servers that could forward clusterset.local to atoll-dns but do not.
func unwired(of *survey.Survey) []dnswiring.Form {
	dns := of.Cluster.DNS
	return slices.DeleteFunc(slices.Clone(dns.Found), func(f dnswiring.Form) bool {
		return slices.Contains(dns.Wired, f) || slices.Contains(dns.Unknown, f)
	})
}

func (s *Status) members(of *survey.Survey) {
	registered := func(m Member) bool { return m.Self }
	if of.Broker != nil && of.ClusterID != "" && !slices.ContainsFunc(s.Members, registered) {
		s.Findings.add(Pending, AboutCluster+of.ClusterID.String(), "The agents have not registered the cluster on the broker yet.",
			"If the registration takes more than a minute, check whether the agents reach the broker at "+of.Server+": "+render.ShowAgentLog(of.On))
	}
	if of.Broker == nil {
		s.unanswered(of)
	}
	for _, m := range s.Members {
		about := AboutCluster + m.Cluster
		switch {
		case m.State == MemberSilent && of.Cluster.Silent[m.Cluster] != "":
			s.Findings.silent(of, m.Cluster)
		case m.State == MemberSilent:
			s.Findings.add(Error, about, fmt.Sprintf("No heartbeat from cluster %s for %s.", m.Cluster, age(*m.HeartbeatSeconds)), "Check the agents of cluster "+m.Cluster+": "+command.Of(m.Cluster).Atoll("status"))
		case m.State == MemberLost:
			s.Findings.lost(of, m.Cluster)
		case m.State == MemberJoining:
			s.Findings.add(Pending, about, fmt.Sprintf("Cluster %s has not sent a heartbeat yet.", m.Cluster), "Check the agents of cluster "+m.Cluster+": "+command.Of(m.Cluster).Atoll("status"))
		}
		if m.Isolation == string(brokerv1alpha1.NotIsolated) && m.State == MemberReady {
			s.Findings.add(Error, about, fmt.Sprintf("The broker does not limit members to their own objects: it accepted a write of cluster %s in the name of another cluster, as a dry run.", m.Cluster),
				"Install the broker's admission policies again: "+command.Broker.Atoll("broker deploy --clusterset %s", of.Clusterset)+". The agent of "+m.Cluster+" tries again within about an hour, or when it is restarted.")
		}
		for _, other := range m.OverBudgetOf {
			s.Findings.add(Warning, about, fmt.Sprintf("Cluster %s exceeds the per-member budget of cluster %s, so some of its changes arrive late or not at all in that cluster.", m.Cluster, other),
				fmt.Sprintf("Export fewer services or endpoints in %s, or raise --member-budget of the agents in %s.", m.Cluster, other))
		}
	}
}

// unanswered reports the members that the agents found silent or lost, if the broker cannot be read.
func (s *Status) unanswered(of *survey.Survey) {
	for _, id := range slices.Sorted(maps.Keys(of.Cluster.Silent)) {
		if of.Cluster.Withdrawn[id] == "" {
			s.Findings.silent(of, id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(of.Cluster.Withdrawn)) {
		s.Findings.lost(of, id)
	}
}

// silent reports a member whose endpoints are on standby.
func (f *Findings) silent(of *survey.Survey, id string) {
	f.add(Error, AboutCluster+id, fmt.Sprintf("Endpoints of cluster %s that answered before have not answered since %s, while its heartbeat was late. They are on standby in this cluster: connections go to endpoints of other clusters, if such endpoints are ready.", id, of.Cluster.Silent[id]),
		"Check the network to cluster "+id+", and its agents: "+command.Of(id).Atoll("status"))
}

// lost reports a member whose endpoints are withdrawn.
func (f *Findings) lost(of *survey.Survey, id string) {
	f.add(Error, AboutCluster+id, fmt.Sprintf("Cluster %s is unreachable. Its endpoints have been withdrawn from this cluster.", id),
		"If the cluster will not come back, remove the cluster and all its exports from the clusterset: "+command.Broker.Atoll("broker members remove %s --clusterset %s", id, of.Clusterset))
}

// age formats seconds as 1h2m3s.
func age(seconds int64) string { return (time.Duration(seconds) * time.Second).String() }

func (s *Status) exports(of *survey.Survey) {
	for _, e := range Exports(of) {
		if e.Cluster != of.ClusterID.String() {
			continue
		}
		s.Exports[e.Status]++
		service := e.Namespace + "/" + e.Name
		next := of.On.Atoll("explain %s", service)
		switch {
		case !slices.ContainsFunc(of.Cluster.Exports, func(have mcsv1beta1.ServiceExport) bool { return have.Namespace == e.Namespace && have.Name == e.Name }):
			// leftovers reports it
		case e.problem == Error:
			s.Findings.add(Error, AboutExport+service, e.Status+": "+e.Message, next)
		case e.problem != "":
			s.Findings.add(e.problem, AboutExport+service, e.Message, next)
		}
	}
}

func (s *Status) imports(of *survey.Survey) {
	for _, i := range Imports(of) {
		s.Imports[i.Status]++
		service := i.Namespace + "/" + i.Name
		next := of.On.Atoll("explain %s", service)
		switch {
		case i.Status == foreign:
			s.Findings.add(Warning, AboutImport+service, i.Message, takeOver(of, i.Namespace, i.Name))
		case i.problem == Error:
			s.Findings.add(Error, AboutImport+service, i.Status+": "+i.Message, next)
		case i.problem != "":
			s.Findings.add(i.problem, AboutImport+service, i.Message, next)
		}
	}
}
