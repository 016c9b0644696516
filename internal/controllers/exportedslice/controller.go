// Package exportedslice keeps the EndpointSlices of this cluster's exported Services on the broker: one for each of a Service's slices, or
// for each of its cluster IPs. Each is reconciled by itself.
package exportedslice

import (
	"context"
	"errors"
	"fmt"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/agent/status/exportstatus"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/controllers"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/local"
	"github.com/atoll-mcs/atoll/internal/mcs/endpoints"
	"github.com/atoll-mcs/atoll/internal/mcs/merge"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/revision"
	"github.com/atoll-mcs/atoll/internal/metrics"
	"github.com/atoll-mcs/atoll/internal/pace"
	"github.com/atoll-mcs/atoll/internal/status"
)

// emptyFor is how long a slice whose source is gone stays on the broker without endpoints. That it is empty is what tells other clusters; its
// deletion says nothing.
const emptyFor = 10 * time.Minute

// Controller publishes EndpointSlices.
type Controller struct {
	local    client.Client
	sources  *local.Sources
	broker   *broker.View
	self     local.Cluster
	writer   controllers.Writer // to the broker
	outcomes *status.Outcomes[types.NamespacedName]
	progress *status.Progress
	mode     brokerv1alpha1.AdvertiseMode
	slices   controllers.Slices[types.NamespacedName]
	pacer    *pace.Pacer[Request]
	queue    func(Request, bool) // set when the controller starts

	metrics *metrics.Metrics
	seen    metrics.Stopwatch[Request] // since a change of a slice was seen
	transit metrics.Stopwatch[Request] // since a slice was written
}

// Options are what is decided about what is published, and how.
type Options struct {
	Mode brokerv1alpha1.AdvertiseMode
	// Pace is how writes of one slice are spaced.
	Pace pace.Limits
}

// NewController returns a controller that publishes the endpoints in sources of what the
// cluster self exports. What becomes of it, it tells by outcomes, for each export, and by progress
// of which it was tried.
func NewController(reader client.Client, sources *local.Sources, view *broker.View, self local.Cluster, outcomes *status.Outcomes[types.NamespacedName], progress *status.Progress, measured *metrics.Metrics, options Options) *Controller {
	return &Controller{
		local: reader, sources: sources, broker: view, self: self, outcomes: outcomes, progress: progress, metrics: measured,
		mode: options.Mode, pacer: pace.New[Request](options.Pace),
		writer: controllers.Writer{Client: view.Client, Reader: view.Client, Broker: true},
	}
}

// Name is the controller's name in logs and metrics.
func (c *Controller) Name() string { return "exportedslice" }

// Reconcile has all slices of a Service be reconciled, or brings what is made of one of them up to date.
func (c *Controller) Reconcile(ctx context.Context, req Request) (reconcile.Result, error) {
	round, times := c.progress.Round(), c.slices.Times(req.Service)
	if !c.broker.PublishedSynced() || !c.broker.ExportsSynced() {
		return reconcile.Result{}, nil // every export is queued once they are
	}
	own, err := local.Gather(ctx, c.local, c.self, req.Service)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("gathering export %s: %w", req.Service, err)
	}
	if own.Contribution != nil && !c.sources.Synced(req.Service.Namespace) {
		return reconcile.Result{}, nil // likewise
	}
	if req.Slice == "" {
		return reconcile.Result{}, c.reconcileService(ctx, req.Service, own, round)
	}
	return c.reconcileSlice(ctx, req, own, times)
}

// reconcileService has all slices be reconciled that a Service has or has published.
func (c *Controller) reconcileService(ctx context.Context, service types.NamespacedName, own local.Own, round int) error {
	sources := c.sources.Of(service)
	all := map[string]bool{}
	for _, s := range sources {
		all[s.Name] = true
	}
	for _, s := range c.broker.Published(service) {
		source := s.Annotations[names.AnnotationSourceSlice]
		if source == "" { // somebody has changed it
			if err := c.writer.Delete(ctx, s); err != nil {
				return fmt.Errorf("deleting EndpointSlice %s: %w", s.Name, err)
			}
			continue
		}
		all[source] = true
	}
	var remarks []status.Remark
	switch {
	case own.Contribution == nil || own.Service == nil:
	case c.byClusterIP(own):
		for name := range c.export(own).ClusterIPSlices(own.Service.Spec.ClusterIPs, nil) {
			all[name] = true
		}
	default:
		remarks = exportstatus.Notices(sources)
	}
	c.slices.Begin(service, all, remarks, round)
	for name := range all {
		c.queue(Request{service, name}, true) // what changes by itself comes first
	}
	c.note(service, own)
	return nil
}

// export is what all slices of an exported Service depend on.
func (c *Controller) export(own local.Own) endpoints.Export {
	return endpoints.Export{
		Cluster: c.broker.Self, Service: client.ObjectKeyFromObject(own.Export), BrokerNamespace: c.broker.Namespace,
		Ports: own.Contribution.Ports, Restricted: len(own.Contribution.Ports) < len(own.Service.Spec.Ports),
	}
}

// byClusterIP tells whether an export's cluster IP is published in place of its pods. In a
// headless service the pods stand for themselves, also if this cluster's Service has a cluster IP
// and it is an older export that makes the service headless.
func (c *Controller) byClusterIP(own local.Own) bool {
	return c.mode == brokerv1alpha1.AdvertiseClusterIP && own.Contribution.Type == mcsv1beta1.ClusterSetIP &&
		merge.Type(c.broker.Constituents(client.ObjectKeyFromObject(own.Export), own.Contribution)) == mcsv1beta1.ClusterSetIP
}

// want returns what is to be published of one slice, nil for nothing.
func (c *Controller) want(req Request, own local.Own) (*discoveryv1.EndpointSlice, controllers.SliceResult) {
	switch {
	case own.Contribution == nil || own.Service == nil:
		return nil, controllers.SliceResult{}
	case c.byClusterIP(own):
		return c.export(own).ClusterIPSlices(own.Service.Spec.ClusterIPs, c.sources.Of(req.Service))[req.Slice], controllers.SliceResult{}
	}
	want, refused := c.export(own).Slice(c.sources.Get(req.Service, req.Slice))
	return want, controllers.Leaves(refused)
}

// reconcileSlice brings the broker's slice that is made of one source slice up to date.
func (c *Controller) reconcileSlice(ctx context.Context, req Request, own local.Own, times int) (reconcile.Result, error) {
	have, err := c.have(ctx, req)
	if err != nil {
		return reconcile.Result{}, err
	}
	want, result := c.want(req, own)
	now := time.Now()
	again := time.Duration(0)
	if want == nil && have != nil && own.Contribution != nil { // the export stands: that the slice is empty is what others believe
		switch again = emptyFor - now.Sub(revision.Time(have)); {
		case len(have.Endpoints) > 0:
			if wait := c.slices.MayGo(req.Service, req.Slice, now); wait > 0 {
				return reconcile.Result{RequeueAfter: wait}, nil
			}
			want, again = have.DeepCopy(), emptyFor
			want.Endpoints = nil
		case again > 0:
			want = have
		}
	}
	if !endpoints.Same(have, want) {
		if have != nil && want != nil {
			if wait := c.pacer.Wait(req, endpoints.Withdraws(have, want), now); wait > 0 {
				return reconcile.Result{RequeueAfter: wait}, nil
			}
		}
		if result.Err = c.write(ctx, req, have, want, now); errors.Is(result.Err, controllers.ErrOutdated) {
			return reconcile.Result{RequeueAfter: controllers.OutdatedPause}, nil
		}
	}
	if result.Err == nil {
		c.measure(req, have, want)
	}
	c.slices.Done(req.Service, req.Slice, times, result)
	c.note(req.Service, own)
	if result.Err != nil {
		return reconcile.Result{}, result.Err
	}
	return reconcile.Result{RequeueAfter: max(0, min(again, emptyFor))}, nil
}

// have returns what is published of a source slice, nil for nothing. What has another name than it should, because somebody has changed it, goes.
func (c *Controller) have(ctx context.Context, req Request) (have *discoveryv1.EndpointSlice, err error) {
	for _, s := range c.broker.PublishedFrom(req.Service, req.Slice) {
		if s.Name == names.BrokerSlice(c.broker.Self, req.Service.Namespace, req.Slice) {
			have = s
		} else if err := c.writer.Delete(ctx, s); err != nil {
			return nil, fmt.Errorf("deleting EndpointSlice %s: %w", s.Name, err)
		}
	}
	return have, nil
}

func (c *Controller) write(ctx context.Context, req Request, have, want *discoveryv1.EndpointSlice, now time.Time) error {
	if want != nil {
		last := int64(0)
		if have != nil {
			last = revision.Of(have)
		}
		want = endpoints.Updated(have, want)
		revision.Set(want, last, now)
	}
	c.transit.Start(req)
	err := c.writer.Slice(ctx, have, want)
	if err != nil {
		c.transit.Stop(req)
		return err
	}
	return nil
}

// measure counts the slice and its write, and how long that took.
func (c *Controller) measure(req Request, have, want *discoveryv1.EndpointSlice) {
	service := metrics.Service{Namespace: req.Service.Namespace, Name: req.Service.Name, Cluster: c.broker.Self.String()}
	_, written := kit.CountSlice(c.metrics.Exported, service, req.Slice, have, want)
	if took, live := c.seen.Stop(req); live && written {
		c.metrics.Publish.Observe(took.Seconds())
	}
}

// note tells others how publishing a Service's slices went, once all of them have been tried.
func (c *Controller) note(service types.NamespacedName, own local.Own) {
	sum, all := c.slices.Summary(service)
	if all {
		controllers.Tried(c.progress, status.StepEndpoints, service, sum.Round, sum.Err)
	}
	switch {
	case own.Export == nil:
		c.outcomes.Forget(service)
		if all && sum.Err == nil {
			c.slices.Forget(service)
		}
	case sum.Err != nil:
		c.outcomes.Set(service, status.Outcome{Failure: sum.Err.Error(), Remarks: remarks(sum)})
	case all:
		c.outcomes.Set(service, status.Outcome{Remarks: remarks(sum)})
	}
}
