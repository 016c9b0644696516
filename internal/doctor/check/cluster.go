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

func (ch *checker) api() {
	c := ch.cluster
	if len(c.Lacks) > 0 {
		ch.say(APIVersions, Error, "upgrade the cluster: Atoll needs Kubernetes 1.30 or later", "it does not serve %s", list(c.Lacks))
	} else {
		ch.ok(APIVersions, "")
	}
	switch {
	case c.Definitions != nil && c.member():
		ch.say(Definitions, Error, "install them again: atoll join FILE"+ch.on(), "%v", c.Definitions)
	case c.Definitions != nil:
		ch.say(Definitions, Error, "remove what has brought the others, or see atoll join --help about --replace-crds", "%v", c.Definitions)
	default:
		ch.ok(Definitions, "")
	}
	switch {
	case c.ReadyNodes == 0:
		ch.say(Nodes, Error, "kubectl"+ch.on()+" describe nodes", "of %d nodes none is ready and open to pods", c.Nodes)
	default:
		ch.ok(Nodes, "%d of %d", c.ReadyNodes, c.Nodes)
	}
}

func (ch *checker) rights() {
	c := ch.cluster
	switch {
	case c.member() && !ch.evidence.Before: // it is installed
	case c.MayInstall != nil:
		ch.say(InstallRights, Error, "use a context with the rights of a cluster administrator", "%v", c.MayInstall)
	default:
		ch.ok(InstallRights, "")
	}
	if !c.member() {
		return
	}
	again := "install them again: atoll join FILE" + ch.on()
	ch.account(AgentRights, c.Agent, again)
	ch.account(DNSRights, c.DNS, again)
	ch.account(BrokerRights, c.OnBroker, "on the broker, as its administrator: atoll broker deploy; atoll broker token create "+c.Name)
}

func (ch *checker) account(id ID, rights Rights, hint string) {
	switch {
	case rights.Err != nil:
		ch.skip(id, "%v", rights.Err)
	case !rights.Asked:
		ch.skip(id, "the broker can't be read from this machine")
	case len(rights.Missing) > 0:
		ch.say(id, Error, hint, "it may not %s", list(rights.Missing))
	default:
		ch.ok(id, "")
	}
}

func (ch *checker) installation() {
	c := ch.cluster
	if !c.member() {
		switch {
		case c.Survey != nil && c.Survey.BrokerErr != nil && !errors.Is(c.Survey.BrokerErr, survey.ErrNotJoined):
			ch.skip(Membership, "%v", c.Survey.BrokerErr)
		case !ch.evidence.Before:
			ch.say(Membership, Error, "get a join file from the broker's administrator (atoll broker token create), and run: atoll join FILE"+ch.on()+". Before that, atoll check --pre says whether it can", "it is none")
		}
		return
	}
	ch.ok(Membership, "%s in %s", c.Survey.ClusterID, c.Survey.Clusterset)
	status := report.NewStatus(c.Survey)
	ch.runs(AgentRuns, status, render.AgentName)
	ch.runs(DNSRuns, status, render.DNSName)
	ch.credentials()
	ch.heartbeat(status)
}

func (ch *checker) runs(id ID, status report.Status, name string) {
	for _, f := range status.Findings {
		if f.About != name {
			continue
		}
		severity := Warning
		if f.Severity == report.Error {
			severity = Error
		}
		if name == render.DNSName && ch.cluster.Stock != nil {
			severity = OK // nobody asks it
		}
		ch.say(id, severity, f.Do, "%s", f.Message)
		return
	}
	for _, component := range status.Components {
		if component.Name == name {
			ch.ok(id, "%d of %d pods, %s", component.Ready, component.Wanted, component.Image)
			return
		}
	}
	ch.skip(id, "there is no Deployment to be seen")
}

func (ch *checker) credentials() {
	s := ch.cluster.Survey
	switch left := time.Until(s.Expires); {
	case s.Expires.IsZero():
		ch.skip(Credentials, "they can't be read")
	case left <= 0:
		ch.say(Credentials, Error, "get a new join file from the broker's administrator (atoll broker token create "+s.ClusterID.String()+"), and run: atoll join FILE"+ch.on(), "they expired %s ago", round(-left))
	case left < soon:
		ch.say(Credentials, Warning, "the agents renew them as long as they reach the broker: kubectl"+ch.on()+" -n atoll-system logs deployment/atoll-agent", "they expire in %s, and were not renewed", round(left))
	default:
		ch.ok(Credentials, "good for %s", round(left))
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
		ch.skip(Heartbeat, "the broker can't be read from this machine")
		return
	}
	logs := "kubectl" + ch.on() + " -n atoll-system logs deployment/atoll-agent"
	for _, m := range status.Members {
		switch {
		case !m.Self:
		case m.State == report.MemberReady:
			ch.ok(Heartbeat, "%d s old", *m.HeartbeatSeconds)
			return
		case m.HeartbeatSeconds != nil:
			ch.say(Heartbeat, Error, logs, "it is %d s old", *m.HeartbeatSeconds)
			return
		}
	}
	ch.say(Heartbeat, Error, logs, "the broker has none")
}

func (ch *checker) broker() {
	c := ch.cluster
	if c.Broker == "" {
		ch.skip(BrokerReached, "which broker? give the join file with --join-file")
		return
	}
	if c.member() {
		ch.brokerHere()
	}
	if c.Seen == nil {
		ch.skip(BrokerReached, "nothing could be run in the cluster, see %s", PodsRun)
		return
	}
	for _, s := range c.Seen.Servers {
		if s.Status == 0 {
			ch.say(BrokerReached, Error, "let pods connect to it: routes, firewalls, NetworkPolicies of egress. If the broker has another address for them, make a join file with it: atoll broker token create "+c.Name+" --server URL", "%s", s.Error)
			return
		}
		ch.ok(BrokerReached, "%s", s.URL)
		took := time.Duration(s.Milliseconds * float64(time.Millisecond))
		switch {
		case took > slow:
			ch.say(BrokerLatency, Warning, "everything works, and changes take some of this time to come: a broker that is nearer, or less busy, would help", "%s for a small request", took.Round(time.Millisecond))
		default:
			ch.ok(BrokerLatency, "%.1f ms", s.Milliseconds)
		}
		ch.clock(BrokerClock, time.Duration(s.Ahead*float64(time.Second)), "the broker's", "this cluster's nodes'")
	}
}

func (ch *checker) brokerHere() {
	switch s := ch.cluster.Survey; {
	case s.Broker != nil:
		ch.ok(BrokerHere, "%d ms", s.Broker.RoundTrip.Milliseconds())
	default:
		ch.say(BrokerHere, Warning, "if only the cluster's pods reach it at that address, give the one for this machine with --broker-server URL; without, atoll's commands see less", "%v", s.BrokerErr)
	}
}

// clock compares clocks: by how much one clock is ahead of another.
func (ch *checker) clock(id ID, ahead time.Duration, whose, than string) {
	status, hint, message := clocks(ahead, whose, than)
	ch.say(id, status, hint, "%s", message)
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
