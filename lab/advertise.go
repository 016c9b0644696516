package lab

import (
	"fmt"
	"slices"
	"strings"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/lab/network"
)

// AdvertiseMode is what the agents of a lab publish: of all clusters or, as a list such as "pods,cluster-ip,pods", of
// c1, c2 and c3. Empty means pods.
//
// The network matches the mode. In mode cluster-ip, other clusters reach only the cluster's Services, and its pods use
// their node's address outside.
type AdvertiseMode string

const (
	advertisePods      = AdvertiseMode(brokerv1alpha1.AdvertisePods)
	advertiseClusterIP = AdvertiseMode(brokerv1alpha1.AdvertiseClusterIP)
)

func (m AdvertiseMode) list() []AdvertiseMode {
	var all []AdvertiseMode
	for part := range strings.SplitSeq(string(m), ",") {
		all = append(all, AdvertiseMode(part))
	}
	return all
}

// validate returns an error if the modes are invalid for that many clusters.
func (m AdvertiseMode) validate(clusters int) error {
	if m == "" {
		return nil
	}
	all := m.list()
	for _, one := range all {
		if one != advertisePods && one != advertiseClusterIP {
			return fmt.Errorf("%w: the advertise mode must be %s, %s, or a comma-separated list of these values, not %q", ErrUsage, advertisePods, advertiseClusterIP, m)
		}
	}
	if len(all) != 1 && len(all) != clusters {
		return fmt.Errorf("%w: set one advertise mode, or one advertise mode for each of the %d clusters, not %q", ErrUsage, clusters, m)
	}
	return nil
}

// Of returns the mode of a cluster; clusters count from 1.
func (m AdvertiseMode) Of(cluster int) AdvertiseMode {
	all := m.list()
	if len(all) > 1 {
		return all[cluster-1]
	}
	if m == "" {
		return advertisePods
	}
	return m
}

// short writes equal modes as one, and the default as "", so that equal labs have equal shapes.
func (m AdvertiseMode) short() AdvertiseMode {
	if all := slices.Compact(m.list()); len(all) == 1 {
		m = all[0]
	}
	if m == advertisePods {
		return ""
	}
	return m
}

// hidesPods reports whether other clusters reach only the cluster's Services.
func (c *Cluster) hidesPods() bool { return c.AdvertiseMode == advertiseClusterIP }

// egress gives outgoing traffic of a cluster's pods an address that other clusters can reach.
func (c *Cluster) egress(node network.Namespace) error {
	if !c.hidesPods() {
		return nil
	}
	return node.Masquerade(c.PodCIDRs)
}
