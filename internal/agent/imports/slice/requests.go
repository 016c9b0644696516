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

	"github.com/atoll-mcs/atoll/internal/agent/imports/imported"
	"github.com/atoll-mcs/atoll/internal/agent/inputs"
	"github.com/atoll-mcs/atoll/internal/agent/local"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// local maps an imported slice of this cluster to its source.
func (r *Reconciler) local(_ context.Context, e kit.Event[*discoveryv1.EndpointSlice]) []Request {
	return r.importedHere(slices.DeleteFunc(e.Versions(), func(s *discoveryv1.EndpointSlice) bool { return !inputs.IsImported(s) })) // a user may have changed its labels
}

// changed maps a change to the slices that it concerns.
func (r *Reconciler) changed(ctx context.Context, s kit.Scope) []Request {
	switch {
	case s == kit.Scope{}:
		return r.all(ctx)
	case s.Member == r.Cluster.ID:
		return nil
	case s.Slice.Name != "":
		req := Request{s.Member, s.Slice}
		r.seen.Start(req)
		return []Request{req}
	case s.Service.Name == "":
		here, err := r.Cluster.ImportedFrom(ctx, s.Member)
		if err != nil {
			return nil // the cache has stopped
		}
		return append(requests(r.Cluster.View.SlicesBy(s.Member)), r.importedHere(here)...)
	}
	return slices.DeleteFunc(r.of(ctx, s.Service), func(req Request) bool { return s.Member != "" && req.Cluster != s.Member })
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
	imports, err := local.ServiceImports(ctx, r.Cluster.Client, client.InNamespace(e.New.Name))
	if err != nil {
		return nil // the cache has stopped
	}
	var all []Request
	for _, imp := range imports {
		all = append(all, r.of(ctx, imp.NamespacedName)...)
	}
	return all
}

// of returns requests for the slices that other clusters published of a service, and for those imported of it.
func (r *Reconciler) of(ctx context.Context, service types.NamespacedName) []Request {
	here, err := r.Cluster.Imported(ctx, service)
	if err != nil {
		return nil // the cache has stopped
	}
	return append(requests(r.Cluster.View.SlicesOf(service)), r.importedHere(here)...)
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

// all returns requests for all slices of other clusters, and for all imported slices.
func (r *Reconciler) all(ctx context.Context) []Request {
	here, err := r.Cluster.AllImported(ctx)
	if err != nil {
		return nil // the cache has stopped
	}
	return append(requests(r.Cluster.View.Slices()), r.importedHere(here)...)
}

// at returns requests for imported slices with endpoints in ranges that now belong to this cluster's nodes, and for other
// clusters' slices with refused parts, because those may be allowed now.
func (r *Reconciler) at(ctx context.Context, added []netip.Prefix) []Request {
	here, err := r.Cluster.AllImported(ctx)
	if err != nil {
		return nil // the cache has stopped
	}
	all := r.importedHere(slices.DeleteFunc(here, func(s *discoveryv1.EndpointSlice) bool {
		return !slices.ContainsFunc(s.Endpoints, func(e discoveryv1.Endpoint) bool { return in(e.Addresses, added) })
	}))
	for _, req := range requests(r.Cluster.View.Slices()) {
		published, _ := r.Cluster.View.Slice(req.Cluster, req.Source)
		if published != nil && len(r.Problems.Of(layout.Service(published.Value))[req.part()].Warnings) > 0 {
			all = append(all, req)
		}
	}
	return all
}

func requests(published []kit.Scope) []Request {
	all := make([]Request, 0, len(published))
	for _, s := range published {
		all = append(all, Request{s.Member, s.Slice})
	}
	return all
}

// in reports whether one of the addresses is in one of the ranges.
func in(addresses []string, ranges []netip.Prefix) bool {
	return slices.ContainsFunc(addresses, func(text string) bool {
		a, err := netip.ParseAddr(text)
		return err == nil && slices.ContainsFunc(ranges, func(p netip.Prefix) bool { return p.Contains(a) })
	})
}
