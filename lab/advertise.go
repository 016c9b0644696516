package lab

import (
	"fmt"
	"slices"
	"strings"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/lab/network"
)

// AdvertiseMode is what the agents of a lab publish: those of all clusters or, as a list
// such as "pods,cluster-ip,pods", of c1, c2 and c3 each for itself. Empty means pods.
//
// The network is as the mode supposes: nobody reaches the pods of a cluster in mode
// cluster-ip from outside, only its Services, and its own pods get out with their
// node's address.
type AdvertiseMode string

const (
	advertisePods      = AdvertiseMode(brokerv1alpha1.AdvertisePods)
	advertiseClusterIP = AdvertiseMode(brokerv1alpha1.AdvertiseClusterIP)
)

// list are the modes one by one.
func (m AdvertiseMode) list() []AdvertiseMode {
	var all []AdvertiseMode
	for part := range strings.SplitSeq(string(m), ",") {
		all = append(all, AdvertiseMode(part))
	}
	return all
}

// validate says what is wrong with the modes of so many clusters.
func (m AdvertiseMode) validate(clusters int) error {
	if m == "" {
		return nil
	}
	all := m.list()
	for _, one := range all {
		if one != advertisePods && one != advertiseClusterIP {
			return fmt.Errorf("%w: the advertise mode is %s or %s, or a list of these by commas, not %q", ErrUsage, advertisePods, advertiseClusterIP, m)
		}
	}
	if len(all) != 1 && len(all) != clusters {
		return fmt.Errorf("%w: one advertise mode, or one for each of the %d clusters is needed, not %q", ErrUsage, clusters, m)
	}
	return nil
}

// Of is the mode of a cluster, which count from 1.
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

// short writes equal modes as one and the usual one as none, so that equal labs are of
// equal shape.
func (m AdvertiseMode) short() AdvertiseMode {
	if all := slices.Compact(m.list()); len(all) == 1 {
		m = all[0]
	}
	if m == advertisePods {
		return ""
	}
	return m
}

// hidesPods tells whether other clusters reach the cluster's Services only.
func (c *Cluster) hidesPods() bool { return c.AdvertiseMode == advertiseClusterIP }

// egress gives what the pods of a cluster send to other clusters an address that these
// can answer to.
func (c *Cluster) egress(node network.Namespace) error {
	if !c.hidesPods() {
		return nil
	}
	return node.Masquerade(c.PodCIDRs)
}
