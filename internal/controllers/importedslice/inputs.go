package importedslice

import (
	"context"
	"fmt"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/controllers"
	"github.com/atoll-mcs/atoll/internal/local"
	"github.com/atoll-mcs/atoll/internal/mcs/derived"
	"github.com/atoll-mcs/atoll/internal/mcs/endpoints"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/topology"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
	"github.com/atoll-mcs/atoll/internal/status"
)

// inputs are what all slices of a part depend on.
type inputs struct {
	endpoints.Import
	// known tells whether the rest is known: until then nothing changes.
	known bool
	// gone tells that there is no ServiceImport.
	gone bool
	// held tells that it is not known whether the cluster's export has ended, so that what is imported stays.
	held bool
	// imports tells whether anything is imported.
	imports bool
	remarks []status.Remark
}

// gather reads what all slices of a part depend on.
func (c *Controller) gather(ctx context.Context, part local.Part) (of inputs, err error) {
	of.Cluster, of.Own = part.Cluster, part.Cluster == c.broker.Self
	imp := &mcsv1beta1.ServiceImport{}
	err = c.local.Get(ctx, part.Service, imp, client.UnsafeDisableDeepCopy)
	if client.IgnoreNotFound(err) != nil {
		return of, fmt.Errorf("reading ServiceImport %s: %w", part.Service, err)
	}
	if of.gone = err != nil || imp.DeletionTimestamp != nil || !local.Managed(imp); of.gone {
		of.known = true
		return of, nil
	}
	of.Import.Import = imp
	refused, err := c.refuses(ctx, part)
	if err != nil || refused {
		of.known = true
		return of, err
	}
	if !of.Own && !c.options.Withdrawn.Has(part.Cluster.String()) && c.broker.Hold(part.Service, part.Cluster) {
		imported, err := local.ImportedSlices(ctx, c.local, part.Service, part.Cluster)
		if of.held = len(imported) > 0; of.held || err != nil {
			of.known = true
			return of, err
		}
	}
	if len(imp.Spec.IPFamilies) == 0 || derived.Portless(imp) { // there is nothing for it in this cluster
		of.known = true
		return of, nil
	}
	if imp.Annotations[names.AnnotationDerivedService] == "" {
		return of, nil // the slices have to carry its name
	}
	if of.Own {
		return of, c.gatherOwn(ctx, part, &of)
	}
	c.gatherOthers(part, &of)
	return of, nil
}

// refuses tells whether a part is of a cluster from which nothing is imported into its namespace.
func (c *Controller) refuses(ctx context.Context, part local.Part) (bool, error) {
	if part.Cluster == c.broker.Self {
		return false, nil
	}
	rules, err := local.Refusals(ctx, c.local, c.self, part.Service.Namespace)
	if err != nil {
		return false, fmt.Errorf("reading namespace %s: %w", part.Service.Namespace, err)
	}
	return rules.Reason(part.Cluster) != "", nil
}

func (c *Controller) gatherOwn(ctx context.Context, part local.Part, of *inputs) error {
	own, err := local.Gather(ctx, c.local, c.self, part.Service)
	if err != nil {
		return err
	}
	if own.Contribution == nil || own.Service == nil || own.Contribution.Scope == brokerv1alpha1.ScopeHub {
		of.known = true
		return nil
	}
	of.Ports, of.IPFamilies = own.Contribution.Ports, own.Contribution.IPFamilies
	of.imports, of.known = true, c.sources.Synced(part.Service.Namespace)
	return nil
}

func (c *Controller) gatherOthers(part local.Part, of *inputs) {
	if !c.broker.ExportsSynced() {
		return
	}
	export := c.broker.Export(part.Service, part.Cluster)
	if export != nil && !c.broker.SlicesSynced(part.Service.Namespace) || !c.options.Withdrawn.Knows(part.Cluster.String()) ||
		!c.broker.MembersSynced() && topology.Wanted(of.Import.Import) {
		return
	}
	of.known = true
	if export == nil {
		return
	}
	if export.Spec.Scope != brokerv1alpha1.ScopeHub && c.broker.Admits(export) {
		of.Ports, of.IPFamilies = export.Spec.Ports, export.Spec.IPFamilies
		if of.imports = !c.options.Withdrawn.Has(part.Cluster.String()) || export.Spec.OnClusterLoss == names.OnLossKeep; !of.imports {
			of.remarks = append(of.remarks, clusterLost(part))
		}
	}
	of.remarks = append(of.remarks, recordInvalid(part, export)...)
}

// firstList is how long the first list of a namespace's slices may take until people are told
// that it is waited for. It takes some milliseconds as a rule.
const firstList = 5 * time.Second

// await notes that a part can't be tried yet, of which nothing was said before. That its
// derived Service is made first says nothing, nor that its namespace has just been followed: then it
// returns when to look again.
func (c *Controller) await(part local.Part, of inputs) time.Duration {
	if _, known := c.outcomes.Get(part); known || of.Import.Import.Annotations[names.AnnotationDerivedService] == "" {
		return 0
	}
	ns := part.Service.Namespace
	synced, followed := c.broker.SlicesSynced(ns), c.broker.FollowedFor(ns)
	if of.Own {
		synced, followed = c.sources.Synced(ns), c.sources.FollowedFor(ns)
	}
	if left := firstList - followed; !synced && left > 0 && (of.Own || c.broker.ExportsSynced()) {
		return left
	}
	c.outcomes.Set(part, status.Outcome{Waiting: true})
	return 0
}

// admitted returns what this cluster takes of another one's slice, nil for nothing, and what there is to say of the rest.
func (c *Controller) admitted(req Request, source *discoveryv1.EndpointSlice) (*discoveryv1.EndpointSlice, controllers.SliceResult) {
	if endpoints.ByClusterIP(source) {
		if !c.broker.MembersSynced() {
			return nil, controllers.SliceResult{} // they are queued when its ranges are known
		}
		if text := endpoints.OverlappingRanges(c.options.Network, c.broker.Self, req.Cluster, c.broker.Member(req.Cluster), source); text != "" {
			return nil, controllers.SliceResult{Remarks: []status.Remark{{Reason: reasonOverlappingRanges, Message: text}}}
		}
	}
	clean, refused := c.options.Network.Slice(req.Cluster, source)
	result := controllers.Leaves(refused)
	if before, first := validation.RefusedOf(source); before > 0 { // when it was read from the broker
		result.Refused, result.First = result.Refused+before, first
	}
	return clean, result
}
