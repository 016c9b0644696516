package loadbalancer

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/cloudprovider"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	mcsendpoints "github.com/atoll-mcs/atoll/internal/mcs/endpoints"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
)

// Limits of one load balancer. A provider checks and stores every backend.
const (
	// maxPortBackends limits the backends of one port.
	maxPortBackends = 1000
	// maxBackends limits the backends of all ports together; each port gets an equal share.
	maxBackends = 5000
)

type exports struct {
	// slices contain only endpoints that may be backends.
	slices []*discoveryv1.EndpointSlice
	// records are keyed by cluster.
	records map[string]*brokerv1alpha1.ExportedServiceSpec
	// refused counts the invalid records and endpoints.
	refused refusals
	// rangeless are the refused clusters for which the broker permits no address ranges, sorted.
	rangeless []string
}

// rules decide which endpoints of a member may be backends.
type rules struct {
	// network returns the addresses that the hub refuses from a member.
	network func(names.ClusterID) validation.Network
	// drains reports whether the broker's administrator drains a member.
	drains func(names.ClusterID) bool
	// rangeless reports whether the hub refuses a member because the broker permits no address ranges for it.
	rangeless func(names.ClusterID) bool
}

// rules returns the current rules.
func (c *Controller) rules() rules {
	members := c.published.View.Permissions()
	hasRanges := func(id names.ClusterID) bool {
		_, has := members.RangesOf(id)
		return has
	}
	everyone := validation.Network{IsHost: c.hosts.Has, Allowed: members.RangesOf}
	others := c.hosts.cluster.refuse(everyone)
	return rules{
		network: func(id names.ClusterID) validation.Network {
			if c.hosts.cluster.is(c.published.View.Cluster(id), hasRanges(id)) {
				return everyone
			}
			return others
		},
		drains:    members.Drains,
		rangeless: func(id names.ClusterID) bool { return !c.options.AllowUnsetRanges && !hasRanges(id) },
	}
}

// refusals count refused objects by cluster and keep the first reason.
type refusals map[string]refusal

type refusal struct {
	count int
	first string
}

func (r refusals) add(cluster string, count int, description string) {
	if count == 0 {
		return
	}
	had := r[cluster]
	r[cluster] = refusal{had.count + count, cmp.Or(had.first, description)}
}

// String lists the clusters, each with its count and first reason.
func (r refusals) String() string {
	var list []string
	for _, cluster := range slices.Sorted(maps.Keys(r)) {
		list = append(list, fmt.Sprintf("cluster %s: %d refused (%s)", cluster, r[cluster].count, r[cluster].first))
	}
	return named(list)
}

func (r refusals) total() (n int) {
	for _, each := range r {
		n += each.count
	}
	return n
}

// validateExports returns the provider clusters' records and slices, without endpoints that the rules refuse.
func validateExports(mcs *networkingv1alpha1.MultiClusterService, r rules, published exported) exports {
	e := exports{records: map[string]*brokerv1alpha1.ExportedServiceSpec{}, refused: refusals{}}
	providers := mcs.Spec.Providers()
	isProvider := func(cluster string) bool { return len(providers) == 0 || slices.Contains(providers, cluster) }
	for _, cluster := range slices.Sorted(maps.Keys(published.records)) {
		record := published.records[cluster]
		switch {
		case !isProvider(cluster):
			continue
		case r.rangeless(names.ClusterID(cluster)):
			e.rangeless = append(e.rangeless, cluster)
			continue
		}
		spec := record.Spec
		spec.Drained = spec.Drained || r.drains(names.ClusterID(cluster))
		e.records[cluster] = &spec
		count, summary := validation.RefusedOf(record)
		e.refused.add(cluster, count, summary)
	}
	for cluster, refused := range published.refused {
		if e.records[cluster] != nil {
			e.refused.add(cluster, refused.count, refused.first)
		}
	}
	for _, slice := range published.slices {
		cluster := layout.Cluster(slice).String()
		if e.records[cluster] == nil {
			continue
		}
		count, summary := validation.RefusedOf(slice)
		e.refused.add(cluster, count, summary)
		if mcsendpoints.Unsupported(slice) {
			e.refused.add(cluster, len(slice.Endpoints), "an EndpointSlice contains domain names instead of addresses")
			continue
		}
		clean, refused := r.network(names.ClusterID(cluster)).Slice(names.ClusterID(cluster), slice)
		e.refused.add(cluster, len(refused), validation.Summary(refused[:min(1, len(refused))]))
		e.slices = append(e.slices, clean)
	}
	return e
}

// candidate is a published endpoint of a port.
type candidate struct {
	cloudprovider.Backend
	rank int // within its cluster
}

// selectBackends returns at most limit backends, each address once and sorted, and the number of addresses. Ready
// endpoints come before draining ones. Clusters take turns, so that one with many endpoints cannot crowd out others,
// not even by publishing their addresses as its own.
func selectBackends(found map[string]map[netip.AddrPort]bool, limit int) (chosen []cloudprovider.Backend, of int) {
	var all []candidate
	for cluster, addresses := range found {
		own := make([]candidate, 0, len(addresses))
		for a, draining := range addresses {
			own = append(own, candidate{Backend: cloudprovider.Backend{Address: a, Cluster: cluster, Draining: draining}})
		}
		slices.SortFunc(own, func(x, y candidate) int {
			return cmp.Or(cmp.Compare(last[x.Draining], last[y.Draining]), x.Address.Compare(y.Address))
		})
		for i := range own {
			own[i].rank = i
		}
		all = append(all, own...)
	}
	slices.SortFunc(all, func(x, y candidate) int {
		return cmp.Or(cmp.Compare(last[x.Draining], last[y.Draining]), cmp.Compare(x.rank, y.rank), strings.Compare(x.Cluster, y.Cluster))
	})
	seen := make(map[netip.AddrPort]bool, len(all))
	for _, c := range all {
		if seen[c.Address] {
			continue
		}
		seen[c.Address] = true
		if len(chosen) < limit {
			chosen = append(chosen, c.Backend)
		}
	}
	slices.SortFunc(chosen, func(a, b cloudprovider.Backend) int { return a.Address.Compare(b.Address) })
	return chosen, len(seen)
}

// last sorts false before true.
var last = map[bool]int{true: 1}

// portLimit is the maximum of backends per port.
func portLimit(ports int) int { return max(1, min(maxPortBackends, maxBackends/max(1, ports))) }

func describeLimit(number int32, protocol corev1.Protocol, used, of int) string {
	return fmt.Sprintf("port %d/%s uses %d of %d backends", number, protocol, used, of)
}
