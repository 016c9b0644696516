package check

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	aboutv1beta1 "github.com/atoll-mcs/atoll/api/about/v1beta1"
	"github.com/atoll-mcs/atoll/internal/doctor/report"
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/install/render"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
)

const (
	// slow is a noticeable latency of the broker, because an export needs several requests.
	slow = 500 * time.Millisecond
	// apart is the clock difference above which the age of exports, which decides conflicts, is unreliable. Above
	// wrong, credentials may be not valid yet or expired.
	apart, wrong = 5 * time.Second, time.Minute
	// soon is the minimum remaining lifetime of credentials that agents renew, of those with a lifetime of at least two days. Agents
	// renew them long before half of their lifetime.
	soon = 24 * time.Hour
)

func (ch *checker) api() {
	c := ch.cluster
	if len(c.Lacks) > 0 {
		ch.say(APIVersions, Error, "Upgrade the cluster: Atoll needs Kubernetes 1.30 or later.", "the API server does not serve %s", list(c.Lacks))
	} else {
		ch.ok(APIVersions, "")
	}
	switch {
	case c.Definitions != nil && c.member():
		ch.say(Definitions, Error, "Install the CustomResourceDefinitions again: "+c.On.Atoll("join FILE"), "%v", c.Definitions)
	case c.Definitions != nil:
		ch.say(Definitions, Error, "Remove the product that installed the conflicting CustomResourceDefinitions. Or replace the CustomResourceDefinitions, which keeps their objects: "+c.On.Atoll("join FILE --replace-crds"), "%v", c.Definitions)
	default:
		ch.ok(Definitions, "")
	}
	switch {
	case c.ReadyNodes == 0:
		ch.say(Nodes, Error, c.On.Kubectl("describe nodes"), "none of the %d nodes is ready and schedulable", c.Nodes)
	default:
		ch.ok(Nodes, "%d of %d nodes", c.ReadyNodes, c.Nodes)
	}
}

func (ch *checker) rights() {
	c := ch.cluster
	switch {
	case c.member() && !ch.evidence.Before: // already installed
	case c.MayInstall != nil:
		ch.say(InstallRights, Error, "Use a context with the permissions of a cluster administrator.", "%v", c.MayInstall)
	default:
		ch.ok(InstallRights, "")
	}
	if !c.member() {
		return
	}
	again := "Install the permissions again: " + c.On.Atoll("join FILE")
	ch.account(AgentRights, c.Agent, again)
	ch.account(DNSRights, c.DNS, again)
	ch.account(BrokerRights, c.OnBroker, "Install the member's permissions on the broker again: "+command.Broker.Atoll("broker deploy --clusterset %s", c.Survey.Clusterset)+". Then create a join file, and join the cluster again: "+command.Broker.Atoll("broker token create %s --clusterset %s --replace", c.Survey.ClusterID, c.Survey.Clusterset))
}

func (ch *checker) account(about Check, rights Rights, hint string) {
	switch {
	case rights.Err != nil:
		ch.skip(about, "%v", rights.Err)
	case !rights.Checked:
		ch.skip(about, "this machine cannot read the broker")
	case len(rights.Missing) > 0:
		ch.say(about, Error, hint, "missing permissions: %s", list(rights.Missing))
	default:
		ch.ok(about, "")
	}
}

func (ch *checker) installation() {
	c := ch.cluster
	if !c.member() {
		switch {
		case c.Survey != nil && c.Survey.BrokerErr != nil && !errors.Is(c.Survey.BrokerErr, survey.ErrNotJoined):
			ch.skip(Membership, "%v", c.Survey.BrokerErr)
		case !ch.evidence.Before:
			ch.say(Membership, Error, "Get a join file from the broker's administrator. Check the cluster: "+c.On.Atoll("check --pre")+". Then join the clusterset: "+c.On.Atoll("join FILE"), "the cluster is not a member of a clusterset")
		}
		return
	}
	ch.ok(Membership, "cluster %s in clusterset %s", c.Survey.ClusterID, c.Survey.Clusterset)
	status := report.NewStatus(c.Survey)
	ch.runs(AgentRuns, status, render.AgentName)
	ch.runs(DNSRuns, status, render.DNSName)
	ch.credentials()
	ch.heartbeat(status)
	ch.objects(Exports, status, report.AboutExport, len(c.Survey.Cluster.Exports), c.Survey.Unread...)
	ch.objects(Imports, status, report.AboutImport, len(c.Survey.Cluster.Imports), c.Survey.Unread...)
	ch.objects(ForeignSlices, status, report.AboutEndpoints, -1, c.Survey.Unread...)
	ch.properties()
	ch.members(status)
}

// members checks the other members. Without their heartbeats, imported endpoints may be outdated.
func (ch *checker) members(status report.Status) {
	if ch.cluster.Survey.Broker == nil {
		ch.skip(Members, "this machine cannot read the broker")
		return
	}
	own := report.AboutCluster + ch.cluster.Survey.ClusterID.String()
	status.Findings = slices.DeleteFunc(slices.Clone(status.Findings), func(f report.Finding) bool { return f.About == own })
	ch.objects(Members, status, report.AboutCluster, -1)
}

// objects checks that no object of a kind has a finding. It shows the worst and the number of others. count is the number of
// objects, or -1; unread are errors because of which objects may be missing.
func (ch *checker) objects(about Check, status report.Status, kind string, count int, unread ...error) {
	var found report.Findings
	for _, f := range status.Findings { // the worst first
		if strings.HasPrefix(f.About, kind) {
			found = append(found, f)
		}
	}
	switch {
	case len(found) > 0:
		severity, more := Warning, ""
		if found[0].Severity == report.Error {
			severity = Error
		}
		if len(found) > 1 {
			more = fmt.Sprintf(" (%d more: %s)", len(found)-1, ch.cluster.On.Atoll("status"))
		}
		ch.say(about, severity, found[0].Do, "%s: %s%s", found[0].About, found[0].Message, more)
	case len(unread) > 0:
		ch.skip(about, "%v", errors.Join(unread...))
	case count >= 0:
		ch.ok(about, "%d %ss", count, strings.TrimSpace(kind))
	default:
		ch.ok(about, "")
	}
}

// properties checks the ClusterProperties, by which other programs know the cluster. Atoll reads its own Secret.
func (ch *checker) properties() {
	s := ch.cluster.Survey
	var wrong []string
	hint := ""
	for _, p := range []struct{ name, want string }{{aboutv1beta1.ClusterIDProperty, s.ClusterID.String()}, {aboutv1beta1.ClustersetProperty, s.Clusterset}} {
		switch value, exists := s.Cluster.Properties[p.name]; {
		case !exists:
			wrong = append(wrong, fmt.Sprintf("ClusterProperty %s does not exist", p.name))
			hint = "Create the ClusterProperties again, with any join file of this cluster: " + ch.cluster.On.Atoll("join FILE")
		case value != p.want:
			wrong = append(wrong, fmt.Sprintf("ClusterProperty %s is %q, but the cluster joined as %q", p.name, value, p.want))
			if hint == "" {
				hint = ch.cluster.On.Kubectl(`patch clusterproperty %s --type merge -p '{"spec":{"value":"%s"}}'`, p.name, p.want)
			}
		}
	}
	if len(wrong) > 0 {
		ch.say(Properties, Warning, hint, "%s. Atoll works, but other programs cannot read the cluster's id", strings.Join(wrong, "; "))
		return
	}
	ch.ok(Properties, "")
}

func (ch *checker) runs(about Check, status report.Status, name string) {
	for _, f := range status.Findings {
		if f.About != name {
			continue
		}
		severity := Warning
		if f.Severity == report.Error {
			severity = Error
		}
		if name == render.DNSName && ch.cluster.Stock != nil {
			severity = OK // CoreDNS does not forward to atoll-dns
		}
		ch.say(about, severity, f.Do, "%s", f.Message)
		return
	}
	for _, component := range status.Components {
		if component.Name == name {
			ch.ok(about, "%d of %d pods ready, image %s", component.Ready, component.Wanted, component.Image)
			return
		}
	}
	ch.skip(about, "no Deployment was found")
}

func (ch *checker) credentials() {
	s := ch.cluster.Survey
	switch left := time.Until(s.Expires); {
	case s.Expires.IsZero():
		ch.skip(Credentials, "the credentials cannot be read")
	case left <= 0:
		ch.say(Credentials, Error, "Create a new join file: "+command.Broker.Atoll("broker token create %s --clusterset %s", s.ClusterID, s.Clusterset)+". Then join the cluster again: "+ch.cluster.On.Atoll("join FILE"), "the credentials expired %s ago", round(-left))
	case left < min(soon, s.Lifetime/2):
		ch.say(Credentials, Warning, "The agents renew the credentials as long as they reach the broker. Look at the agents' log: "+render.ShowAgentLog(ch.cluster.On), "the credentials expire in %s, and the agents have not renewed them", round(left))
	default:
		ch.ok(Credentials, "valid for %s", round(left))
	}
}

func round(d time.Duration) time.Duration {
	if d > time.Hour {
		return d.Round(time.Hour)
	}
	return d.Round(time.Second)
}

func (ch *checker) heartbeat(status report.Status) {
	if ch.cluster.Survey.Broker == nil {
		ch.skip(Heartbeat, "this machine cannot read the broker")
		return
	}
	logs := "Look at the agents' log: " + render.ShowAgentLog(ch.cluster.On)
	for _, m := range status.Members {
		switch {
		case !m.Self:
		case m.State == report.MemberReady:
			ch.ok(Heartbeat, "the last heartbeat is %d s old", *m.HeartbeatSeconds)
			return
		case m.HeartbeatSeconds != nil:
			ch.say(Heartbeat, Error, logs, "the last heartbeat is %d s old", *m.HeartbeatSeconds)
			return
		}
	}
	ch.say(Heartbeat, Error, logs, "the broker has no heartbeat of the cluster")
}

func (ch *checker) broker() {
	c := ch.cluster
	if c.Broker == "" {
		ch.skip(BrokerReached, "the broker is unknown: add --join-file")
		return
	}
	if c.member() {
		ch.brokerHere()
	}
	if c.Seen == nil {
		ch.skip(BrokerReached, "no test pod could run in the cluster: see check %s", PodsRun)
		return
	}
	for _, s := range c.Seen.Servers {
		if s.Status == 0 {
			ch.say(BrokerReached, Error, "Let pods connect to the broker: check routes, firewalls and egress NetworkPolicies. If pods must use a different URL for the broker, create a join file with that URL: "+command.Broker.Atoll("broker token create %s --replace --server URL", c.Name), "%s", s.Error)
			return
		}
		ch.ok(BrokerReached, "%s", s.URL)
		took := time.Duration(s.Milliseconds * float64(time.Millisecond))
		switch {
		case took > slow:
			ch.say(BrokerLatency, Warning, "Atoll works, but each change needs several requests to the broker, so changes arrive late. Use a broker that is closer or has less load.", "a small request to the broker takes %s", took.Round(time.Millisecond))
		default:
			ch.ok(BrokerLatency, "response time %.1f ms", s.Milliseconds)
		}
		ch.clock(BrokerClock, time.Duration(s.Ahead*float64(time.Second)), "the broker", "this cluster's nodes")
	}
}

func (ch *checker) brokerHere() {
	switch s := ch.cluster.Survey; {
	case s.Broker != nil:
		ch.ok(BrokerHere, "response time %d ms", s.Broker.RoundTrip.Milliseconds())
	default:
		ch.say(BrokerHere, Warning, "If this machine must use a different URL for the broker than the cluster's pods, add --broker-server URL. Without access to the broker, other commands show only data from this cluster.", "%v", s.BrokerErr)
	}
}

// clustersets checks that the broker limits the members of its clustersets.
func (ch *checker) clustersets() {
	for _, s := range ch.cluster.Clustersets {
		switch {
		case s.Err != nil:
			ch.skip(Limits, "clusterset %s was not checked: %v", s.Name, s.Err)
		case len(s.Problems) > 0:
			ch.say(Limits, Error, "Deploy the broker again: "+ch.cluster.On.Atoll("broker deploy --clusterset %s", s.Name),
				"clusterset %s: %s. Members could change each other's exports", s.Name, strings.Join(s.Problems, "; "))
		default:
			ch.ok(Limits, "clusterset %s", s.Name)
		}
	}
}

// clock reports how far one clock is ahead of another.
func (ch *checker) clock(about Check, ahead time.Duration, whose, than string) {
	status, hint, message := clocks(ahead, whose, than)
	ch.say(about, status, hint, "%s", message)
}

func clocks(ahead time.Duration, whose, than string) (status Status, hint, message string) {
	by, word := ahead, "ahead of"
	if ahead < 0 {
		by, word = -ahead, "behind"
	}
	message = fmt.Sprintf("the clock of %s is %s %s the clock of %s", whose, by.Round(time.Second), word, than)
	const ntp = "Synchronize the machines' clocks with NTP."
	switch {
	case by > wrong:
		return Error, ntp + " Otherwise, servers refuse credentials and certificates as expired or not yet valid.", message
	case by > apart:
		return Warning, ntp + " The oldest export wins a conflict. Its age comes from the exporting cluster's own clock, so clock skew can make the wrong export win.", message
	}
	return OK, "", ""
}
