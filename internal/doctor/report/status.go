package report

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/ptr"

	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/install/dnswiring"
	"github.com/atoll-mcs/atoll/internal/install/render"
)

// Status is what state everything is in, as one cluster sees it.
type Status struct {
	Cluster    string `json:"cluster,omitempty"`
	Clusterset string `json:"clusterset,omitempty"`
	// Broker is its URL.
	Broker string `json:"broker,omitempty"`
	// BrokerMilliseconds is how long it took for one small request; absent where it can't be reached.
	BrokerMilliseconds *int64      `json:"brokerMilliseconds,omitempty"`
	Components         []Component `json:"components"`
	// DNS are the places where the cluster's own DNS is told to ask atoll-dns.
	DNS     []string `json:"dns,omitempty"`
	Members []Member `json:"members,omitempty"`
	// Exports are the asked cluster's own, Imports what it imports, by their status.
	Exports map[string]int `json:"exports"`
	Imports map[string]int `json:"imports"`
	// Findings are what is not as it should be, the worst first.
	Findings Findings `json:"findings,omitempty"`
}

// Component is a program of Atoll in the asked cluster.
type Component struct {
	Name   string `json:"name"`
	Ready  int32  `json:"ready"`
	Wanted int32  `json:"wanted"`
	Image  string `json:"image,omitempty"`
}

// Failed tells whether there is an error among the findings.
func (s Status) Failed() bool {
	return slices.ContainsFunc(s.Findings, func(f Finding) bool { return f.Severity == Error })
}

// Awaited are the findings that waiting may end: what fails, or is not done yet.
func (s Status) Awaited() []Finding {
	return slices.DeleteFunc(slices.Clone(s.Findings), func(f Finding) bool { return f.Severity != Error && f.Severity != Pending })
}

// NewStatus says what a survey with Scope.Installation means.
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
				s.Findings.add(Warning, name, "there is no Deployment of this name in namespace atoll-system", "if it is not run in another way, install it: atoll join FILE")
			}
			continue
		}
		c := Component{Name: name, Ready: d.Status.ReadyReplicas, Wanted: ptr.Deref(d.Spec.Replicas, 1), Image: image(d)}
		s.Components = append(s.Components, c)
		switch logs := "kubectl -n atoll-system describe pods -l app.kubernetes.io/name=" + name; {
		case c.Wanted == 0:
			s.Findings.add(Error, name, "it is scaled to nothing", "kubectl -n atoll-system scale deployment "+name+" --replicas=2")
		case c.Ready == 0:
			s.Findings.add(Error, name, "none of its pods is ready", logs)
		case c.Ready < c.Wanted:
			s.Findings.add(Warning, name, fmt.Sprintf("%d of %d pods are ready", c.Ready, c.Wanted), logs)
		}
	}
}

func image(d appsv1.Deployment) string {
	if containers := d.Spec.Template.Spec.Containers; len(containers) > 0 {
		return containers[0].Image
	}
	return ""
}

func (s *Status) broker(of *survey.Survey) {
	switch {
	case of.BrokerErr == nil:
	case errors.Is(of.BrokerErr, survey.ErrNotJoined):
		s.Findings.notJoined()
	default:
		s.Findings.add(Error, "broker", of.BrokerErr.Error(),
			"what is imported goes on working; changes of other clusters do not come. If only the cluster's pods reach the broker at that address, give the one for this machine with --broker-server URL")
	}
}

func (s *Status) dns(of *survey.Survey) {
	missing := unwired(of)
	if _, installed := of.Cluster.Deployments[render.DNSName]; !installed || len(missing) == 0 {
		return
	}
	severity, what := Warning, "only a part of the cluster's DNS asks atoll-dns"
	if len(of.Cluster.DNS.Wired) == 0 {
		severity, what = Error, "the cluster's own DNS does not ask atoll-dns"
	}
	s.Findings.add(severity, "DNS", fmt.Sprintf("%s: names of %s are not found by way of %s", what, survey.Zone, strings.Join(texts(missing), ", ")), "atoll dns install")
}

// unwired are the places where the cluster's own DNS could be told to ask atoll-dns, and is not.
func unwired(of *survey.Survey) []dnswiring.Form {
	dns := of.Cluster.DNS
	return slices.DeleteFunc(slices.Clone(dns.Found), func(f dnswiring.Form) bool { return slices.Contains(dns.Wired, f) })
}

func (s *Status) members(of *survey.Survey) {
	registered := func(m Member) bool { return m.Self }
	if of.Broker != nil && of.ClusterID != "" && !slices.ContainsFunc(s.Members, registered) {
		s.Findings.add(Pending, "cluster "+of.ClusterID.String(), "its agents have not registered it on the broker yet",
			"if that lasts, see whether its pods reach the broker at "+of.Server+": kubectl -n atoll-system logs deployment/"+render.AgentName)
	}
	for _, m := range s.Members {
		about := "cluster " + m.Cluster
		switch m.State {
		case MemberSilent:
			s.Findings.add(Error, about, "nothing has been heard of it for "+age(*m.HeartbeatSeconds), "look at its agents, in that cluster: atoll status")
		case MemberLost:
			s.Findings.add(Error, about, "nothing answers there: its endpoints are withdrawn here", "if it is gone for good, on the broker: atoll broker remove "+m.Cluster)
		case MemberJoining:
			s.Findings.add(Pending, about, "it has not sent a heartbeat yet", "look at its agents, in that cluster: atoll status")
		}
		for _, other := range m.OverBudgetOf {
			s.Findings.add(Warning, about, fmt.Sprintf("%s publishes more EndpointSlices than %s holds of one member, or changes more than it writes in time: some of it arrives late there", m.Cluster, other),
				"export less in "+m.Cluster+", or raise --member-budget in "+other)
		}
	}
}

// age writes a number of seconds as people say it.
func age(seconds int64) string { return (time.Duration(seconds) * time.Second).String() }

func (s *Status) exports(of *survey.Survey) {
	for _, e := range Exports(of) {
		if e.Cluster != of.ClusterID.String() {
			continue
		}
		s.Exports[e.Status]++
		service := e.Namespace + "/" + e.Name
		next := "atoll explain " + service
		switch severity, wrong := e.severity(); {
		case e.Status == published: // its ServiceExport is gone, and the agents are about to take it back
			s.Findings.add(Pending, "export "+service, "it is still on the broker although there is no ServiceExport", next)
		case severity == Error:
			s.Findings.add(Error, "export "+service, e.Status+": "+e.Message, next)
		case wrong:
			s.Findings.add(severity, "export "+service, e.Message, next)
		}
	}
}

func (s *Status) imports(of *survey.Survey) {
	for _, i := range Imports(of) {
		s.Imports[i.Status]++
		service := i.Namespace + "/" + i.Name
		next := "atoll explain " + service
		switch severity, wrong := i.severity(); {
		case i.Status == foreign:
			s.Findings.add(Warning, "import "+service, i.Message, "delete it, or hand it over to Atoll (docs/migration.md), to have the service imported, if other clusters export it")
		case severity == Error:
			s.Findings.add(Error, "import "+service, i.Status+": "+i.Message, next)
		case wrong:
			s.Findings.add(severity, "import "+service, i.Message, next)
		}
	}
}
