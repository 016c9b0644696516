package core

import (
	"context"
	"net"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/agent/inputs"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/controllers/withdrawal"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// prober asks endpoints of other clusters whether they are there, at addresses of a family that this cluster has and that mean nothing in it.
func (c *core) prober() withdrawal.Prober {
	dial := c.Dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	return withdrawal.Prober{Dial: dial, Allowed: func(id names.ClusterID, a netip.Addr) bool {
		family := corev1.IPv4Protocol
		if a.Is6() {
			family = corev1.IPv6Protocol
		}
		return slices.Contains(c.Network.Families, family) && c.network.Admits(id, a)
	}}
}

// published is what other members have published, for withdrawal.
type published struct {
	*core
	broker *inputs.Broker
}

// ServicesOf implements withdrawal.Published.
func (p published) ServicesOf(id names.ClusterID) []types.NamespacedName {
	list := &brokerv1alpha1.ExportedServiceList{}
	err := p.broker.List(context.Background(), list, client.InNamespace(p.Clusterset), client.MatchingFields{layout.ByCluster: id.String()}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil // the cache has ended
	}
	var services []types.NamespacedName
	for i := range list.Items {
		services = append(services, list.Items[i].Spec.Service())
	}
	return services
}

// Slices implements withdrawal.Published.
func (p published) Slices(service types.NamespacedName, id names.ClusterID) []*discoveryv1.EndpointSlice {
	all, err := p.broker.Published(context.Background(), p.Clusterset, service)
	if err != nil {
		return nil // the cache has ended
	}
	return slices.DeleteFunc(all, func(s *discoveryv1.EndpointSlice) bool { return layout.Cluster(s) != id })
}
