package inputs

import (
	"context"
	"fmt"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

const (
	// sourcesOf finds the slices of a Service that Atoll has not imported.
	sourcesOf = "source"
	// importsOf finds the imported slices of a service, importsFrom those of a cluster.
	importsOf, importsFrom = "imported", "from"
)

// Index adds the indexes to this cluster's cache.
func Index(ctx context.Context, to client.FieldIndexer) error {
	for name, keys := range map[string]client.IndexerFunc{
		sourcesOf: func(o client.Object) []string {
			if service := SourceService(o.(*discoveryv1.EndpointSlice)); service.Name != "" {
				return []string{service.Name}
			}
			return nil
		},
		importsOf: func(o client.Object) []string {
			if IsImported(o) {
				return []string{o.GetLabels()[names.LabelServiceName]}
			}
			return nil
		},
		importsFrom: func(o client.Object) []string {
			if IsImported(o) {
				return []string{layout.Cluster(o).String()}
			}
			return nil
		},
	} {
		if err := to.IndexField(ctx, &discoveryv1.EndpointSlice{}, name, keys); err != nil {
			return fmt.Errorf("indexing EndpointSlices by %s: %w", name, err)
		}
	}
	if err := to.IndexField(ctx, &trafficv1alpha1.TrafficPolicy{}, policiesFor, targets); err != nil {
		return fmt.Errorf("indexing TrafficPolicies by %s: %w", policiesFor, err)
	}
	return nil
}

// IsImported reports whether Atoll imported an EndpointSlice of this cluster. If the cluster is also a broker, its
// published slices do not count.
func IsImported(slice client.Object) bool {
	labels := slice.GetLabels()
	_, published := labels[names.LabelServiceNamespace]
	return labels[discoveryv1.LabelManagedBy] == names.AgentManager && !published
}

// ImportService returns the service of an imported EndpointSlice.
func ImportService(slice client.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: slice.GetNamespace(), Name: slice.GetLabels()[names.LabelServiceName]}
}

// SourceService returns the Service of an EndpointSlice; the zero name if it has none, or if Atoll manages the slice.
func SourceService(slice client.Object) types.NamespacedName {
	labels := slice.GetLabels()
	if labels[discoveryv1.LabelManagedBy] == names.AgentManager || labels[discoveryv1.LabelServiceName] == "" {
		return types.NamespacedName{}
	}
	return types.NamespacedName{Namespace: slice.GetNamespace(), Name: labels[discoveryv1.LabelServiceName]}
}

// Sources returns a Service's own slices. Callers must not change them.
func (c *Cluster) Sources(ctx context.Context, service types.NamespacedName) ([]*discoveryv1.EndpointSlice, error) {
	return listSlices(ctx, c.Client, client.InNamespace(service.Namespace), client.MatchingFields{sourcesOf: service.Name})
}

// Imported returns the imported slices of a service. Callers must not change them.
func (c *Cluster) Imported(ctx context.Context, service types.NamespacedName) ([]*discoveryv1.EndpointSlice, error) {
	return listSlices(ctx, c.Client, client.InNamespace(service.Namespace), client.MatchingFields{importsOf: service.Name})
}

// ImportedFrom returns the slices that are imported from a cluster. Callers must not change them.
func (c *Cluster) ImportedFrom(ctx context.Context, cluster names.ClusterID) ([]*discoveryv1.EndpointSlice, error) {
	return listSlices(ctx, c.Client, client.MatchingFields{importsFrom: cluster.String()})
}

// ServicesOf returns the services that a cluster exports, as far as it is unknown whether it does.
func (c *Cluster) ServicesOf(ctx context.Context, cluster names.ClusterID) []reconcile.Request {
	if cluster == c.ID {
		return c.recorded(ctx)
	}
	return requests(c.View.ServicesOf(cluster))
}

// Services returns the services that any cluster exports, as ServicesOf does.
func (c *Cluster) Services(ctx context.Context) []reconcile.Request {
	return append(requests(c.View.Services()), c.recorded(ctx)...)
}

// ServicesIn returns those of Services in a namespace that are exported by other clusters.
func (c *Cluster) ServicesIn(namespace string) []reconcile.Request {
	return requests(c.View.ServicesIn(namespace))
}

// ServicesWithPolicy returns the services that have a policy of the hub.
func (c *Cluster) ServicesWithPolicy() []reconcile.Request {
	return requests(c.View.ServicesWithPolicy())
}

func requests(services []types.NamespacedName) []reconcile.Request {
	all := make([]reconcile.Request, 0, len(services))
	for _, service := range services {
		all = append(all, reconcile.Request{NamespacedName: service})
	}
	return all
}

// AllImported returns all imported slices. Callers must not change them.
func (c *Cluster) AllImported(ctx context.Context) ([]*discoveryv1.EndpointSlice, error) {
	all, err := listSlices(ctx, c.Client, client.MatchingLabels{discoveryv1.LabelManagedBy: names.AgentManager})
	return slices.DeleteFunc(all, func(s *discoveryv1.EndpointSlice) bool { return !IsImported(s) }), err
}

// Published returns this cluster's own slices on the broker, PublishedOf those of a service. Callers must not change them.
func (b *Broker) Published(ctx context.Context, clusterset string, self names.ClusterID) ([]*discoveryv1.EndpointSlice, error) {
	return listSlices(ctx, b, client.InNamespace(clusterset), client.MatchingFields{layout.ByCluster: self.String()})
}

// PublishedOf is described at Published.
func (b *Broker) PublishedOf(ctx context.Context, clusterset string, service types.NamespacedName) ([]*discoveryv1.EndpointSlice, error) {
	return listSlices(ctx, b, client.InNamespace(clusterset), client.MatchingFields{layout.ByService: service.String()})
}

func listSlices(ctx context.Context, from client.Reader, options ...client.ListOption) ([]*discoveryv1.EndpointSlice, error) {
	list := &discoveryv1.EndpointSliceList{}
	if err := from.List(ctx, list, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		return nil, err
	}
	all := make([]*discoveryv1.EndpointSlice, 0, len(list.Items))
	for i := range list.Items {
		all = append(all, &list.Items[i])
	}
	return all, nil
}

// recorded returns the services of this cluster's records on the broker; none before it was reached.
func (c *Cluster) recorded(ctx context.Context) []reconcile.Request {
	b, list := c.Broker(), &brokerv1alpha1.ExportedServiceList{}
	if b == nil || b.List(ctx, list, client.InNamespace(c.Clusterset), client.MatchingFields{layout.ByCluster: c.ID.String()}, client.UnsafeDisableDeepCopy) != nil {
		return nil // or the cache has stopped
	}
	requests := make([]reconcile.Request, 0, len(list.Items))
	for i := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: list.Items[i].Spec.Service()})
	}
	return requests
}

// OnChanges is a source of requests for the services that Changes concern. all returns those that a change of everything
// concerns.
func (c *Cluster) OnChanges(all func(context.Context) []reconcile.Request) source.TypedSource[reconcile.Request] {
	return kit.On(&c.Changes, func(ctx context.Context, s kit.Scope) []reconcile.Request {
		if (s == kit.Scope{}) {
			return all(ctx)
		}
		return c.Concerned(ctx, s)
	})
}

// Concerned returns the services that a change concerns, unless it concerns everything.
func (c *Cluster) Concerned(ctx context.Context, s kit.Scope) []reconcile.Request {
	switch {
	case s.Slice.Name != "":
		return nil
	case s.Service.Name != "":
		return []reconcile.Request{{NamespacedName: s.Service}}
	}
	return c.ServicesOf(ctx, s.Member)
}

// OnOwnChanges is OnChanges without changes of other members.
func (c *Cluster) OnOwnChanges(all func(context.Context) []reconcile.Request) source.TypedSource[reconcile.Request] {
	return kit.On(&c.Changes, func(ctx context.Context, s kit.Scope) []reconcile.Request {
		switch {
		case s == kit.Scope{}:
			return all(ctx)
		case s.Service.Name != "" && s.Slice.Name == "" && (s.Member == "" || s.Member == c.ID):
			return []reconcile.Request{{NamespacedName: s.Service}}
		}
		return nil
	})
}
