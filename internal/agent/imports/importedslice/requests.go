package importedslice

import (
	"context"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/agent/imports/imported"
	"github.com/atoll-mcs/atoll/internal/agent/inputs"
	"github.com/atoll-mcs/atoll/internal/agent/local"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/choice"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// local maps a slice of this cluster, imported or not, to its source.
func (r *Reconciler) local(_ context.Context, e kit.Event[*discoveryv1.EndpointSlice]) (all []Request) {
	for _, s := range e.Versions() { // a user may have changed its labels
		switch {
		case inputs.IsImported(s):
			req := sources(s)[0]
			r.split.note(req, s == e.New)
			all = append(all, req)
		case inputs.SourceService(s).Name != "":
			all = append(all, r.split.of(Request{Cluster: r.Cluster.ID, Source: client.ObjectKeyFromObject(s)})...)
		}
	}
	return all
}

// sources returns requests for the sources of imported slices.
func sources(here ...*discoveryv1.EndpointSlice) []Request {
	all := make([]Request, 0, len(here))
	for _, s := range here {
		cluster, source := imported.Source(s)
		all = append(all, Request{cluster, source, s.Annotations[names.AnnotationPorts]})
	}
	return all
}

// changed maps a change to the slices that it concerns.
func (r *Reconciler) changed(ctx context.Context, s kit.Scope) (all []Request) {
	switch {
	case s == kit.Scope{}:
		return r.all(ctx)
	case s == kit.Scope{Member: r.Cluster.ID}: // its properties may have changed
		for _, service := range r.roles.all() {
			all = append(all, r.of(ctx, service)...)
		}
		return all
	case s.Member == r.Cluster.ID:
		return nil // its objects have events of their own
	case s.Slice.Name != "":
		return r.split.of(Request{Cluster: s.Member, Source: s.Slice})
	case s.Service.Name == "":
		here, err := r.Cluster.ImportedFrom(ctx, s.Member)
		if err != nil {
			return nil // the cache has stopped
		}
		all = append(requests(r.Cluster.View.SlicesBy(s.Member)), sources(here...)...)
		imported := map[types.NamespacedName]bool{}
		for _, slice := range here {
			imported[inputs.ImportService(slice)] = true
		}
		for _, service := range r.Cluster.View.ServicesOf(s.Member) {
			if !imported[service] { // else all has a slice of it
				all = append(all, r.another(ctx, service, s.Member)...)
			}
		}
		return all
	}
	theirs := slices.DeleteFunc(r.of(ctx, s.Service), func(req Request) bool { return s.Member != "" && req.Cluster != s.Member })
	return append(theirs, r.another(ctx, s.Service, s.Member)...)
}

// another returns requests that decide the roles of a service again because of a cluster: one for each other cluster. They are for
// slices that are imported, if there are any: one that is withdrawn or gone decides nothing.
func (r *Reconciler) another(ctx context.Context, service types.NamespacedName, than names.ClusterID) (all []Request) {
	here, err := r.Cluster.Imported(ctx, service)
	candidates := sources(here...)
	if err != nil || len(candidates) == 0 {
		candidates = r.of(ctx, service)
	}
	for _, req := range candidates {
		if req.Cluster != than && !slices.ContainsFunc(all, func(other Request) bool { return other.Cluster == req.Cluster }) {
			all = append(all, req)
		}
	}
	return all
}

func (r *Reconciler) serviceImport(ctx context.Context, e kit.Event[*mcsv1beta1.ServiceImport]) []Request {
	switch {
	case e.Initial:
		return nil
	case !imported.Changed(e) && e.Old != nil && e.New != nil && len(e.Old.Status.Clusters) != len(e.New.Status.Clusters):
		return r.another(ctx, client.ObjectKeyFromObject(e.New), r.Cluster.ID) // this cluster's export may have ended without an event
	case !imported.Changed(e):
		return nil
	}
	if e.New == nil {
		r.roles.delete(client.ObjectKeyFromObject(e.Old)) // its slices may be gone, so nothing else forgets it
	}
	return r.of(ctx, client.ObjectKeyFromObject(e.Latest()))
}

func (r *Reconciler) serviceExport(ctx context.Context, e kit.Event[*mcsv1beta1.ServiceExport]) []Request {
	if e.Initial || e.Old != nil && e.New != nil && e.Old.Generation == e.New.Generation && e.Old.UID == e.New.UID &&
		e.Old.Annotations[names.AnnotationDrained] == e.New.Annotations[names.AnnotationDrained] {
		return nil
	}
	service := client.ObjectKeyFromObject(e.Latest())
	return append(r.own(ctx, service), r.another(ctx, service, r.Cluster.ID)...)
}

// service maps a new derived Service to the slices of its import, and another Service to its own.
func (r *Reconciler) service(ctx context.Context, e kit.Event[*corev1.Service]) []Request {
	if imp := imported.Created(e); imp.Name != "" {
		return r.of(ctx, imp)
	}
	if e.Initial || imported.Of(e.Latest()).Name != "" {
		return nil
	}
	return r.own(ctx, client.ObjectKeyFromObject(e.Latest()))
}

// namespace maps a namespace with changed refusals to the slices of its imports, and one that is drained, or no longer, to those
// of its exports.
func (r *Reconciler) namespace(ctx context.Context, e kit.Event[*corev1.Namespace]) []Request {
	var all []Request
	for _, export := range r.Cluster.DrainedBy(ctx, e) {
		all = append(all, r.of(ctx, export.NamespacedName)...)
	}
	return append(all, r.refusals(ctx, e)...)
}

// trafficPolicy maps a TrafficPolicy to the slices of the services that it is for.
func (r *Reconciler) trafficPolicy(ctx context.Context, e kit.Event[*trafficv1alpha1.TrafficPolicy]) (all []Request) {
	if e.Initial || !inputs.SpecChanges(e) {
		return nil
	}
	if slices.ContainsFunc(e.Versions(), choice.IsDefault) {
		return r.all(ctx)
	}
	for _, kind := range []string{inputs.KindImport, inputs.KindExport} {
		for _, service := range inputs.Targets(e, kind) {
			all = append(all, r.of(ctx, service.NamespacedName)...)
		}
	}
	return all
}

func (r *Reconciler) refusals(ctx context.Context, e kit.Event[*corev1.Namespace]) []Request {
	if e.Initial || e.Old == nil || e.New == nil || e.Old.Labels[names.LabelExports] == e.New.Labels[names.LabelExports] &&
		e.Old.Annotations[names.AnnotationRefuseImports] == e.New.Annotations[names.AnnotationRefuseImports] &&
		e.Old.Annotations[names.AnnotationAcceptWeights] == e.New.Annotations[names.AnnotationAcceptWeights] {
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

// of returns requests for the slices that clusters publish of a service, and for those imported of it.
func (r *Reconciler) of(ctx context.Context, service types.NamespacedName) []Request {
	return append(requests(r.Cluster.View.SlicesOf(service)), r.own(ctx, service)...)
}

// own returns requests for the slices of this cluster's own Service, and for all that are imported under its name.
func (r *Reconciler) own(ctx context.Context, service types.NamespacedName) []Request {
	here, err := r.Cluster.Imported(ctx, service)
	if err != nil {
		return nil // the cache has stopped, or not synced yet: its first list queues every slice
	}
	all := sources(here...)
	own, err := r.Cluster.Sources(ctx, service)
	if err != nil {
		return all
	}
	for _, s := range own {
		all = append(all, Request{Cluster: r.Cluster.ID, Source: client.ObjectKeyFromObject(s)})
	}
	return all
}

// all returns requests for all slices of other clusters and of exported Services, and for all imported slices.
func (r *Reconciler) all(ctx context.Context) []Request {
	here, err := r.Cluster.AllImported(ctx)
	if err != nil {
		return nil // the cache has stopped
	}
	exports, err := local.ServiceExports(ctx, r.Cluster.Client)
	if err != nil {
		return nil
	}
	all := append(requests(r.Cluster.View.Slices()), sources(here...)...)
	for _, e := range exports {
		all = append(all, r.own(ctx, e.NamespacedName)...)
	}
	return all
}

// at returns requests for imported slices with endpoints in ranges that now belong to this cluster's nodes, and for other
// clusters' slices with refused parts, because those may be allowed now.
func (r *Reconciler) at(ctx context.Context, added []netip.Prefix) []Request {
	here, err := r.Cluster.AllImported(ctx)
	if err != nil {
		return nil // the cache has stopped
	}
	all := sources(slices.DeleteFunc(here, func(s *discoveryv1.EndpointSlice) bool {
		return !slices.ContainsFunc(s.Endpoints, func(e discoveryv1.Endpoint) bool { return in(e.Addresses, added) })
	})...)
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
		all = append(all, Request{Cluster: s.Member, Source: s.Slice})
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
