// Package exportedslice keeps the EndpointSlices of this cluster's exported Services
// on the broker.
package exportedslice

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/controllers"
	"github.com/atoll-mcs/atoll/internal/local"
	"github.com/atoll-mcs/atoll/internal/merge"
	"github.com/atoll-mcs/atoll/internal/metrics"
	"github.com/atoll-mcs/atoll/internal/pace"
	"github.com/atoll-mcs/atoll/internal/sliceplan"
	"github.com/atoll-mcs/atoll/internal/status"
)

// Controller publishes EndpointSlices.
type Controller struct {
	local        client.Client
	sources      *local.Sources
	overlaps     *local.Overlaps
	broker       *broker.View
	self         local.Cluster
	writer       controllers.Writer // to the broker
	outcomes     *status.Outcomes[types.NamespacedName]
	progress     *status.Progress
	mode         brokerv1alpha1.AdvertiseMode
	maxEndpoints int
	// pacer spaces the writes of each slice, and of what is looked at as a whole all together: what moves between slices is
	// written in one go and in an order, and where something fails or is left out nothing is gained by haste. So a change may
	// wait for another slice's there, but never for longer than is its due.
	pacer *pace.Pacer[Request]
	queue func(Request, bool) // set when the controller starts

	metrics *metrics.Metrics
	seen    metrics.Stopwatch[Request] // since a change of a slice was seen
	turns   controllers.Turns[types.NamespacedName]

	triggers controllers.Triggers[types.NamespacedName]
	unstored controllers.Unstored[types.NamespacedName]
}

// Options are what is decided about what is published, and how.
type Options struct {
	Mode brokerv1alpha1.AdvertiseMode
	// MaxEndpoints is the limit of endpoints for one slice.
	MaxEndpoints int
	// Pace is how writes of one slice are spaced.
	Pace pace.Limits
}

// NewController returns a controller that publishes the endpoints in sources of what the
// cluster self exports. What becomes of it, it tells by outcomes, for each export, and by progress
// of which it was tried.
func NewController(reader client.Client, sources *local.Sources, view *broker.View, self local.Cluster, outcomes *status.Outcomes[types.NamespacedName], progress *status.Progress, measured *metrics.Metrics, options Options) *Controller {
	return &Controller{
		local: reader, sources: sources, overlaps: local.NewOverlaps(sources), broker: view, self: self, outcomes: outcomes, progress: progress, metrics: measured,
		mode: options.Mode, maxEndpoints: options.MaxEndpoints, pacer: pace.New[Request](options.Pace),
		writer: controllers.Writer{Client: view.Client, Reader: view.Client, Broker: true},
	}
}

// Name is the controller's name in logs and metrics.
func (c *Controller) Name() string { return "exportedslice" }

// Reconcile brings the broker's slices of one Service up to date, or those that are made from
// one slice.
func (c *Controller) Reconcile(ctx context.Context, req Request) (reconcile.Result, error) {
	if !c.broker.PublishedSynced() || !c.broker.ExportsSynced() {
		c.overlaps.Forget(req.Service)
		c.seen.Move(req, req.whole())
		return reconcile.Result{}, nil // every export is queued once they are
	}
	if wait, all := c.turns.Begin(req.Service, req.Slice, time.Now()); wait > 0 {
		if all && req.Slice != "" {
			c.seen.Move(req, req.whole())
			c.overlaps.Alone(req.Service, req.Slice) // it has to know of every change
		}
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	result, err := c.reconcile(ctx, req)
	if c.turns.End(req.Service, req.Slice, err == nil, time.Now()) {
		c.queue(req.whole(), false)
	}
	if errors.Is(err, controllers.ErrOutdated) {
		return reconcile.Result{RequeueAfter: controllers.OutdatedPause}, nil
	}
	return result, err
}

// reconcile is Reconcile in the request's turn.
func (c *Controller) reconcile(ctx context.Context, req Request) (reconcile.Result, error) {
	own, err := local.Gather(ctx, c.local, c.self, req.Service)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("gathering export %s: %w", req.Service, err)
	}
	if own.Contribution != nil && !c.sources.Synced(req.Service.Namespace) {
		c.overlaps.Forget(req.Service)
		c.seen.Move(req, req.whole())
		return reconcile.Result{}, nil // likewise
	}
	if req.Slice != "" && !c.alone(req, own) {
		c.whole(req)
		return reconcile.Result{}, nil
	}
	sources := c.sources.Named(req.Service, req.Slice)
	p, want, remarks := c.plan(req, own, sources)
	have := p.Published
	changes := sliceplan.Diff(have, want)
	if req.Slice != "" && (len(remarks) > 0 || changes.Removed > 0 && sliceplan.Moved(have, want, c.otherSources(req))) {
		c.whole(req)
		return reconcile.Result{}, nil
	}
	changes = c.unstored.Leave(req.Service, changes, want)
	if wait := c.pacer.Wait(req, changes.Withdraws, time.Now()); wait > 0 && !changes.Empty() {
		c.triggers.Hold(req.Service, changes)
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	c.triggers.Stamp(req.Service, changes)
	c.turns.Writing(req.Service, changes, time.Now())
	versions := controllers.Versions(changes)
	err = c.writer.Slices(ctx, changes)
	c.triggers.Wrote(req.Service, req.Slice, versions, changes)
	if errors.Is(err, controllers.ErrOutdated) {
		return reconcile.Result{}, err
	}
	c.note(req, own, p.Times(sources), remarks, err)
	if req.Slice == "" {
		controllers.Tried(c.progress, status.StepEndpoints, req.Service, err)
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("publishing endpoints of %s: %w", req, err)
	}
	c.unstored.Note(req.Service, versions, changes, want)
	if controllers.Took(versions, changes) {
		c.pacer.Wrote(req, time.Now())
	}
	c.measure(req, have, want, changes)
	return reconcile.Result{}, nil
}

// whole has all of a Service be reconciled in place of one slice.
func (c *Controller) whole(req Request) {
	c.seen.Move(req, req.whole())
	c.queue(req.whole(), false)
}

// alone tells whether a slice can be dealt with by itself: nothing is to be said of its
// Service, which goes well, and no other slice of it has to do with this one.
func (c *Controller) alone(req Request, own local.Own) bool {
	if own.Contribution == nil {
		c.overlaps.Forget(req.Service)
		return false
	}
	alone := c.overlaps.Alone(req.Service, req.Slice) // first: it has to know of every change
	outcome, known := c.outcomes.Get(req.Service)
	if !known || outcome.Failure != "" || len(outcome.Remarks) > 0 || c.byClusterIP(own) {
		return false
	}
	slice := c.sources.Get(req.Service, req.Slice)
	if slice == nil { // what is left may all be others'
		foreign, _ := sliceplan.FirstForeign(c.sources.Of(req.Service))
		return alone && foreign == nil
	}
	return alone && sliceplan.Ordinary(slice)
}

// byClusterIP tells whether an export's cluster IP is published in place of its pods. In a
// headless service the pods stand for themselves, also if this cluster's Service has a cluster IP
// and it is an older export that makes the service headless.
func (c *Controller) byClusterIP(own local.Own) bool {
	return c.mode == brokerv1alpha1.AdvertiseClusterIP && own.Contribution.Type == mcsv1beta1.ClusterSetIP &&
		merge.Type(c.broker.Constituents(client.ObjectKeyFromObject(own.Export), own.Contribution)) == mcsv1beta1.ClusterSetIP
}

// plan returns what is published and what should be, of these sources, and what people should
// know of it.
func (c *Controller) plan(req Request, own local.Own, sources []*discoveryv1.EndpointSlice) (p sliceplan.Publication, want []discoveryv1.EndpointSlice, about []status.Remark) {
	p = sliceplan.Publication{
		Cluster: c.broker.Self, Namespace: req.Service.Namespace, Service: req.Service.Name,
		BrokerNamespace: c.broker.Namespace, MaxEndpoints: c.maxEndpoints,
	}
	if own.Export != nil {
		p.Exported = own.Export.CreationTimestamp.Time
	}
	if own.Contribution != nil {
		p.Ports, p.Restricted = own.Contribution.Ports, len(own.Contribution.Ports) < len(own.Service.Spec.Ports)
	}
	if req.Slice != "" {
		p.Published, p.Sources = c.broker.PublishedFrom(req.Service, req.Slice), sources
		want, refused := sliceplan.Publish(p)
		return p, want, remarks(sources, refused)
	}
	p.Published = c.broker.Published(req.Service)
	if own.Contribution == nil {
		return p, nil, nil
	}
	p.Sources = sources
	if c.byClusterIP(own) {
		p.ClusterIPs = own.Service.Spec.ClusterIPs
		return p, sliceplan.PublishClusterIPs(p), nil
	}
	want, refused := sliceplan.Publish(p)
	return p, want, remarks(sources, refused)
}

// otherSources are the slices of a Service but the request's.
func (c *Controller) otherSources(req Request) []*discoveryv1.EndpointSlice {
	return slices.DeleteFunc(c.sources.Of(req.Service), func(s *discoveryv1.EndpointSlice) bool { return s.Name == req.Slice })
}

// note keeps how writing went, and forgets what is not exported any more. One slice that
// went well says nothing of the others.
func (c *Controller) note(req Request, own local.Own, times sliceplan.Times, remarks []status.Remark, err error) {
	switch {
	case err != nil:
		c.outcomes.Set(req.Service, status.Outcome{Failure: controllers.Summary(err), Remarks: remarks})
	case req.Slice != "":
		c.triggers.Settle(req.Service, req.Slice, times)
	case own.Export == nil:
		c.triggers.Forget(req.Service)
		c.unstored.Forget(req.Service)
		c.outcomes.Forget(req.Service)
		c.overlaps.Forget(req.Service)
	default:
		c.triggers.Settle(req.Service, "", times)
		c.outcomes.Set(req.Service, status.Outcome{Remarks: remarks})
	}
}
