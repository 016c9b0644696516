package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/atoll-mcs/atoll/internal/doctor/probe"
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/install/dnswiring"
	"github.com/atoll-mcs/atoll/internal/install/render"
)

// dns follows a query from the pod's resolv.conf to the answer.
func (ch *checker) dns() {
	c := ch.cluster
	if c.Stock != nil {
		ch.stock()
	}
	if c.Seen == nil {
		ch.skip(OwnDNS, "no test pod could run in the cluster: see check %s", PodsRun)
	} else {
		ch.ownDNS()
	}
	if !c.member() {
		return
	}
	ch.wiring()
	if c.Seen == nil {
		ch.skip(Names, "no test pod could run in the cluster: see check %s", PodsRun)
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
		ch.say(OwnDNS, Error, "The cluster's DNS does not work, or pods cannot reach it. Look at the DNS server's pods and endpoints: "+c.On.Kubectl("get pods,endpointslices -n kube-system -l k8s-app=kube-dns"),
			"%s cannot be resolved through the DNS server %s: %s", ownName, list(c.Seen.Resolvers), answerError(answers))
		return
	}
	ch.ok(OwnDNS, "through the DNS server %s", list(c.Seen.Resolvers))
}

// wiring checks that cluster DNS forwards to atoll-dns.
func (ch *checker) wiring() {
	c := ch.cluster
	if c.Stock != nil {
		ch.ok(Wiring, "CoreDNS itself answers queries for clusterset.local: see check %s", StockCoreDNS)
		return
	}
	dns := c.Survey.Cluster.DNS
	wired := func(f dnswiring.Form) bool { return slices.Contains(dns.Wired, f) || c.resolves() }
	var missing []string
	for _, f := range dns.Found {
		if f != dnswiring.NodeLocal && !wired(f) {
			missing = append(missing, string(f))
		}
	}
	ch.forwarding(missing)
	switch {
	case !dns.NodeLocal:
	case c.Seen == nil && slices.Contains(dns.Unknown, dnswiring.NodeLocal):
		ch.say(NodeLocal, Warning, unknownHint, unknown, dnswiring.NodeLocal)
	case slices.Contains(dns.Found, dnswiring.NodeLocal) && !wired(dnswiring.NodeLocal):
		ch.say(NodeLocal, Error, c.On.Atoll("dns install"), "NodeLocal DNSCache does not forward clusterset.local to atoll-dns: pods on nodes with NodeLocal DNSCache cannot resolve names of the clusterset")
	default:
		ch.ok(NodeLocal, "")
	}
}

// What is said of DNS servers if no test pod could run, and Atoll cannot tell whether they forward.
const (
	unknown     = "the check cannot tell whether %s forwards clusterset.local to atoll-dns: the effect of a plugin in its Corefile is unknown"
	unknownHint = "The check needs a test pod in the cluster to test whether names of the clusterset resolve. Find out why no test pod runs: see check ATOLL1401."
)

// forwarding reports how the cluster's DNS servers forward; those that are missing do not.
func (ch *checker) forwarding(missing []string) {
	c := ch.cluster
	dns := c.Survey.Cluster.DNS
	var below []string
	for _, zone := range dns.Below {
		below = append(below, zone.Text)
	}
	isKnown := func(form string) bool { return !slices.Contains(dns.Unknown, dnswiring.Form(form)) }
	switch {
	case len(dns.Found) == 0:
		ch.skip(Wiring, "the kind of the cluster's DNS server is unknown: configure the DNS server to forward %[2]s to %[1]s", list(c.AtollDNS), survey.Zone)
	case len(dns.Invalid) > 0:
		severity := Error
		if c.resolves() { // the running servers still have the configuration before
			severity = Warning
		}
		ch.say(Wiring, severity, "Correct the configuration before the DNS pods restart. The running pods still use the previous configuration.", "%s", strings.Join(dns.Invalid, "; "))
	case dns.Down != "":
		ch.say(Wiring, Error, "Check the pods of the cluster's DNS: "+c.On.Kubectl("get pods -n kube-system"), "no pod of the cluster's DNS is available: %s", dns.Down)
	case len(missing) > 0 && c.Seen == nil && !slices.ContainsFunc(missing, isKnown):
		ch.say(Wiring, Warning, unknownHint, unknown, list(missing))
	case len(missing) > 0:
		ch.say(Wiring, Error, c.On.Atoll("dns install"), "some DNS servers of the cluster do not forward clusterset.local to atoll-dns: %s", list(missing))
	case len(dns.Elsewhere) > 0 && c.Seen == nil:
		ch.say(Wiring, Warning, c.On.Atoll("dns install"), "%s", dns.ElsewhereText())
	case len(dns.Elsewhere) > 0 && !c.resolves():
		ch.say(Wiring, Error, c.On.Atoll("dns install"), "%s", dns.ElsewhereText())
	case len(dns.Below) > 0:
		ch.say(Wiring, Warning, "Remove the configuration of these names from the cluster's DNS.", "%s", strings.Join(below, "; "))
	case len(dns.Suspects) > 0:
		ch.say(Wiring, Warning, "Correct the configuration before the DNS pods restart.", "%s", strings.Join(dns.Suspects, "; "))
	case len(dns.Wired) < len(dns.Found):
		ch.ok(Wiring, "pods resolve names of the clusterset, with a configuration that Atoll does not recognize")
	default:
		ch.ok(Wiring, "%s", forms(dns.Wired))
	}
}

// resolves reports whether the pod resolves names of the clusterset through each of its DNS servers, and through the
// cluster's DNS.
func (c *Cluster) resolves() bool {
	if c.Seen == nil || len(c.Seen.Resolvers) == 0 || !c.resolvesService() || c.otherZone() != "" {
		return false
	}
	for _, server := range append(slices.Clone(c.Seen.Resolvers), c.ClusterDNS...) {
		if !answered(c.answers(versionName, "TXT", server)) {
			return false
		}
	}
	return answered(c.answers(versionName, "TXT"))
}

// resolvesService reports whether the pod resolves an imported service, if there is one.
func (c *Cluster) resolvesService() bool {
	name, kind, ip := c.service()
	return name == "" || slices.ContainsFunc(c.answers(name, kind), func(a probe.Answer) bool { return slices.Contains(a.Values, ip) })
}

func forms(of []dnswiring.Form) string {
	texts := make([]string, len(of))
	for i, f := range of {
		texts[i] = string(f)
	}
	return list(texts)
}

// atollDNS checks atoll-dns itself.
func (ch *checker) atollDNS() {
	c := ch.cluster
	if len(c.AtollDNS) == 0 {
		ch.say(ClustersetDNS, Error, "Install atoll-dns: "+c.On.Atoll("join FILE"), "atoll-dns has no Service")
		return
	}
	answers := c.answers(versionName, "TXT", c.AtollDNS...)
	if !answered(answers) {
		ch.say(ClustersetDNS, Error, render.ShowPods(c.On, render.DNSName), "no answer from atoll-dns at %s: %s", list(c.AtollDNS), answerError(answers))
		return
	}
	ch.ok(ClustersetDNS, "address %s, response time %.1f ms", list(c.AtollDNS), answers[0].Milliseconds)
}

// names checks that pods resolve clusterset names, and says which server on the way fails.
func (ch *checker) names() {
	c := ch.cluster
	if !answered(c.answers(versionName, "TXT")) {
		where, hint := ch.lost()
		ch.say(Names, Error, hint, "%s", where)
		return
	}
	name, kind, ip := c.service()
	other := c.otherZone()
	switch {
	case other != "":
		ch.say(Names, Error, removeBelow(c), "%s is resolved, but names of services are not: %s", versionName, other)
	case name == "":
		ch.ok(Names, "%s is resolved", versionName)
	case c.resolvesService():
		ch.ok(Names, "%s and %s are resolved", versionName, name)
	default:
		ch.say(Names, Error, removeBelow(c),
			"%s is resolved, but %s does not resolve to its clusterset IP %s: %s", versionName, name, ip, valuesOrError(c.answers(name, kind)))
	}
}

func removeBelow(c *Cluster) string {
	return "Remove the configuration for names below svc." + survey.Zone + " from the cluster's DNS. This command shows it: " + c.On.Atoll("dns install --dry-run")
}

// otherZone says which other zone one of the pod's servers finds names of services in, or why it does not answer. It returns
// "" if all is well, or if the servers do not name the zone.
func (c *Cluster) otherZone() string {
	for _, a := range c.answers(anyName, "SOA", c.Seen.Resolvers...) {
		if a.Error != "" {
			return a.Error
		}
		for _, zone := range a.Values {
			if !strings.EqualFold(zone, survey.Zone+".") {
				return fmt.Sprintf("the DNS server %s answers for them from the zone %s", a.Server, zone)
			}
		}
	}
	return ""
}

// valuesOrError returns the values of answers, or why there are none.
func valuesOrError(answers []probe.Answer) string {
	if answered(answers) {
		return "the answer is " + list(answers[0].Values)
	}
	return answerError(answers)
}

// lost finds the first server without an answer although the next one has it.
func (ch *checker) lost() (where, hint string) {
	c := ch.cluster
	own := c.answers(versionName, "TXT", c.Seen.Resolvers...)
	cluster := c.answers(versionName, "TXT", c.ClusterDNS...)
	pods := fmt.Sprintf("pods use the DNS server %s", list(c.Seen.Resolvers))
	switch {
	case c.Stock == nil && len(c.AtollDNS) > 0 && !answered(c.answers(versionName, "TXT", c.AtollDNS...)):
		return "atoll-dns does not answer", "See check " + ClustersetDNS.String() + "."
	case len(cluster) > 0 && !answered(cluster):
		return fmt.Sprintf("pods use the DNS server %s, and the cluster's DNS at %s does not forward the query: %s", list(c.Seen.Resolvers), list(c.ClusterDNS), answerError(cluster)),
			"See check " + Wiring.String() + ". DNS servers take up to a minute to read a changed configuration."
	case answered(cluster) && !answered(own):
		return fmt.Sprintf("the cluster's DNS at %s answers the query, but the DNS server %s, which pods use, does not: %s", list(c.ClusterDNS), list(c.Seen.Resolvers), answerError(own)),
			"Pods do not query the cluster's DNS directly, but another DNS server, for example NodeLocal DNSCache: see check " + NodeLocal.String() + "."
	}
	return pods + ": " + answerError(append(own, c.answers(versionName, "TXT")...)), "Run the query in a pod: nslookup -type=txt " + versionName
}

// stock checks CoreDNS's option multicluster.
func (ch *checker) stock() {
	s := ch.cluster.Stock
	switch {
	case len(s.Rights.Missing) > 0:
		ch.say(StockCoreDNS, Error, "Add the permissions to CoreDNS's ClusterRole as docs/how-to/stock-coredns.md shows. Without the permissions, CoreDNS never becomes ready, and pods cannot resolve even the cluster's own names.", "CoreDNS's ServiceAccount lacks permissions: %s", list(s.Rights.Missing))
	case s.Rights.Err != nil:
		ch.skip(StockCoreDNS, "%v", s.Rights.Err)
	default:
		ch.ok(StockCoreDNS, "CoreDNS's option multicluster is set, image %s", s.Image)
	}
}

func answered(answers []probe.Answer) bool {
	return slices.ContainsFunc(answers, func(a probe.Answer) bool { return len(a.Values) > 0 })
}

func answerError(answers []probe.Answer) string {
	for _, a := range answers {
		switch {
		case a.Absent:
			return "the name does not exist"
		case a.Error != "":
			return a.Error
		}
	}
	return "no answer"
}
