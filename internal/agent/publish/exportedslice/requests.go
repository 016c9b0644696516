package exportedslice

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/agent/inputs"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// source maps a slice of this cluster to itself, and to the cluster IPs of its Service.
func (r *Reconciler) source(_ context.Context, e kit.Event[*discoveryv1.EndpointSlice]) []reconcile.Request {
	service := inputs.SourceService(e.Latest())
	if service.Name == "" {
		return nil
	}
	if !e.Initial {
		r.seen.Start(client.ObjectKeyFromObject(e.Latest()))
	}
	if r.mode == brokerv1alpha1.AdvertiseClusterIP {
		return append(clusterIPs(service), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e.Latest())})
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(e.Latest())}}
}

// published maps the cluster's own slice on the broker to its source.
func (r *Reconciler) published(_ context.Context, e kit.Event[*discoveryv1.EndpointSlice]) []reconcile.Request {
	slice := e.Latest()
	if layout.Cluster(slice) != r.cluster.ID {
		return nil
	}
	source := types.NamespacedName{Namespace: layout.Service(slice).Namespace, Name: layout.Source(slice)}
	if took, written := r.transit.Stop(source); written {
		r.metrics.Transit.Observe(took.Seconds())
	}
	return []reconcile.Request{{NamespacedName: source}}
}

// changed maps the cluster's own record to all slices of the service, and a slice to itself. In advertise mode
// cluster-ip, other clusters' records count too, because they affect the merged type.
func (r *Reconciler) changed(ctx context.Context, s kit.Scope) []reconcile.Request {
	switch {
	case s.Slice.Name != "" && s.Member == r.cluster.ID:
		return []reconcile.Request{{NamespacedName: s.Slice}}
	case s.Service.Name != "" && (s.Member == r.cluster.ID || s.Member != "" && r.mode == brokerv1alpha1.AdvertiseClusterIP):
		return r.all(ctx, s.Service)
	}
	return nil
}

// service maps an exported Service whose ports or addresses change to all its slices.
func (r *Reconciler) service(ctx context.Context, e kit.Event[*corev1.Service]) []reconcile.Request {
	service := client.ObjectKeyFromObject(e.Latest())
	if record, err := r.broker.Record(ctx, r.cluster.Clusterset, r.cluster.ID, service); e.Initial || record == nil || err != nil {
		return nil
	}
	return r.all(ctx, service)
}

func (r *Reconciler) all(ctx context.Context, service types.NamespacedName) []reconcile.Request {
	var requests []reconcile.Request
	if r.mode == brokerv1alpha1.AdvertiseClusterIP {
		requests = clusterIPs(service)
	}
	sources, err := r.cluster.Sources(ctx, service)
	if err != nil {
		return nil // the cache has not synced yet: its first list queues every slice
	}
	for _, s := range sources {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(s)})
	}
	published, err := r.broker.PublishedOf(ctx, r.cluster.Clusterset, service)
	if err != nil {
		return nil
	}
	for _, s := range published {
		requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: service.Namespace, Name: layout.Source(s)}})
	}
	return requests
}

func clusterIPs(service types.NamespacedName) []reconcile.Request {
	var requests []reconcile.Request
	for _, family := range []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol} {
		requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{
			Namespace: service.Namespace, Name: names.ClusterIPSlice(service.Name, string(family)),
		}})
	}
	return requests
}

// Of returns the source slices that a service has, or has published.
func (r *Reconciler) Of(ctx context.Context, service types.NamespacedName) []types.NamespacedName {
	var all []types.NamespacedName
	for _, req := range r.all(ctx, service) {
		all = append(all, req.NamespacedName)
	}
	return all
}
