// Package importedslice keeps the EndpointSlices of imported services in this cluster:
// for each service and source cluster those that the cluster published, and for this
// cluster's own contribution those of its own Service, with no need of the broker. What the
// API server refuses the ServiceImport's condition Ready says, which controller importstatus owns.
package importedslice

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/controllers"
	"github.com/atoll-mcs/atoll/internal/derived"
	"github.com/atoll-mcs/atoll/internal/local"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
	"github.com/atoll-mcs/atoll/internal/merge"
	"github.com/atoll-mcs/atoll/internal/metrics"
	"github.com/atoll-mcs/atoll/internal/names"
	"github.com/atoll-mcs/atoll/internal/pace"
	"github.com/atoll-mcs/atoll/internal/sliceplan"
	"github.com/atoll-mcs/atoll/internal/staleness"
	"github.com/atoll-mcs/atoll/internal/status"
	"github.com/atoll-mcs/atoll/internal/topology"
)

// Controller keeps imported EndpointSlices.
type Controller struct {
	local    client.Client
	writer   controllers.Writer
	sources  *local.Sources
	overlaps *local.Overlaps
	broker   *broker.View
	exports  func(types.NamespacedName, *merge.Export) []merge.Export // broker.Constituents
	self     local.Cluster
	options  Options
	zones    local.Zones
	census   topology.Census
	recorder events.EventRecorder
	remarks  remarks
	refusals *refusals
	taken    takenNames
	share    *share
	outcomes *status.Outcomes[local.Part]
	pacer    *pace.Pacer[Request] // as exportedslice has it
	queue    func(Request, bool)  // set when the controller starts
	metrics  *metrics.Metrics
	seen     metrics.Stopwatch[Request] // since a change of another cluster's slice was seen
	turns    controllers.Turns[local.Part]
	triggers controllers.Triggers[local.Part]
	unstored controllers.Unstored[local.Part]
}

// Options are what is decided about what is imported, and how.
type Options struct {
	// MaxEndpoints is the limit of endpoints for one slice of the cluster's own.
	MaxEndpoints int
	// Pace is how writes of one slice of the cluster's own are spaced. Those of others come
	// spaced already.
	Pace pace.Limits
	// Locality is where the cluster is.
	Locality Locality
	// Network is what addresses other clusters may not have.
	Network validation.Network
	// Hosts are those of the cluster. That they change is looked for here, and what they are in Network.
	Hosts *local.Hosts
	// MaxPerMember is how many endpoints are imported from one other cluster at most, 0 for any number.
	MaxPerMember int
	// Withdrawn are the clusters that are lost.
	Withdrawn *staleness.Set
}

// NewController returns a controller of the cluster self that writes by writer. sources are
// the cluster's own endpoints. How it goes is noted in outcomes.
func NewController(writer controllers.Writer, sources *local.Sources, view *broker.View, self local.Cluster, recorder events.EventRecorder, outcomes *status.Outcomes[local.Part], measured *metrics.Metrics, options Options) *Controller {
	share, refused := newShare(options.MaxPerMember), &refusals{}
	measured.Limit("endpoints", share.Lacking)
	measured.Limit("addresses", refused.counts)
	return &Controller{
		local: writer.Client, writer: writer, sources: sources, overlaps: local.NewOverlaps(sources), broker: view, exports: view.Constituents, self: self, recorder: recorder, outcomes: outcomes,
		metrics: measured, options: options, pacer: pace.New[Request](options.Pace), share: share, refusals: refused,
	}
}

// Name is the controller's name in logs and metrics.
func (c *Controller) Name() string { return "importedslice" }

// Reconcile brings one part of a service up to date, or what is made of one slice in it.
func (c *Controller) Reconcile(ctx context.Context, req Request) (reconcile.Result, error) {
	if wait, all := c.turns.Begin(req.Part, req.Slice, time.Now()); wait > 0 {
		if all && req.Slice != "" {
			c.seen.Move(req, req.whole())
		}
		if all && req.Slice != "" && req.Cluster == c.broker.Self {
			c.overlaps.Alone(req.Service, req.Slice) // it has to know of every change
		}
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	result, err := c.reconcile(ctx, req)
	if c.turns.End(req.Part, req.Slice, err == nil, time.Now()) {
		c.queue(req.whole(), false)
	}
	if errors.Is(err, controllers.ErrOutdated) {
		return reconcile.Result{RequeueAfter: controllers.OutdatedPause}, nil
	}
	return result, err
}

// reconcile is Reconcile in the request's turn.
func (c *Controller) reconcile(ctx context.Context, req Request) (reconcile.Result, error) {
	imp := &mcsv1beta1.ServiceImport{}
	err := c.local.Get(ctx, req.Service, imp)
	if client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, fmt.Errorf("reading ServiceImport %s: %w", req.Service, err)
	}
	gone := err != nil || imp.DeletionTimestamp != nil || !local.Managed(imp)
	refused, err := c.refused(ctx, req)
	if err != nil {
		return reconcile.Result{}, err
	}
	if held, err := c.held(ctx, req, gone || refused); held || err != nil {
		return reconcile.Result{}, err
	}
	if req.Slice != "" && !gone && !c.alone(req) {
		c.whole(req)
		return reconcile.Result{}, nil
	}
	importation := sliceplan.Importation{
		Import: imp, DerivedService: imp.Annotations[names.AnnotationDerivedService],
		Cluster: req.Cluster, Own: req.Cluster == c.broker.Self, MaxEndpoints: c.options.MaxEndpoints,
	}
	sources := c.sourcesOf(req)
	if !gone {
		known, err := c.gather(ctx, req, &importation, refused)
		if err != nil {
			return reconcile.Result{}, fmt.Errorf("gathering endpoints of %s: %w", req, err)
		}
		if !known {
			c.seen.Move(req, req.whole())
			return reconcile.Result{RequeueAfter: c.await(req, importation)}, nil
		}
	}
	if importation.Imported, err = c.imported(ctx, req); err != nil {
		return reconcile.Result{}, fmt.Errorf("listing imported slices of %s: %w", req, err)
	}
	plan := sliceplan.Import(importation)
	c.hint(req, imp, plan, importation.Imported)
	if !gone {
		c.rename(req, imp, plan, importation.Imported)
	}
	changes := sliceplan.Diff(importation.Imported, plan)
	if req.Slice != "" && !gone && changes.Removed > 0 && sliceplan.Moved(importation.Imported, plan, c.otherSources(req)) {
		c.whole(req)
		return reconcile.Result{}, nil
	}
	changes = c.unstored.Leave(req.Part, changes, plan)
	missing := c.keep(req, gone || refused, &changes)
	if wait := c.wait(req, changes); wait > 0 {
		c.triggers.Hold(req.Part, changes)
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	c.triggers.Stamp(req.Part, changes)
	c.turns.Writing(req.Part, changes, time.Now())
	versions := controllers.Versions(changes)
	err = c.writer.Slices(ctx, changes)
	c.triggers.Wrote(req.Part, req.Slice, versions, changes)
	if errors.Is(err, controllers.ErrOutdated) {
		return reconcile.Result{}, err
	}
	if c.taken.add(req.Part, err) { // it is tried again with other names
		c.whole(req)
		return reconcile.Result{}, nil
	}
	c.note(req, gone, importation.Times(sources), err)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("importing endpoints of %s: %w", req, err)
	}
	c.unstored.Note(req.Part, versions, changes, plan)
	if controllers.Took(versions, changes) && req.Cluster == c.broker.Self {
		c.pacer.Wrote(req, time.Now())
	}
	if !missing {
		c.measure(req, importation.Imported, plan, changes)
	}
	return reconcile.Result{}, nil
}

// refused tells whether a part is of a cluster from which nothing is imported into its namespace.
func (c *Controller) refused(ctx context.Context, req Request) (bool, error) {
	if req.Cluster == c.broker.Self {
		return false, nil
	}
	rules, err := local.Refusals(ctx, c.local, c.self, req.Service.Namespace)
	if err != nil {
		return false, fmt.Errorf("reading namespace %s: %w", req.Service.Namespace, err)
	}
	return rules.Reason(req.Cluster) != "", nil
}

// whole has all of a part be reconciled in place of one slice.
func (c *Controller) whole(req Request) {
	c.seen.Move(req, req.whole())
	c.queue(req.whole(), false)
}

// measure counts what was written, and how long that took.
func (c *Controller) measure(req Request, have []*discoveryv1.EndpointSlice, plan []discoveryv1.EndpointSlice, changes sliceplan.Changes) {
	service := metrics.Service{Namespace: req.Service.Namespace, Name: req.Service.Name, Cluster: req.Cluster.String()}
	c.metrics.Imported.Note(service, req.Slice, controllers.Counts(plan, c.options.MaxEndpoints))
	took, live := c.seen.Stop(req)
	if changes.Empty() {
		return
	}
	c.metrics.Imported.Wrote(controllers.Sync(have, changes))
	if !live {
		return
	}
	c.metrics.Import.Observe(took.Seconds())
	if since, known := controllers.SinceTrigger(changes, time.Now()); known {
		c.metrics.Total.Observe(since.Seconds())
	}
}

// wait returns how long changes have to wait.
func (c *Controller) wait(req Request, changes sliceplan.Changes) time.Duration {
	if changes.Empty() || req.Cluster != c.broker.Self {
		return 0
	}
	return c.pacer.Wait(req, changes.Withdraws, time.Now())
}

// alone tells whether a slice can be dealt with by itself: its part goes well, and no
// other slice has to do with this one.
func (c *Controller) alone(req Request) bool {
	own := req.Cluster == c.broker.Self
	alone := !own || c.overlaps.Alone(req.Service, req.Slice) // first: it has to know of every change
	outcome, known := c.outcomes.Get(req.Part)
	if !known || outcome.Waiting || outcome.Failure != "" {
		return false
	}
	return own && alone || !own && !slices.ContainsFunc(c.broker.SlicesFrom(req.Service, req.Cluster, req.Slice), sliceplan.ByClusterIP)
}

// gather reads the source cluster's slices and ports: none where they are refused. It returns false where it is not
// known yet what they are; an event follows when it is.
func (c *Controller) gather(ctx context.Context, req Request, importation *sliceplan.Importation, refused bool) (known bool, err error) {
	if len(importation.Import.Spec.IPFamilies) == 0 || derived.Portless(importation.Import) { // there is nothing for it in this cluster
		if importation.Own {
			return true, nil
		}
		return true, c.limit(ctx, req, importation)
	}
	if importation.DerivedService == "" {
		return false, nil // the slices have to carry its name
	}
	if importation.Own {
		own, err := local.Gather(ctx, c.local, c.self, req.Service)
		if err != nil || own.Contribution == nil || own.Contribution.Scope == brokerv1alpha1.ScopeHub {
			return err == nil, err
		}
		importation.Ports, importation.IPFamilies = own.Contribution.Ports, own.Contribution.IPFamilies
		importation.Sources = c.sources.Named(req.Service, req.Slice)
		return c.sources.Synced(req.Service.Namespace), nil
	}
	if !c.broker.ExportsSynced() {
		return false, nil
	}
	export := c.broker.Export(req.Service, req.Cluster)
	if export != nil && !c.broker.SlicesSynced(req.Service.Namespace) || !c.options.Withdrawn.Knows(req.Cluster.String()) ||
		!c.broker.MembersSynced() && topology.Wanted(importation.Import) {
		return false, nil
	}
	if export != nil && !refused && export.Spec.Scope != brokerv1alpha1.ScopeHub && c.broker.Admits(export) {
		importation.Ports, importation.IPFamilies = export.Spec.Ports, export.Spec.IPFamilies
		if !c.lost(req.Part, importation.Import, export) {
			importation.Sources = c.othersSources(req)
		}
	}
	c.reportRecord(req.Part, importation.Import, export)
	known = req.Slice != "" || c.admit(req.Part, importation)
	c.refuseEndpoints(req, importation)
	return known, c.limit(ctx, req, importation)
}

// sourcesOf are the source cluster's slices that a request is about, also those of which nothing is imported.
func (c *Controller) sourcesOf(req Request) []*discoveryv1.EndpointSlice {
	if req.Cluster == c.broker.Self {
		return c.sources.Named(req.Service, req.Slice)
	}
	return c.othersSources(req)
}

func (c *Controller) othersSources(req Request) []*discoveryv1.EndpointSlice {
	if req.Slice == "" {
		return c.broker.Slices(req.Service, req.Cluster)
	}
	return c.broker.SlicesFrom(req.Service, req.Cluster, req.Slice)
}

// otherSources are the slices of a part but the request's.
func (c *Controller) otherSources(req Request) []*discoveryv1.EndpointSlice {
	if req.Cluster == c.broker.Self {
		return slices.DeleteFunc(c.sources.Of(req.Service), func(s *discoveryv1.EndpointSlice) bool { return s.Name == req.Slice })
	}
	return slices.DeleteFunc(c.broker.Slices(req.Service, req.Cluster), func(s *discoveryv1.EndpointSlice) bool {
		return s.Annotations[names.AnnotationSourceSlice] == req.Slice
	})
}

// imported returns what there is in this cluster.
func (c *Controller) imported(ctx context.Context, req Request) ([]*discoveryv1.EndpointSlice, error) {
	if req.Slice == "" {
		return local.ImportedSlices(ctx, c.local, req.Service, req.Cluster)
	}
	return local.ImportedFrom(ctx, c.local, req.Service, req.Cluster, req.Slice)
}

// firstList is how long the first list of a namespace's slices may take until people are told
// that it is waited for. It takes some milliseconds as a rule.
const firstList = 5 * time.Second

// await notes that a part can't be tried yet, of which nothing was said before. That its
// derived Service is made first says nothing, nor that its namespace has just been followed: then it
// returns when to look again.
func (c *Controller) await(req Request, importation sliceplan.Importation) time.Duration {
	if _, known := c.outcomes.Get(req.Part); known || importation.DerivedService == "" {
		return 0
	}
	ns := req.Service.Namespace
	synced, followed := c.broker.SlicesSynced(ns), c.broker.FollowedFor(ns)
	if importation.Own {
		synced, followed = c.sources.Synced(ns), c.sources.FollowedFor(ns)
	}
	if left := firstList - followed; !synced && left > 0 && (importation.Own || c.broker.ExportsSynced()) {
		return left
	}
	c.outcomes.Set(req.Part, status.Outcome{Waiting: true})
	return 0
}

// note keeps how writing a part went. What passes by trying again is not told, and one slice
// that went well says nothing of the others.
func (c *Controller) note(req Request, gone bool, times sliceplan.Times, err error) {
	switch {
	case controllers.Refused(err):
		c.outcomes.Set(req.Part, status.Outcome{Failure: controllers.Summary(err), Remarks: c.remarks.list(req.Part)})
	case err != nil:
		if _, known := c.outcomes.Get(req.Part); !known {
			c.outcomes.Set(req.Part, status.Outcome{Waiting: true})
		}
	case req.Slice != "":
		c.triggers.Settle(req.Part, req.Slice, times)
		if outcome, known := c.outcomes.Get(req.Part); known {
			outcome.Remarks = c.remarks.list(req.Part)
			c.outcomes.Set(req.Part, outcome)
		}
	case gone:
		c.forget(req.Part)
		c.release(req.Part)
		c.overlaps.Forget(req.Service)
	case req.Cluster != c.broker.Self && c.broker.Export(req.Service, req.Cluster) == nil:
		c.forget(req.Part) // it has none: the next export is a new one
	default:
		c.triggers.Settle(req.Part, "", times)
		c.outcomes.Set(req.Part, status.Outcome{Remarks: c.remarks.list(req.Part)})
	}
}

// forget forgets what is known of a part of which there is nothing any more.
func (c *Controller) forget(part local.Part) {
	c.triggers.Forget(part)
	c.unstored.Forget(part)
	c.remarks.forget(part)
	c.refusals.replace(part, "", nil)
	c.taken.forget(part)
	c.outcomes.Forget(part)
}
