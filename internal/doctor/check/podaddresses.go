package check

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/atoll-mcs/atoll/internal/install/render"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
)

// PodAddress is an address of a running pod that has its own network.
type PodAddress struct {
	Pod string
	IP  netip.Addr
}

// serviceRanges checks that Atoll can know the ranges of the cluster's Services.
func (ch *checker) serviceRanges() {
	c := ch.cluster
	if len(c.Services) == 0 {
		ch.say(ServiceRanges, Warning, "Use the value of the API server's --service-cluster-ip-range, once per IP family: "+c.On.Atoll("join FILE --service-cidr RANGE"), "%s", render.UnknownServiceRanges)
		return
	}
	ch.ok(ServiceRanges, "%s", list(c.Services))
}

// podAddresses checks that the running pods' addresses are in the known pod ranges.
func (ch *checker) podAddresses() {
	c := ch.cluster
	switch {
	case c.PodsUnread != nil:
		ch.skip(PodAddresses, "the running pods cannot be listed: %v", c.PodsUnread)
	case len(c.Pods) == 0:
		ch.skip(PodAddresses, "the pod CIDR is unknown. If pod addresses of this cluster are not in use in another cluster, set the pod CIDR: %s", podRangeFlag(c.On))
	case len(c.Running) == 0:
		ch.skip(PodAddresses, "no running pod has an address of its own")
	default:
		if message := strayPods(c.Running, c.Pods); message != "" {
			ch.say(PodAddresses, Warning, "Set the ranges from which the network plugin or the cloud's network assigns pod addresses: "+podRangeFlag(c.On), "%s", message)
			return
		}
		ch.ok(PodAddresses, "%d addresses", len(c.Running))
	}
}

func podRangeFlag(on command.Cluster) string { return on.Atoll("join FILE --pod-cidr RANGE") }

// strayPods describes the pods with addresses outside the ranges, "" for none. Ranges without any pod of their IP family
// are not in use: a network plugin ignores the nodes' podCIDRs.
func strayPods(running []PodAddress, cidrs []string) string {
	var known []netip.Prefix
	for _, cidr := range cidrs {
		if p, err := netip.ParsePrefix(cidr); err == nil {
			known = append(known, p)
		}
	}
	var outside []PodAddress
	inUse := map[bool]bool{} // by whether the family is IPv6
	for _, a := range running {
		if slices.ContainsFunc(known, func(p netip.Prefix) bool { return p.Contains(a.IP) }) {
			inUse[a.IP.Is6()] = true
		} else {
			outside = append(outside, a)
		}
	}
	if len(outside) == 0 {
		return ""
	}
	slices.SortFunc(outside, func(a, b PodAddress) int { return cmp.Or(a.IP.Compare(b.IP), cmp.Compare(a.Pod, b.Pod)) })
	message := fmt.Sprintf("%d of %d addresses of running pods are outside the pod CIDRs %s: from %s (pod %s) to %s (pod %s). "+
		"The cluster publishes a wrong pod CIDR. If the ranges that the broker permits for the cluster follow the pod CIDR, other clusters refuse the endpoints of these pods. "+
		"This cluster does not refuse other clusters' endpoints that have these addresses",
		len(outside), len(running), few(cidrs), outside[0].IP, outside[0].Pod, outside[len(outside)-1].IP, outside[len(outside)-1].Pod)
	var unused []string
	for _, p := range known {
		isStray := slices.ContainsFunc(outside, func(a PodAddress) bool { return a.IP.Is6() == p.Addr().Is6() })
		if isStray && !inUse[p.Addr().Is6()] {
			unused = append(unused, p.String())
		}
	}
	if len(unused) > 0 {
		message += fmt.Sprintf(". No listed pod has an address in %s, but this cluster refuses other clusters' endpoints in that range", few(unused))
	}
	return message
}

// few lists the first ranges.
func few(ranges []string) string {
	const most = 4
	if more := len(ranges) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", list(ranges[:most]), more)
	}
	return list(ranges)
}
