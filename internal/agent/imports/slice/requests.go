package slice

import (
	"context"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/agent/imports/imported"
	"github.com/atoll-mcs/atoll/internal/agent/inputs"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// published maps another cluster's slice on the broker to itself.
func (r *Reconciler) published(_ context.Context, e kit.Event[*discoveryv1.EndpointSlice]) []Request {
	all := r.requests(e.Latest())
	for _, req := range all {
		if !e.Initial {
			r.seen.Start(req)
		}
	}
	return all
}

// requests are for other clusters' slices on the broker. A refused slice has no labels; its previous version may.
func (r *Reconciler) requests(published ...*discoveryv1.EndpointSlice) []Request {
	var all []Request
	for _, s := range published {
		cluster := layout.Cluster(s)
		if source := layout.Source(s); source != "" && cluster != "" && cluster != r.Cluster.ID {
			all = append(all, Request{cluster, types.NamespacedName{Namespace: layout.Service(s).Namespace, Name: source}})
		}
	}
	return all
}

// local maps an imported slice of this cluster to its source.
func (r *Reconciler) local(_ context.Context, e kit.Event[*discoveryv1.EndpointSlice]) []Request {
	return r.importedHere(slices.DeleteFunc(e.Versions(), func(s *discoveryv1.EndpointSlice) bool { return !inputs.IsImported(s) })) // a user may have changed its labels
}

// record maps another cluster's record to its slices of the service.
func (r *Reconciler) record(ctx context.Context, e kit.Event[*brokerv1alpha1.ExportedService]) []Request {
	spec := e.Latest().Spec
	if e.Initial || spec.ClusterID == r.Cluster.ID.String() {
		return nil // the first list of slices queues all
	}
	var all []Request
	for _, req := range r.of(ctx, spec.Service()) {
		if req.Cluster.String() == spec.ClusterID {
			all = append(all, req)
		}
	}
	return all
}

func (r *Reconciler) serviceImport(ctx context.Context, e kit.Event[*mcsv1beta1.ServiceImport]) []Request {
	if e.Initial || !imported.Changed(e) {
		return nil
	}
	return r.of(ctx, client.ObjectKeyFromObject(e.Latest()))
}

// derived maps a new derived Service to the slices of its import.
func (r *Reconciler) derived(ctx context.Context, e kit.Event[*corev1.Service]) []Request {
	if imp := imported.Created(e); imp.Name != "" {
		return r.of(ctx, imp)
	}
	return nil
}

// namespace maps a new namespace, or one with changed refusals, to the slices of its imports.
func (r *Reconciler) namespace(ctx context.Context, e kit.Event[*corev1.Namespace]) []Request {
	if e.Initial || e.Old == nil || e.New == nil || e.Old.Labels[names.LabelExports] == e.New.Labels[names.LabelExports] &&
		e.Old.Annotations[names.AnnotationRefuseImports] == e.New.Annotations[names.AnnotationRefuseImports] {
		return nil // the imports of a new namespace queue their slices
	}
	imports := &mcsv1beta1.ServiceImportList{}
	if err := r.Cluster.Client.List(ctx, imports, client.InNamespace(e.New.Name), client.UnsafeDisableDeepCopy); err != nil {
		return nil // the cache has stopped
	}
	var all []Request
	for i := range imports.Items {
		all = append(all, r.of(ctx, client.ObjectKeyFromObject(&imports.Items[i]))...)
	}
	return all
}

// of returns requests for the slices that other clusters published of a service, and for those imported of it.
func (r *Reconciler) of(ctx context.Context, service types.NamespacedName) []Request {
	published, err := r.Broker.Published(ctx, r.Cluster.Clusterset, service)
	if err != nil {
		return nil // the cache has stopped
	}
	here, err := r.Cluster.Imported(ctx, service)
	if err != nil {
		return nil
	}
	return append(r.requests(published...), r.importedHere(here)...)
}

func (r *Reconciler) importedHere(here []*discoveryv1.EndpointSlice) []Request {
	var all []Request
	for _, s := range here {
		if cluster, source := imported.Source(s); cluster != r.Cluster.ID {
			all = append(all, Request{cluster, source})
		}
	}
	return all
}

// Service queues all slices of a service.
func (r *Reconciler) Service(ctx context.Context, service types.NamespacedName) {
	r.feed.Add(false, r.of(ctx, service)...)
}

// From queues all slices of a cluster.
func (r *Reconciler) From(ctx context.Context, cluster names.ClusterID) {
	published, err := r.Broker.PublishedBy(ctx, r.Cluster.Clusterset, cluster)
	if err != nil {
		return // the cache has stopped
	}
	here, err := r.Cluster.ImportedFrom(ctx, cluster)
	if err != nil {
		return
	}
	r.feed.Add(false, append(r.requests(published...), r.importedHere(here)...)...)
}

// All queues all slices of other clusters, and all imported slices.
func (r *Reconciler) All(ctx context.Context) {
	published, err := r.Broker.PublishedByAll(ctx, r.Cluster.Clusterset)
	if err != nil {
		return // the cache has stopped
	}
	here, err := r.Cluster.AllImported(ctx)
	if err != nil {
		return
	}
	r.feed.Add(true, append(r.requests(published...), r.importedHere(here)...)...)
}

// At queues imported slices with endpoints in ranges that now belong to this cluster's nodes, and other clusters'
// slices with refused parts, because those may be allowed now.
func (r *Reconciler) At(ctx context.Context, added []netip.Prefix) {
	here, err := r.Cluster.AllImported(ctx)
	if err != nil {
		return // the cache has stopped
	}
	published, err := r.Broker.PublishedByAll(ctx, r.Cluster.Clusterset)
	if err != nil {
		return
	}
	r.feed.Add(false, r.importedHere(slices.DeleteFunc(here, func(s *discoveryv1.EndpointSlice) bool {
		return !slices.ContainsFunc(s.Endpoints, func(e discoveryv1.Endpoint) bool { return in(e.Addresses, added) })
	}))...)
	for _, s := range published {
		for _, req := range r.requests(s) {
			if len(r.Problems.Of(layout.Service(s))[req.part()].Warnings) > 0 {
				r.reads.of.Delete(req)
				r.feed.Add(false, req)
			}
		}
	}
}

// in reports whether one of the addresses is in one of the ranges.
func in(addresses []string, ranges []netip.Prefix) bool {
	return slices.ContainsFunc(addresses, func(text string) bool {
		a, err := netip.ParseAddr(text)
		return err == nil && slices.ContainsFunc(ranges, func(p netip.Prefix) bool { return p.Contains(a) })
	})
}
