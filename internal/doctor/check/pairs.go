package check

import (
	"fmt"
	"slices"
	"strings"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/doctor/probe"
)

// pair is the direction from one cluster to another.
type pair struct {
	from, to *Cluster
	results  *Results
}

func (p pair) say(about Check, status Status, hint, format string, args ...any) {
	p.results.add(about, Result{From: p.from.Name, To: p.to.Name, Status: status, Message: fmt.Sprintf(format, args...), Hint: hint})
}

func (p pair) families() {
	if p.from.Listener == nil || p.to.Listener == nil || p.from.Name > p.to.Name {
		return
	}
	if len(p.from.families(p.to.Listener.Pod)) > 0 {
		p.say(Families, OK, "", "")
		return
	}
	p.say(Families, Error, "Make one of the clusters dual-stack. A cluster imports a service only if it has an IP family in common with the exporting cluster.", "one cluster has only IPv4, the other cluster has only IPv6")
}

// connections checks connections to a pod and a Service of the other cluster. Its advertise mode decides which of them
// must work.
func (p pair) connections() {
	if p.from.Seen == nil || p.to.Listener == nil {
		p.say(Connections, Skipped, "", "test pods could not run in both clusters: see check %s", PodsRun)
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
		p.say(Connections, Skipped, "", "the clusters have no IP family in common")
		return
	case !everyone(want):
		p.say(Connections, Error, p.hint(joined, services), "%s of cluster %s cannot be reached: %s", which, p.to.Name, firstError(want))
		return
	case which == "Services" && !joined:
		p.say(Connections, Warning, "Join cluster "+p.to.Name+" with --advertise-mode cluster-ip, or make its pod addresses routable from the other clusters.", "Services of cluster %s can be reached, but its pods cannot: %s", p.to.Name, firstError(pods))
	default:
		p.say(Connections, OK, "", "to %s of cluster %s, response time %s", which, p.to.Name, milliseconds(want[0]))
	}
	addresses := mine
	if which == "Services" {
		addresses = other
	}
	p.packets(LargeOnes, p.from.reached("tcp", large, addresses), "Large packets are lost between the clusters. Lower the MTU of the pod network to leave room for tunnel headers, or allow ICMP \"fragmentation needed\" messages.")
	p.packets(Datagrams, p.from.reached("udp", 0, addresses), "Let UDP through firewalls and security groups. Without UDP, only TCP services work.")
}

func (p pair) packets(about Check, reached []probe.Reached, hint string) {
	if everyone(reached) {
		p.say(about, OK, "", "")
		return
	}
	status := Error
	if about == Datagrams {
		status = Warning
	}
	p.say(about, status, hint, "%s", firstError(reached))
}

// mode returns the other cluster's advertise mode, and whether it has joined.
func (p pair) mode() (mode brokerv1alpha1.AdvertiseMode, joined bool) {
	for _, c := range []*Cluster{p.from, p.to} {
		if c.Survey == nil || c.Survey.Broker == nil {
			continue
		}
		for _, m := range c.Survey.Broker.Members {
			if m.Name == p.to.ID() {
				return m.Spec.AdvertiseMode, true
			}
		}
	}
	return "", p.to.member()
}

func (p pair) hint(joined bool, services []probe.Reached) string {
	const flat = "Pods of all clusters must reach each other. Check routes, peering, firewalls, security groups and NetworkPolicies."
	if joined && everyone(services) {
		return flat + " The cluster IPs of cluster " + p.to.Name + " are reachable: run the agent of that cluster with --advertise-mode cluster-ip."
	}
	return flat
}

// families returns the addresses with an IP family that pods here have.
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
