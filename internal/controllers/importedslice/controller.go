// Package importedslice keeps the EndpointSlices of imported services in this cluster: one for each slice that another cluster has published, and
// for this cluster's own contribution one for each slice of its own Service, with no need of the broker. Each is reconciled by itself. What the
// API server refuses the ServiceImport's condition Ready says, which controller importstatus owns.
package importedslice

import (
	"context"
	"errors"
	"fmt"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/controllers"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/local"
	"github.com/atoll-mcs/atoll/internal/mcs/endpoints"
	"github.com/atoll-mcs/atoll/internal/mcs/merge"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/revision"
	"github.com/atoll-mcs/atoll/internal/mcs/topology"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
	"github.com/atoll-mcs/atoll/internal/metrics"
	"github.com/atoll-mcs/atoll/internal/pace"
	"github.com/atoll-mcs/atoll/internal/staleness"
	"github.com/atoll-mcs/atoll/internal/status"
)

// Controller keeps imported EndpointSlices.
type Controller struct {
	local    client.Client
	writer   controllers.Writer
	sources  *local.Sources
	broker   *broker.View
	exports  func(types.NamespacedName, *merge.Export) []merge.Export // broker.Constituents
	self     local.Cluster
	options  Options
	zones    local.Zones
	census   topology.Census
	recorder events.EventRecorder
	slices   controllers.Slices[local.Part]
	said     controllers.Said[remarkOf, types.UID]
	share    *share
	outcomes *status.Outcomes[local.Part]
	pacer    *pace.Pacer[Request] // as exportedslice has it
	queue    func(Request, bool)  // set when the controller starts
	metrics  *metrics.Metrics
	seen     metrics.Stopwatch[Request] // since a change of another cluster's slice was seen
}

// Options are what is decided about what is imported, and how.
type Options struct {
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
	c := &Controller{
		local: writer.Client, writer: writer, sources: sources, broker: view, exports: view.Constituents, self: self, recorder: recorder, outcomes: outcomes,
		metrics: measured, options: options, pacer: pace.New[Request](options.Pace), share: newShare(options.MaxPerMember),
	}
	measured.Limit("endpoints", c.share.Lacking)
	measured.Limit("addresses", c.refused)
	return c
}

// refused returns how much is left out of each cluster's slices as invalid or not allowed.
func (c *Controller) refused() map[string]int {
	counts := map[string]int{}
	for part, n := range c.slices.Counts() {
		counts[part.Cluster.String()] += n
	}
	return counts
}

// Name is the controller's name in logs and metrics.
func (c *Controller) Name() string { return "importedslice" }

// Reconcile has all slices of a part be reconciled, or brings what is made of one of them up to date.
func (c *Controller) Reconcile(ctx context.Context, req Request) (reconcile.Result, error) {
	times := c.slices.Times(req.Part)
	of, err := c.gather(ctx, req.Part)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("gathering endpoints of %s: %w", req, err)
	}
	switch {
	case !of.known && req.Slice == "":
		return reconcile.Result{RequeueAfter: c.await(req.Part, of)}, nil
	case !of.known:
		return reconcile.Result{}, nil // the part is queued when it is known
	case req.Slice == "":
		return reconcile.Result{}, c.reconcilePart(ctx, req.Part, of)
	}
	return c.reconcileSlice(ctx, req, of, times)
}

// reconcilePart has all slices be reconciled that a part has or that are imported of it.
func (c *Controller) reconcilePart(ctx context.Context, part local.Part, of inputs) error {
	imported, err := local.ImportedSlices(ctx, c.local, part.Service, part.Cluster)
	if err != nil {
		return fmt.Errorf("listing imported slices of %s: %w", part, err)
	}
	all := map[string]bool{}
	for _, s := range imported {
		source := s.Annotations[names.AnnotationSourceSlice]
		if source == "" { // somebody has changed it
			if err := c.writer.Delete(ctx, s); err != nil {
				return fmt.Errorf("deleting EndpointSlice %s: %w", s.Name, err)
			}
			continue
		}
		all[source] = true
	}
	if part.Cluster == c.broker.Self {
		for _, s := range c.sources.Of(part.Service) {
			all[s.Name] = true
		}
	} else {
		for _, s := range c.broker.Slices(part.Service, part.Cluster) {
			all[s.Annotations[names.AnnotationSourceSlice]] = true
		}
	}
	delete(all, "")
	c.slices.Begin(part, all, of.remarks, 0)
	for name := range all {
		c.queue(Request{part, name}, true) // what changes by itself comes first
	}
	c.note(part, of)
	return nil
}

// reconcileSlice brings the imported slice that is made of one source slice up to date.
func (c *Controller) reconcileSlice(ctx context.Context, req Request, of inputs, times int) (reconcile.Result, error) {
	have, err := c.have(ctx, req)
	if err != nil {
		return reconcile.Result{}, err
	}
	want, result, err := c.want(ctx, req, of, have)
	if err != nil {
		return reconcile.Result{}, err
	}
	now := time.Now()
	if !endpoints.Same(have, want) {
		if wait := c.wait(req, of, have, want, now); wait > 0 {
			return reconcile.Result{RequeueAfter: wait}, nil
		}
		if result.Err = c.write(ctx, have, want); errors.Is(result.Err, controllers.ErrOutdated) {
			return reconcile.Result{RequeueAfter: controllers.OutdatedPause}, nil
		}
	}
	if result.Err == nil {
		c.measure(req, have, want, now)
	} else {
		result.Err = fmt.Errorf("importing %s: %w", req, result.Err)
	}
	c.slices.Done(req.Part, req.Slice, times, result)
	c.note(req.Part, of)
	return reconcile.Result{}, result.Err
}

// have returns what is imported of a source slice, nil for nothing. What has another name than it may have, because somebody has changed it, goes.
func (c *Controller) have(ctx context.Context, req Request) (have *discoveryv1.EndpointSlice, err error) {
	imported, err := local.ImportedFrom(ctx, c.local, req.Service, req.Cluster, req.Slice)
	if err != nil {
		return nil, fmt.Errorf("listing imported slices of %s: %w", req, err)
	}
	name := names.ImportedSlice(req.Cluster, req.Slice)
	for _, s := range imported {
		if have == nil && (s.Name == name || s.Name == names.OtherImportedSlice(name)) {
			have = s
		} else if err := c.writer.Delete(ctx, s); err != nil {
			return nil, fmt.Errorf("deleting EndpointSlice %s: %w", s.Name, err)
		}
	}
	return have, nil
}

// want returns what is to be imported of a slice, nil for nothing, and what there is to say of it.
func (c *Controller) want(ctx context.Context, req Request, of inputs, have *discoveryv1.EndpointSlice) (want *discoveryv1.EndpointSlice, result controllers.SliceResult, err error) {
	switch {
	case of.held:
		return c.allowed(req, have), result, nil
	case !of.imports:
		return nil, result, c.release(ctx, req)
	}
	source := c.source(req)
	if !of.Own && have != nil && (source == nil || revision.Of(source) < revision.Of(have)) &&
		!c.broker.Believes(req.Service, req.Cluster, req.Slice, func() { c.queue(req, false) }) {
		return c.allowed(req, have), result, nil
	}
	if source == nil {
		return nil, result, c.release(ctx, req)
	}
	if !of.Own {
		if source, result = c.admitted(req, source); source == nil {
			return nil, result, c.release(ctx, req)
		}
		if source, err = c.limit(ctx, req, source); err != nil {
			return nil, result, err
		}
	}
	if want = of.Slice(source); want == nil {
		return nil, result, nil
	}
	if have != nil {
		want.Name = have.Name
	}
	if want.Name != names.ImportedSlice(req.Cluster, req.Slice) {
		result.Remarks = append(result.Remarks, nameTaken(req, want))
	}
	c.hint(req, of.Import.Import, want)
	return want, result, nil
}

// source returns the source slice of a request, nil for none.
func (c *Controller) source(req Request) *discoveryv1.EndpointSlice {
	if req.Cluster == c.broker.Self {
		return c.sources.Get(req.Service, req.Slice)
	}
	for _, s := range c.broker.SlicesFrom(req.Service, req.Cluster, req.Slice) {
		if s.Name == names.BrokerSlice(req.Cluster, req.Service.Namespace, req.Slice) {
			return s
		}
	}
	return nil
}

// allowed returns an imported slice that stays although the broker does not have it, or has an older one, without the endpoints that the broker's
// owner does not allow its cluster any more. Otherwise a member would get round that by deleting what it has published.
func (c *Controller) allowed(req Request, have *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	if have == nil || req.Cluster == c.broker.Self {
		return have
	}
	clean, _ := c.options.Network.Slice(req.Cluster, have)
	return clean
}

// wait returns how long a change has to wait.
func (c *Controller) wait(req Request, of inputs, have, want *discoveryv1.EndpointSlice, now time.Time) time.Duration {
	if have == nil {
		return 0
	}
	if of.imports && len(have.Endpoints) > 0 && (want == nil || len(want.Endpoints) == 0) {
		return c.slices.MayGo(req.Part, req.Slice, now)
	}
	if req.Cluster != c.broker.Self || want == nil {
		return 0
	}
	return c.pacer.Wait(req, endpoints.Withdraws(have, want), now)
}

// write writes a slice. Where somebody else's slice has its name, it gets another one.
func (c *Controller) write(ctx context.Context, have, want *discoveryv1.EndpointSlice) error {
	if want != nil {
		want = endpoints.Updated(have, want)
	}
	err := c.writer.Slice(ctx, have, want)
	if taken := (controllers.TakenError{}); have == nil && errors.As(err, &taken) && !taken.Ours {
		want.Name = names.OtherImportedSlice(want.Name)
		return c.writer.Slice(ctx, nil, want)
	}
	return err
}

// measure counts the slice and its write, and how long that took.
func (c *Controller) measure(req Request, have, want *discoveryv1.EndpointSlice, now time.Time) {
	service := metrics.Service{Namespace: req.Service.Namespace, Name: req.Service.Name, Cluster: req.Cluster.String()}
	changed, written := kit.CountSlice(c.metrics.Imported, service, req.Slice, have, want)
	took, live := c.seen.Stop(req)
	if !live || !written {
		return
	}
	c.metrics.Import.Observe(took.Seconds())
	if want == nil || changed == 0 {
		return
	}
	// The time is the source cluster's, so that the two clusters' clocks have to agree, as kube-proxy's latency metric supposes too.
	if at, err := time.Parse(time.RFC3339Nano, want.Annotations[names.AnnotationLastChangeTriggerTime]); err == nil && !at.After(now) {
		c.metrics.Total.Observe(time.Since(at).Seconds())
	}
}
