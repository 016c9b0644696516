package check

import (
	"errors"
	"fmt"
	"time"

	"github.com/atoll-mcs/atoll/internal/doctor/report"
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/install/render"
)

const (
	// slow is a latency of the broker that people notice: an export takes a few of them.
	slow = 500 * time.Millisecond
	// apart is by how much clocks may differ until the age of exports, which decides conflicts,
	// is not to be believed; wrong is where credentials are not valid yet, or not any more.
	apart, wrong = 5 * time.Second, time.Minute
	// soon is how long credentials last at least where agents renew them.
	soon = 24 * time.Hour
)

func (j *judge) api() {
	c := j.cluster
	if len(c.Lacks) > 0 {
		j.say(APIVersions, Error, "upgrade the cluster: Atoll needs Kubernetes 1.30 or later", "it does not serve %s", list(c.Lacks))
	} else {
		j.ok(APIVersions, "")
	}
	switch {
	case c.Definitions != nil && c.member():
		j.say(Definitions, Error, "install them again: atoll join FILE"+j.on(), "%v", c.Definitions)
	case c.Definitions != nil:
		j.say(Definitions, Error, "remove what has brought the others, or see atoll join --help about --replace-crds", "%v", c.Definitions)
	default:
		j.ok(Definitions, "")
	}
	switch {
	case c.ReadyNodes == 0:
		j.say(Nodes, Error, "kubectl"+j.on()+" describe nodes", "of %d nodes none is ready and open to pods", c.Nodes)
	default:
		j.ok(Nodes, "%d of %d", c.ReadyNodes, c.Nodes)
	}
}

func (j *judge) rights() {
	c := j.cluster
	switch {
	case c.member() && !j.evidence.Before: // it is installed
	case c.MayInstall != nil:
		j.say(InstallRights, Error, "use a context with the rights of a cluster administrator", "%v", c.MayInstall)
	default:
		j.ok(InstallRights, "")
	}
	if !c.member() {
		return
	}
	again := "install them again: atoll join FILE" + j.on()
	j.account(AgentRights, c.Agent, again)
	j.account(DNSRights, c.DNS, again)
	j.account(BrokerRights, c.OnBroker, "on the broker, as its administrator: atoll broker deploy; atoll broker token create "+c.Name)
}

func (j *judge) account(id ID, rights Rights, hint string) {
	switch {
	case rights.Err != nil:
		j.skip(id, "%v", rights.Err)
	case !rights.Asked:
		j.skip(id, "the broker can't be read from this machine")
	case len(rights.Missing) > 0:
		j.say(id, Error, hint, "it may not %s", list(rights.Missing))
	default:
		j.ok(id, "")
	}
}

func (j *judge) installation() {
	c := j.cluster
	if !c.member() {
		switch {
		case c.Survey != nil && c.Survey.BrokerErr != nil && !errors.Is(c.Survey.BrokerErr, survey.ErrNotJoined):
			j.skip(Membership, "%v", c.Survey.BrokerErr)
		case !j.evidence.Before:
			j.say(Membership, Error, "get a join file from the broker's administrator (atoll broker token create), and run: atoll join FILE"+j.on()+". Before that, atoll check --pre says whether it can", "it is none")
		}
		return
	}
	j.ok(Membership, "%s in %s", c.Survey.ClusterID, c.Survey.Clusterset)
	status := report.NewStatus(c.Survey)
	j.runs(AgentRuns, status, render.AgentName)
	j.runs(DNSRuns, status, render.DNSName)
	j.credentials()
	j.heartbeat(status)
}

func (j *judge) runs(id ID, status report.Status, name string) {
	for _, f := range status.Findings {
		if f.About != name {
			continue
		}
		severity := Warning
		if f.Severity == report.Error {
			severity = Error
		}
		if name == render.DNSName && j.cluster.Stock != nil {
			severity = OK // nobody asks it
		}
		j.say(id, severity, f.Do, "%s", f.Message)
		return
	}
	for _, component := range status.Components {
		if component.Name == name {
			j.ok(id, "%d of %d pods, %s", component.Ready, component.Wanted, component.Image)
			return
		}
	}
	j.skip(id, "there is no Deployment to be seen")
}

func (j *judge) credentials() {
	s := j.cluster.Survey
	switch left := time.Until(s.Expires); {
	case s.Expires.IsZero():
		j.skip(Credentials, "they can't be read")
	case left <= 0:
		j.say(Credentials, Error, "get a new join file from the broker's administrator (atoll broker token create "+s.ClusterID.String()+"), and run: atoll join FILE"+j.on(), "they expired %s ago", round(-left))
	case left < soon:
		j.say(Credentials, Warning, "the agents renew them as long as they reach the broker: kubectl"+j.on()+" -n atoll-system logs deployment/atoll-agent", "they expire in %s, and were not renewed", round(left))
	default:
		j.ok(Credentials, "good for %s", round(left))
	}
}

func round(d time.Duration) time.Duration {
	if d > time.Hour {
		return d.Round(time.Hour)
	}
	return d.Round(time.Second)
}

func (j *judge) heartbeat(status report.Status) {
	if j.cluster.Survey.Broker == nil {
		j.skip(Heartbeat, "the broker can't be read from this machine")
		return
	}
	logs := "kubectl" + j.on() + " -n atoll-system logs deployment/atoll-agent"
	for _, m := range status.Members {
		switch {
		case !m.Self:
		case m.State == report.MemberReady:
			j.ok(Heartbeat, "%d s old", *m.HeartbeatSeconds)
			return
		case m.HeartbeatSeconds != nil:
			j.say(Heartbeat, Error, logs, "it is %d s old", *m.HeartbeatSeconds)
			return
		}
	}
	j.say(Heartbeat, Error, logs, "the broker has none")
}

func (j *judge) broker() {
	c := j.cluster
	if c.Broker == "" {
		j.skip(BrokerReached, "which broker? give the join file with --join-file")
		return
	}
	if c.member() {
		j.brokerHere()
	}
	if c.Seen == nil {
		j.skip(BrokerReached, "nothing could be run in the cluster, see %s", PodsRun)
		return
	}
	for _, s := range c.Seen.Servers {
		if s.Status == 0 {
			j.say(BrokerReached, Error, "let pods connect to it: routes, firewalls, NetworkPolicies of egress. If the broker has another address for them, make a join file with it: atoll broker token create "+c.Name+" --server URL", "%s", s.Error)
			return
		}
		j.ok(BrokerReached, "%s", s.URL)
		took := time.Duration(s.Milliseconds * float64(time.Millisecond))
		switch {
		case took > slow:
			j.say(BrokerLatency, Warning, "everything works, and changes take some of this time to come: a broker that is nearer, or less busy, would help", "%s for a small request", took.Round(time.Millisecond))
		default:
			j.ok(BrokerLatency, "%.1f ms", s.Milliseconds)
		}
		j.clock(BrokerClock, time.Duration(s.Ahead*float64(time.Second)), "the broker's", "this cluster's nodes'")
	}
}

func (j *judge) brokerHere() {
	switch s := j.cluster.Survey; {
	case s.Broker != nil:
		j.ok(BrokerHere, "%d ms", s.Broker.RoundTrip.Milliseconds())
	default:
		j.say(BrokerHere, Warning, "if only the cluster's pods reach it at that address, give the one for this machine with --broker-server URL; without, atoll's commands see less", "%v", s.BrokerErr)
	}
}

// clock judges by how much one clock is ahead of another.
func (j *judge) clock(id ID, ahead time.Duration, whose, than string) {
	status, hint, message := clocks(ahead, whose, than)
	j.say(id, status, hint, "%s", message)
}

func clocks(ahead time.Duration, whose, than string) (status Status, hint, message string) {
	by, word := ahead, "ahead of"
	if ahead < 0 {
		by, word = -ahead, "behind"
	}
	message = fmt.Sprintf("%s clock is %s %s %s", whose, by.Round(time.Second), word, than)
	const ntp = "have the machines' clocks set by NTP"
	switch {
	case by > wrong:
		return Error, ntp + ": credentials and certificates are refused as not valid yet, or any more", message
	case by > apart:
		return Warning, ntp + ": of exports that disagree, the oldest wins, and how old they are is by their clusters' clocks", message
	}
	return OK, "", ""
}
