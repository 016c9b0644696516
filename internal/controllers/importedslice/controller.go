// Package importedslice keeps the EndpointSlices of imported services in this cluster:
// for each service and source cluster those that the cluster published, and for this
// cluster's own contribution those of its own Service, with no need of the broker. What the
// API server refuses the ServiceImport's condition Ready says, which the VIP controller owns.
package importedslice

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/controllers"
	"github.com/atoll-mcs/atoll/internal/local"
	"github.com/atoll-mcs/atoll/internal/names"
	"github.com/atoll-mcs/atoll/internal/sliceplan"
	"github.com/atoll-mcs/atoll/internal/status"
	"github.com/atoll-mcs/atoll/internal/topology"
)

// Request is a part that is reconciled. Parts are independent of each other, so that the
// broker's absence concerns the other clusters' alone.
type Request = local.Part

// Controller keeps imported EndpointSlices.
type Controller struct {
	local        client.Client
	writer       controllers.Writer
	broker       *broker.View
	self         local.Cluster
	maxEndpoints int
	locality     Locality
	zones        local.Zones
	network      sliceplan.Network
	recorder     events.EventRecorder
	refusals     refusals
	outcomes     *status.Outcomes[local.Part]
}

// NewController returns a controller of the cluster self that writes by writer, and splits
// the cluster's own slices where they have more than maxEndpoints endpoints. network is
// what addresses other clusters may not have. How it goes is noted in outcomes.
func NewController(writer controllers.Writer, view *broker.View, self local.Cluster, recorder events.EventRecorder, outcomes *status.Outcomes[local.Part],
	maxEndpoints int, locality Locality, network sliceplan.Network,
) *Controller {
	return &Controller{
		local: writer.Client, writer: writer, broker: view, self: self, recorder: recorder, outcomes: outcomes,
		maxEndpoints: maxEndpoints, locality: locality, network: network,
	}
}

// Name is the controller's name in logs and metrics.
func (c *Controller) Name() string { return "importedslice" }

// Register adds the controller to a manager.
func (c *Controller) Register(mgr ctrl.Manager) error {
	return builder.TypedControllerManagedBy[Request](mgr).
		Named(c.Name()).
		Watches(&mcsv1beta1.ServiceImport{}, handler.TypedEnqueueRequestsFromMapFunc(c.partsOf)).
		Watches(&discoveryv1.EndpointSlice{}, handler.TypedEnqueueRequestsFromMapFunc(c.partOfSlice)).
		Watches(&discoveryv1.EndpointSlice{}, c.onReadiness()).
		Watches(&corev1.Node{}, c.onNode(), builder.OnlyMetadata).
		Watches(&mcsv1beta1.ServiceExport{}, handler.TypedEnqueueRequestsFromMapFunc(c.ownPart)).
		Watches(&corev1.Service{}, handler.TypedEnqueueRequestsFromMapFunc(c.ownPart)).
		WatchesRawSource(controllers.Events(c.brokerEvents)).
		WatchesRawSource(controllers.Once(c.broker.AwaitExports, c.allParts)).
		WatchesRawSource(controllers.Once(c.broker.AwaitMembers, c.hintedParts)).
		WatchesRawSource(controllers.Once(c.broker.AwaitMembers, func(ctx context.Context) ([]Request, error) {
			return c.partsByClusterIP(ctx, "")
		})).
		WithOptions(controllers.Options[Request]()).
		Complete(c)
}

// Reconcile brings one part of a service up to date.
func (c *Controller) Reconcile(ctx context.Context, req Request) (reconcile.Result, error) {
	imp := &mcsv1beta1.ServiceImport{}
	err := c.local.Get(ctx, req.Service, imp)
	if client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, fmt.Errorf("reading ServiceImport %s: %w", req.Service, err)
	}
	importation := sliceplan.Importation{
		Import: imp, DerivedService: imp.Annotations[names.AnnotationDerivedService],
		Cluster: req.Cluster, Own: req.Cluster == c.broker.Self, MaxEndpoints: c.maxEndpoints,
	}
	gone := err != nil || imp.DeletionTimestamp != nil || imp.Labels[names.LabelManagedBy] != names.AgentManager
	if !gone {
		known, err := c.gather(ctx, req, &importation)
		if err != nil {
			return reconcile.Result{}, fmt.Errorf("gathering endpoints of %s: %w", req, err)
		}
		if !known {
			return reconcile.Result{}, nil
		}
	} else {
		c.refusals.forget(req)
	}
	have, err := local.ImportedSlices(ctx, c.local, req.Service, req.Cluster)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("listing imported slices of %s: %w", req, err)
	}
	importation.Imported = have
	plan := sliceplan.Import(importation)
	if err := c.hint(ctx, req, imp, plan); err != nil {
		return reconcile.Result{}, err
	}
	err = c.writer.Slices(ctx, sliceplan.Diff(have, plan))
	c.note(req, gone, err)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("importing endpoints of %s: %w", req, err)
	}
	return reconcile.Result{}, nil
}

// note keeps how writing a part went. What passes by trying again is not told.
func (c *Controller) note(req Request, gone bool, err error) {
	switch {
	case err == nil && gone:
		c.outcomes.Forget(req)
	case err == nil:
		c.outcomes.Set(req, status.Outcome{})
	case controllers.Refused(err):
		c.outcomes.Set(req, status.Outcome{Failure: controllers.Summary(err)})
	}
}

// gather reads the source cluster's slices and ports. It returns false where it is not
// known yet what they are; an event follows when it is.
func (c *Controller) gather(ctx context.Context, req Request, importation *sliceplan.Importation) (known bool, err error) {
	if len(importation.Import.Spec.IPFamilies) == 0 {
		return true, nil // there is nothing for it in this cluster
	}
	if importation.DerivedService == "" {
		return false, nil // the slices have to carry its name
	}
	if importation.Own {
		own, err := local.Gather(ctx, c.local, c.self, req.Service)
		if err != nil || own.Contribution == nil {
			return err == nil, err
		}
		importation.Ports, importation.IPFamilies = own.Contribution.Ports, own.Contribution.IPFamilies
		importation.Sources, err = local.Slices(ctx, c.local, req.Service)
		return err == nil, err
	}
	if !c.broker.ExportsSynced() || !c.broker.SlicesSynced(req.Service.Namespace) ||
		!c.broker.MembersSynced() && topology.Wanted(importation.Import) {
		return false, nil
	}
	if export := c.broker.Export(req.Service, req.Cluster); export != nil {
		importation.Ports, importation.IPFamilies = export.Spec.Ports, export.Spec.IPFamilies
		importation.Sources = c.broker.Slices(req.Service, req.Cluster)
	}
	return c.admit(req, importation), nil
}

// brokerEvents queues the parts that something on the broker concerns.
func (c *Controller) brokerEvents(add func(Request, bool)) {
	c.broker.OnExport(func(e *brokerv1alpha1.ExportedService, initial bool) {
		add(Request{Service: types.NamespacedName{Namespace: e.Spec.ServiceNamespace, Name: e.Spec.ServiceName}, Cluster: names.ClusterID(e.Spec.ClusterID)}, initial)
	})
	c.broker.OnSlice(func(s *discoveryv1.EndpointSlice, initial bool) {
		add(Request{
			Service: types.NamespacedName{Namespace: s.Labels[names.LabelServiceNamespace], Name: s.Labels[names.LabelServiceName]},
			Cluster: names.ClusterID(s.Labels[names.LabelSourceCluster]),
		}, initial)
	})
	// An error in the following means that the agent ends; a cache that is synced does not
	// fail before.
	addAll := func(parts []Request, _ error) {
		for _, part := range parts {
			add(part, false)
		}
	}
	ctx := context.Background()
	c.broker.OnRegion(func() { addAll(c.hintedParts(ctx)) })
	c.broker.OnServiceRanges(func(cluster names.ClusterID) { addAll(c.partsByClusterIP(ctx, cluster)) })
	c.broker.OnSlicesSynced(func(namespace string) { addAll(c.partsIn(ctx, namespace)) })
}
