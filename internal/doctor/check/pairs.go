package check

import (
	"fmt"
	"slices"
	"strings"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/doctor/probe"
)

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
	if len(p.from.families(p.to.Listener.Pod)) > 0 {
		p.say(Families, OK, "", "")
		return
	}
	p.say(Families, Error, "one of them has to have both: a service is imported where its cluster and the importing one have a family in common", "one has IPv4 alone, the other IPv6")
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
	return "", p.to.member()
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
