package check

import (
	"fmt"
	"slices"
	"strings"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/probe"
	"github.com/atoll-mcs/atoll/internal/render"
)

// between makes the checks between clusters: of all those that were asked, and of what the others
// of the clusterset say of themselves on the broker.
func between(e *Evidence, all *Results) {
	var there []*Cluster
	for i := range e.Clusters {
		if e.Clusters[i].Unreached == nil {
			there = append(there, &e.Clusters[i])
		}
	}
	ranges(there, all)
	versions(there, all)
	if len(there) < 2 {
		return
	}
	identities(there, all)
	timesOfDay(there, all)
	for _, from := range there {
		for _, to := range there {
			if from != to {
				p := pair{from, to, all}
				p.families()
				p.connections()
			}
		}
	}
}

// identities are about who the clusters are.
func identities(there []*Cluster, all *Results) {
	result := Result{ID: Identity, Status: OK}
	set := Result{ID: Clusterset, Status: OK}
	for i, a := range there {
		for _, b := range there[:i] {
			switch {
			case a.UID == b.UID:
				result.Status, result.Message = Error, fmt.Sprintf("%s and %s are one cluster", b.Name, a.Name)
				result.Hint = "give contexts of different clusters"
			case a.id() != "" && a.id() == b.id():
				result.Status, result.Message = Error, fmt.Sprintf("%s and %s both have the id %s", b.Context, a.Context, a.id())
				result.Hint = "in one of them: atoll leave, then atoll join with a join file for another id"
			}
			if a.member() && b.member() && (a.Survey.Clusterset != b.Survey.Clusterset || a.Survey.Server != b.Survey.Server) {
				set.Status = Error
				set.Message = fmt.Sprintf("%s is in %s at %s, %s in %s at %s", b.Name, b.Survey.Clusterset, b.Survey.Server, a.Name, a.Survey.Clusterset, a.Survey.Server)
				set.Hint = "clusters share services within one clusterset: have one of them leave (atoll leave), and join the other's. If these are two addresses of one broker, all is well"
			}
		}
	}
	all.add(result)
	if !slices.ContainsFunc(there, func(c *Cluster) bool { return !c.member() }) {
		all.add(set)
	}
}

func (c *Cluster) id() string {
	if c.Survey == nil {
		return ""
	}
	return c.Survey.ClusterID.String()
}

func timesOfDay(there []*Cluster, all *Results) {
	worst := Result{ID: Clocks, Status: OK}
	for i, a := range there {
		for _, b := range there[:i] {
			status, hint, message := clocks(a.Ahead-b.Ahead, a.Name+"'s", b.Name+"'s")
			if status == Error || status == Warning && worst.Status == OK {
				worst.Status, worst.Hint, worst.Message = status, hint, message
			}
		}
	}
	all.add(worst)
}

// network is what is known of a member's addresses.
type network struct {
	name           string
	pods, services []string
	byService      bool // it advertises cluster IPs
}

// ranges compares the address ranges of all clusters that are known: the asked ones, and the others of
// the clusterset.
func ranges(there []*Cluster, all *Results) {
	networks := networksOf(there)
	var found []string
	for i, a := range networks {
		for _, b := range networks[:i] {
			found = append(found, a.clashes(b)...)
			found = append(found, b.clashes(a)...)
		}
	}
	slices.Sort(found)
	found = slices.Compact(found)
	switch {
	case len(networks) < 2:
	case len(found) > 0:
		all.add(Result{ID: Ranges, Status: Error, Message: strings.Join(found, "; "), Hint: "such addresses mean something else in each cluster, so that traffic to the other one stays: give one of them other ranges. " +
			"Where only pods clash, and Services' ranges are routed between clusters, --advertise-mode cluster-ip does without the pods'"})
	default:
		result := Result{ID: Ranges, Status: OK}
		for _, n := range networks {
			if len(n.pods) == 0 && !n.byService {
				result.Status = Skipped
				result.Message = fmt.Sprintf("the range of %s's pods is not known: its agent can be told with --pod-cidr", n.name)
			}
		}
		all.add(result)
	}
}

func networksOf(there []*Cluster) []network {
	var networks []network
	known := map[string]bool{}
	members := map[string]brokerv1alpha1.MemberClusterSpec{}
	for _, c := range there {
		if c.Survey != nil && c.Survey.Broker != nil {
			for _, m := range c.Survey.Broker.Members {
				members[m.Name] = m.Spec
			}
		}
	}
	for _, c := range there {
		mode := members[c.id()].AdvertiseMode
		networks = append(networks, network{c.Name, c.Pods, c.Services, mode == brokerv1alpha1.AdvertiseClusterIP})
		known[c.id()], known[c.UID] = true, true
	}
	for id, m := range members {
		if !known[id] && !known[m.ClusterUID] { // one that is about to join again may be listed still
			networks = append(networks, network{id, m.PodCIDRs, m.ServiceCIDRs, m.AdvertiseMode == brokerv1alpha1.AdvertiseClusterIP})
		}
	}
	return networks
}

// clashes lists what others reach n by, and o has itself.
func (n network) clashes(o network) []string {
	kind, theirs := "pods", n.pods
	if n.byService {
		kind, theirs = "Services", n.services
	}
	var found []string
	for _, x := range theirs {
		for _, own := range []struct {
			kind string
			of   []string
		}{{"pods", o.pods}, {"Services", o.services}} {
			for range overlaps([]string{x}, own.of) {
				a, b := fmt.Sprintf("%s of %s (%s)", kind, n.name, x), fmt.Sprintf("%s of %s", own.kind, o.name)
				found = append(found, a+" overlap "+b)
			}
		}
	}
	return found
}

func versions(there []*Cluster, all *Results) {
	by := map[string][]string{}
	for _, c := range there {
		if c.Survey == nil || c.Survey.Broker == nil {
			continue
		}
		for _, m := range c.Survey.Broker.Members {
			if v := m.Spec.AgentVersion; v != "" && !slices.Contains(by[v], m.Name) {
				by[v] = append(by[v], m.Name)
			}
		}
	}
	if len(by) == 0 {
		return
	}
	result := Result{ID: Versions, Status: OK}
	var texts []string
	for version, clusters := range by {
		slices.Sort(clusters)
		texts = append(texts, list(clusters)+" run "+version)
	}
	slices.Sort(texts)
	if len(by) > 1 {
		result.Status, result.Hint = Warning, "they work together; what only the newer ones know has no effect on the others. Upgrade them: atoll join FILE"
	}
	result.Message = strings.Join(texts, "; ")
	all.add(result)
}

// pair is the way from one cluster to another.
type pair struct {
	from, to *Cluster
	results  *Results
}

func (p pair) say(id ID, status Status, hint, format string, args ...any) {
	p.results.add(Result{ID: id, From: p.from.Name, To: p.to.Name, Status: status, Message: fmt.Sprintf(format, args...), Hint: hint})
}

func (p pair) families() {
	if p.from.Listener == nil || p.to.Listener == nil || p.from.Name > p.to.Name {
		return
	}
	six := func(c *Cluster) (found [2]bool) {
		for _, a := range c.Listener.Pod {
			found[boolean(strings.Contains(a, ":"))] = true
		}
		return found
	}
	a, b := six(p.from), six(p.to)
	if a[0] && b[0] || a[1] && b[1] {
		p.say(Families, OK, "", "")
		return
	}
	p.say(Families, Error, "one of them has to have both: a service is imported where its cluster and the importing one have a family in common", "one has IPv4 alone, the other IPv6")
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

// connections are real ones, to a pod and to a Service of the other cluster. Which of them have to
// come through is for the other's advertise mode.
func (p pair) connections() {
	if p.from.Seen == nil || p.to.Listener == nil {
		p.say(Connections, Skipped, "", "nothing could be run in both clusters, see %s", PodsRun)
		return
	}
	mine, other := p.from.families(p.to.Listener.Pod), p.from.families(p.to.Listener.Service)
	pods, services := p.from.reached("tcp", 0, mine), p.from.reached("tcp", 0, other)
	mode, joined := p.mode()
	want, which := pods, "pods"
	if mode == brokerv1alpha1.AdvertiseClusterIP || !joined && !everyone(pods) && everyone(services) {
		want, which = services, "Services"
	}
	switch {
	case len(want) == 0:
		p.say(Connections, Skipped, "", "they have no IP family in common")
		return
	case !everyone(want):
		p.say(Connections, Error, p.hint(joined, services), "its %s are not reached: %s", which, firstError(want))
		return
	case which == "Services" && !joined:
		p.say(Connections, Warning, "join "+p.to.Name+" with --advertise-mode cluster-ip, or have pods' addresses be routed", "its Services are reached, its pods are not: %s", firstError(pods))
	default:
		p.say(Connections, OK, "", "its %s, %s", which, milliseconds(want[0]))
	}
	addresses := mine
	if which == "Services" {
		addresses = other
	}
	p.packets(LargeOnes, p.from.reached("tcp", large, addresses), "packets are lost that are too large for some part of the way: lower the MTU of the pods' network (a tunnel takes some of it), or let ICMP \"fragmentation needed\" through")
	p.packets(Datagrams, p.from.reached("udp", 0, addresses), "let UDP through as well: firewalls and security groups tell them apart. Without, only services by TCP work")
}

func (p pair) packets(id ID, reached []probe.Reached, hint string) {
	if everyone(reached) {
		p.say(id, OK, "", "")
		return
	}
	status := Error
	if id == Datagrams {
		status = Warning
	}
	p.say(id, status, hint, "%s", firstError(reached))
}

// mode is what the other cluster advertises, and whether it has joined.
func (p pair) mode() (mode brokerv1alpha1.AdvertiseMode, joined bool) {
	for _, c := range []*Cluster{p.from, p.to} {
		if c.Survey == nil || c.Survey.Broker == nil {
			continue
		}
		for _, m := range c.Survey.Broker.Members {
			if m.Name == p.to.id() {
				return m.Spec.AdvertiseMode, true
			}
		}
	}
	return advertised(p.to), p.to.member()
}

// advertised is what a cluster's agents are told to advertise, as far as that can be seen there.
func advertised(c *Cluster) brokerv1alpha1.AdvertiseMode {
	if c.Survey == nil {
		return ""
	}
	for _, container := range c.Survey.Cluster.Deployments[render.AgentName].Spec.Template.Spec.Containers {
		for _, arg := range container.Args {
			if mode, ok := strings.CutPrefix(arg, "--advertise-mode="); ok {
				return brokerv1alpha1.AdvertiseMode(mode)
			}
		}
	}
	return ""
}

func (p pair) hint(joined bool, services []probe.Reached) string {
	const flat = "pods of all clusters have to reach each other: routes, peering, firewalls and security groups, NetworkPolicies"
	if joined && everyone(services) {
		return flat + ". Its Services are reached: have its agent run with --advertise-mode cluster-ip"
	}
	return flat
}

// families leaves those of another cluster's addresses that are of a family which pods here have.
func (c *Cluster) families(addresses []string) []string {
	if c.Listener == nil {
		return addresses
	}
	var common []string
	for _, a := range addresses {
		if slices.ContainsFunc(c.Listener.Pod, func(own string) bool { return strings.Contains(own, ":") == strings.Contains(a, ":") }) {
			common = append(common, a)
		}
	}
	return common
}
