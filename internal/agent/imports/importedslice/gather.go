package importedslice

import (
	"context"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/agent/imports/imported"
	"github.com/atoll-mcs/atoll/internal/agent/inputs"
	"github.com/atoll-mcs/atoll/internal/agent/local"
	"github.com/atoll-mcs/atoll/internal/broker/border"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Missing reports whether a slice of a service is about to be imported for the first time.
func (r *Reconciler) Missing(ctx context.Context, service types.NamespacedName) (bool, error) {
	own, err := r.Cluster.Sources(ctx, service)
	if err != nil {
		return false, err
	}
	var all []Request
	for _, s := range own {
		all = append(all, Request{Cluster: r.Cluster.ID, Source: client.ObjectKeyFromObject(s)})
	}
	for _, s := range r.Cluster.View.SlicesOf(service) {
		all = append(all, Request{Cluster: s.Member, Source: s.Slice})
	}
	problems := r.Problems.Of(service)
	for _, req := range all {
		have, err := imported.Slice(ctx, r.Cluster.Client, req.name())
		if err != nil {
			return false, err
		}
		if have != nil || problems[req.part()].Failure != "" {
			continue
		}
		if in, err := r.gather(ctx, req, nil); err != nil || in.imports() && (in.waits || decide(in, req, r.Network, r.Cluster.ID).want != nil) {
			return err == nil, err
		}
	}
	return false, nil
}

// gather reads what the import of a slice depends on.
func (r *Reconciler) gather(ctx context.Context, req Request, have *discoveryv1.EndpointSlice) (inputsOf, error) {
	if req.Cluster == r.Cluster.ID {
		return r.gatherOwn(ctx, req, have)
	}
	return r.gatherOthers(ctx, req, have)
}

// gatherOthers reads what the import of another cluster's slice depends on.
func (r *Reconciler) gatherOthers(ctx context.Context, req Request, have *discoveryv1.EndpointSlice) (in inputsOf, err error) {
	published, known := r.Cluster.View.Slice(req.Cluster, req.Source)
	if published != nil {
		in.source, in.state, in.detail = published.Value, published.State, published.Detail
	}
	switch {
	case in.source != nil:
		in.service = layout.Service(in.source)
	case have != nil:
		in.service = inputs.ImportService(have)
	}
	if in.service.Name == "" {
		return in, nil
	}
	imp, exported, err := r.gatherImport(ctx, in.service)
	if in.imp = imp; err != nil || imp == nil {
		return in, err
	}
	in.exports = exported.Imported
	in.refused, in.lost = exported.Rules.Reason(req.Cluster) != "", r.Lost.Has(req.Cluster)
	record, recordKnown := r.Cluster.View.Record(req.Cluster, in.service)
	if record != nil && record.Spec.Consumes(r.Cluster.ID.String()) {
		in.record = record
	}
	if !in.imports() {
		in.waits = !recordKnown // the service is queued when this is known
		return in, nil
	}
	if in.derived, in.ports, err = imported.ServiceOf(ctx, r.Cluster.Client, in.imp); err != nil || in.derived == "" || !r.Lost.Known() {
		in.waits = true // the Service's event queues the slice, or everything is queued
		return in, err
	}
	if in.kept = !known; in.record.Spec.OnClusterLoss != names.OnLossKeep {
		in.out = r.Lost.Endpoints(req.Cluster)
	}
	in.member = r.Cluster.View.Cluster(req.Cluster)
	return in, nil
}

// gatherImport returns the import of a service as its exports merge to it, with the exports, or nil if there is none.
func (r *Reconciler) gatherImport(ctx context.Context, service types.NamespacedName) (*mcsv1beta1.ServiceImport, local.Exported, error) {
	imp, err := imported.Import(ctx, r.Cluster.Client, service)
	if err != nil || imp == nil {
		return nil, local.Exported{}, err
	}
	return imported.Current(ctx, r.Cluster, imp)
}

// gatherOwn reads what the import of this cluster's own slice depends on.
func (r *Reconciler) gatherOwn(ctx context.Context, req Request, have *discoveryv1.EndpointSlice) (in inputsOf, err error) {
	source, err := kit.Get(ctx, r.Cluster.Client, req.Source, &discoveryv1.EndpointSlice{}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return in, err
	}
	switch {
	case source != nil && inputs.SourceService(source).Name != "":
		in.source, in.state, in.service = source, border.Full, inputs.SourceService(source)
	case have != nil:
		in.service = inputs.ImportService(have)
	}
	if in.service.Name == "" {
		return in, nil
	}
	imp, exported, err := r.gatherImport(ctx, in.service)
	if in.imp = imp; err != nil || imp == nil {
		return in, err
	}
	in.exports, in.changes = exported.Imported, exported.Own.Drain.Changes
	own := exported.Own
	if in.source == nil || own.Service == nil || own.Contribution == nil {
		return in, nil
	}
	if in.record = (&brokerv1alpha1.ExportedService{Spec: *own.Contribution}); !in.imports() {
		return in, nil
	}
	in.derived, in.ports, err = imported.ServiceOf(ctx, r.Cluster.Client, in.imp)
	in.waits = in.derived == ""
	return in, err
}
