package core

import (
	"context"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/atoll-mcs/atoll/internal/agent/inputs"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// publishedBy is what other members have published, for lost.Controller.
type publishedBy struct {
	*core
	broker *inputs.Broker
}

// ServicesOf implements lost.Published.
func (p publishedBy) ServicesOf(id names.ClusterID) []types.NamespacedName {
	services, err := p.cluster.ServicesOf(context.Background(), p.broker, id)
	if err != nil {
		return nil // a cache has ended
	}
	return services
}

// Slices implements lost.Published.
func (p publishedBy) Slices(service types.NamespacedName, id names.ClusterID) []*discoveryv1.EndpointSlice {
	all, err := p.broker.Published(context.Background(), p.Clusterset, service)
	if err != nil {
		return nil // the cache has ended
	}
	return slices.DeleteFunc(all, func(s *discoveryv1.EndpointSlice) bool { return layout.Cluster(s) != id })
}

// Imported implements lost.Published.
func (p publishedBy) Imported(id names.ClusterID) []*discoveryv1.EndpointSlice {
	all, err := p.cluster.ImportedFrom(context.Background(), id)
	if err != nil {
		return nil // a cache that is synced does not fail before the agent ends
	}
	return all
}
