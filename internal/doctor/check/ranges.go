package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
)

// network is the known IP ranges of a member.
type network struct {
	name           string
	pods, services []string
	byService      bool // advertises cluster IPs
}

// ranges compares the IP ranges of the queried clusters and the other members.
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
		all.add(Ranges, Result{Status: Error, Message: strings.Join(found, "; "), Hint: "Traffic to overlapping addresses does not leave the cluster. Change the address ranges of one of the clusters. " +
			"If only pod CIDRs overlap, and the network routes the Service CIDRs between the clusters, run the agents with --advertise-mode cluster-ip."})
	default:
		result := Result{Status: OK}
		for _, n := range networks {
			if len(n.pods) == 0 && !n.byService {
				result.Status = Skipped
				result.Message = fmt.Sprintf("the pod CIDR of cluster %s is unknown: set --pod-cidr on that cluster's agent", n.name)
			}
		}
		all.add(Ranges, result)
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
		mode := members[c.ID()].AdvertiseMode
		networks = append(networks, network{c.Name, c.Pods, c.Services, mode == brokerv1alpha1.AdvertiseClusterIP})
		known[c.ID()], known[c.UID] = true, true
	}
	for _, id := range slices.Sorted(maps.Keys(members)) {
		m := members[id]
		if !known[id] && !known[m.ClusterUID] { // a cluster that is about to join again may still be listed
			networks = append(networks, network{id, m.PodCIDRs, m.ServiceCIDRs, m.AdvertiseMode == brokerv1alpha1.AdvertiseClusterIP})
		}
	}
	return networks
}

// clashes lists the ranges of n for other clusters that overlap with ranges of o.
func (n network) clashes(o network) []string {
	kind, theirs := "pod", n.pods
	if n.byService {
		kind, theirs = "Service", n.services
	}
	var found []string
	for _, x := range theirs {
		for _, own := range []struct {
			kind string
			of   []string
		}{{"pod", o.pods}, {"Service", o.services}} {
			for range overlaps([]string{x}, own.of) {
				found = append(found, fmt.Sprintf("the %s CIDR %s of cluster %s overlaps the %s CIDR of cluster %s", kind, x, n.name, own.kind, o.name))
			}
		}
	}
	return found
}
