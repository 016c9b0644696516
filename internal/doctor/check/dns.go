package check

import (
	"fmt"
	"slices"

	"github.com/atoll-mcs/atoll/internal/doctor/probe"
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/install/dnswiring"
)

// dns follows a question from a pod's resolv.conf to the answer.
func (ch *checker) dns() {
	c := ch.cluster
	if c.Stock != nil {
		ch.stock()
	}
	if c.Seen == nil {
		ch.skip(OwnDNS, "nothing could be run in the cluster, see %s", PodsRun)
	} else {
		ch.ownDNS()
	}
	if !c.member() {
		return
	}
	ch.wiring()
	if c.Seen == nil {
		ch.skip(Names, "nothing could be run in the cluster, see %s", PodsRun)
		return
	}
	if c.Stock == nil {
		ch.atollDNS()
	}
	ch.names()
}

func (ch *checker) ownDNS() {
	c := ch.cluster
	answers := append(c.answers(ownName, "A"), c.answers(ownName, "AAAA")...)
	if !answered(answers) {
		ch.say(OwnDNS, Error, "the cluster's own DNS is broken, or pods may not reach it: kubectl"+ch.on()+" -n kube-system get pods,endpointslices -l k8s-app=kube-dns",
			"%s is not found by way of %s: %s", ownName, list(c.Seen.Resolvers), answerError(answers))
		return
	}
	ch.ok(OwnDNS, "by way of %s", list(c.Seen.Resolvers))
}

// wiring is about what the cluster's DNS is configured to do.
func (ch *checker) wiring() {
	c := ch.cluster
	if c.Stock != nil {
		ch.ok(Wiring, "CoreDNS answers by itself, see %s", StockCoreDNS)
		return
	}
	dns := c.Survey.Cluster.DNS
	wired := func(f dnswiring.Form) bool { return slices.Contains(dns.Wired, f) }
	var missing []string
	for _, f := range dns.Found {
		if f != dnswiring.NodeLocal && !wired(f) {
			missing = append(missing, string(f))
		}
	}
	switch {
	case len(dns.Found) == 0:
		ch.skip(Wiring, "it is of no kind that atoll knows: have it ask %s for %s", list(c.AtollDNS), survey.Zone)
	case len(missing) > 0:
		ch.say(Wiring, Error, "atoll dns install"+ch.on(), "it is not told to ask atoll-dns: %s", list(missing))
	default:
		ch.ok(Wiring, "by way of %s", forms(dns.Wired))
	}
	switch {
	case !c.NodeLocal:
	case slices.Contains(dns.Found, dnswiring.NodeLocal) && !wired(dnswiring.NodeLocal):
		ch.say(NodeLocal, Error, "atoll dns install"+ch.on(), "it is not told to ask atoll-dns, and asks the cluster's DNS for the cluster's own names alone: pods on nodes with it find no name of the clusterset")
	default:
		ch.ok(NodeLocal, "")
	}
}

func forms(of []dnswiring.Form) string {
	texts := make([]string, len(of))
	for i, f := range of {
		texts[i] = string(f)
	}
	return list(texts)
}

// atollDNS is about the server itself.
func (ch *checker) atollDNS() {
	c := ch.cluster
	if len(c.AtollDNS) == 0 {
		ch.say(ClustersetDNS, Error, "install it: atoll join FILE"+ch.on(), "it has no Service")
		return
	}
	answers := c.answers(versionName, "TXT", c.AtollDNS...)
	if !answered(answers) {
		ch.say(ClustersetDNS, Error, "kubectl"+ch.on()+" -n atoll-system describe pods -l app.kubernetes.io/name=atoll-dns", "it does not answer at %s: %s", list(c.AtollDNS), answerError(answers))
		return
	}
	ch.ok(ClustersetDNS, "at %s, %.1f ms", list(c.AtollDNS), answers[0].Milliseconds)
}

// names is about the answer in the end, and says where on the way the question is lost.
func (ch *checker) names() {
	c := ch.cluster
	if answers := c.answers(versionName, "TXT"); answered(answers) {
		ch.ok(Names, "%s is answered", versionName)
		return
	}
	where, hint := ch.lost()
	ch.say(Names, Error, hint, "%s", where)
}

// lost finds the server that has no answer although the next one has.
func (ch *checker) lost() (where, hint string) {
	c := ch.cluster
	own := c.answers(versionName, "TXT", c.Seen.Resolvers...)
	cluster := c.answers(versionName, "TXT", c.ClusterDNS...)
	pods := fmt.Sprintf("pods ask %s", list(c.Seen.Resolvers))
	switch {
	case c.Stock == nil && len(c.AtollDNS) > 0 && !answered(c.answers(versionName, "TXT", c.AtollDNS...)):
		return "atoll-dns itself does not answer", "see " + string(ClustersetDNS)
	case len(cluster) > 0 && !answered(cluster):
		return fmt.Sprintf("%s; the cluster's DNS at %s does not pass it on: %s", pods, list(c.ClusterDNS), answerError(cluster)),
			"see " + string(Wiring) + "; a cluster's DNS takes up to a minute to notice a change of its configuration"
	case answered(cluster) && !answered(own):
		return fmt.Sprintf("the cluster's DNS at %s has the answer, but %s, which has not: %s", list(c.ClusterDNS), pods, answerError(own)),
			"what pods ask is something else, as NodeLocal DNSCache: see " + string(NodeLocal)
	}
	return pods + ": " + answerError(append(own, c.answers(versionName, "TXT")...)), "ask by hand, in a pod: nslookup -type=txt " + versionName
}

// stock is about CoreDNS's own option multicluster.
func (ch *checker) stock() {
	s := ch.cluster.Stock
	switch {
	case len(s.Rights.Missing) > 0:
		ch.say(StockCoreDNS, Error, "give its ClusterRole the right, as docs/stock-coredns.md has it: without, CoreDNS never becomes ready, for the cluster's own names either", "its account may not %s", list(s.Rights.Missing))
	case s.Rights.Err != nil:
		ch.skip(StockCoreDNS, "%v", s.Rights.Err)
	default:
		ch.ok(StockCoreDNS, "its option multicluster is set, %s", s.Image)
	}
}

func answered(answers []probe.Answer) bool {
	return slices.ContainsFunc(answers, func(a probe.Answer) bool { return len(a.Values) > 0 })
}

func answerError(answers []probe.Answer) string {
	for _, a := range answers {
		switch {
		case a.Absent:
			return "no such name"
		case a.Error != "":
			return a.Error
		}
	}
	return "there is no answer"
}
