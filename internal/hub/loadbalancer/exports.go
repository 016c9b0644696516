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

// validateExports returns the provider clusters' records and slices, without endpoints that network refuses.
// drains says which members the broker's administrator drains.
func validateExports(mcs *networkingv1alpha1.MultiClusterService, network validation.Network, drains func(names.ClusterID) bool, published exported) exports {
	e := exports{records: map[string]*brokerv1alpha1.ExportedServiceSpec{}, refused: refusals{}}
	providers := mcs.Spec.Providers()
	isProvider := func(cluster string) bool { return len(providers) == 0 || slices.Contains(providers, cluster) }
	for cluster, record := range published.records {
		if !isProvider(cluster) {
			continue
		}
		spec := record.Spec
		spec.Drained = spec.Drained || drains(names.ClusterID(cluster))
		e.records[cluster] = &spec
		count, summary := validation.RefusedOf(record)
		e.refused.add(cluster, count, summary)
	}
	for cluster, refused := range published.refused {
		if isProvider(cluster) {
			e.refused.add(cluster, refused.count, refused.first)
		}
	}
	for _, slice := range published.slices {
		cluster := clusterOf(slice)
		if e.records[cluster] == nil {
			continue
		}
		count, summary := validation.RefusedOf(slice)
		e.refused.add(cluster, count, summary)
		if mcsendpoints.Unsupported(slice) {
			e.refused.add(cluster, len(slice.Endpoints), "an EndpointSlice has domain names instead of addresses")
			continue
		}
		clean, refused := network.Slice(names.ClusterID(cluster), slice)
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
