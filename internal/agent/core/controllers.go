package core

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/atoll-mcs/atoll/internal/agent/catalogue"
	"github.com/atoll-mcs/atoll/internal/agent/imports/ownslice"
	"github.com/atoll-mcs/atoll/internal/agent/imports/service"
	"github.com/atoll-mcs/atoll/internal/agent/imports/serviceimport"
	importedslice "github.com/atoll-mcs/atoll/internal/agent/imports/slice"
	"github.com/atoll-mcs/atoll/internal/agent/inputs"
	"github.com/atoll-mcs/atoll/internal/agent/lost"
	"github.com/atoll-mcs/atoll/internal/agent/publish/compare"
	"github.com/atoll-mcs/atoll/internal/agent/publish/policyexport"
	"github.com/atoll-mcs/atoll/internal/agent/publish/record"
	publishedslice "github.com/atoll-mcs/atoll/internal/agent/publish/slice"
	"github.com/atoll-mcs/atoll/internal/agent/status/exportstatus"
	"github.com/atoll-mcs/atoll/internal/agent/status/importstatus"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Rate limit for applying one member's changes in one namespace: a burst, then a number per second.
const (
	paceBurst     = 1000
	pacePerSecond = 100
)

// processControllers live as long as the process. Sessions and other controllers notify them of changes.
type processControllers struct {
	ownslice     *ownslice.Reconciler
	exportstatus *exportstatus.Reconciler
	importstatus *importstatus.Reconciler
}

func (c *core) addProcessControllers() error {
	member := c.mgr.GetCache()
	services, err := service.New(c.cluster, member, c.recorder, c.imports)
	if err != nil {
		return err
	}
	all := []manager.Runnable{services, nil, nil, nil}
	if all[1], c.process.ownslice, err = ownslice.New(c.cluster, member, c.hints, c.Pace, c.imports, c.Metrics); err != nil {
		return err
	}
	if all[2], c.process.exportstatus, err = exportstatus.New(c.cluster, member, c.recorder, c.exports, c.missing); err != nil {
		return err
	}
	if all[3], c.process.importstatus, err = importstatus.New(c.cluster, member, c.recorder, c.imports); err != nil {
		return err
	}
	for _, r := range all {
		if err := c.mgr.Add(r); err != nil {
			return fmt.Errorf("adding a controller: %w", err)
		}
	}
	return nil
}

// listeners are a session's reconcilers that need notice of changes that no cache reports.
type listeners struct {
	imports   *serviceimport.Reconciler
	slices    *importedslice.Reconciler
	catalogue *catalogue.Reconciler
	published *publishedslice.Reconciler
	records   *record.Reconciler
	policies  *policyexport.Reconciler
}

func (c *core) sessionControllers(b *inputs.Broker, broker cache.Cache) (all []manager.Runnable, tell listeners, err error) {
	member := c.mgr.GetCache()
	add := func(r manager.Runnable, e error) {
		all, err = append(all, r), errors.Join(err, e)
	}
	records, recordsReconciler, e := record.New(c.cluster, b, member, broker, c.Grace, c.exports)
	add(records, e)
	published, publishedReconciler, e := publishedslice.New(c.cluster, b, member, broker, c.Mode, c.Pace, c.exports, c.Metrics)
	add(published, e)
	add(&compare.Comparer{Cluster: c.cluster, Broker: b, Lease: c.Lease, Records: recordsReconciler, Slices: publishedReconciler, Log: c.Log}, nil)
	policies, policiesReconciler, e := policyexport.New(c.cluster, b, member, broker, c.recorder)
	add(policies, e)
	imports, importsReconciler, e := serviceimport.New(c.cluster, b, member, broker, c.pace, c.recorder)
	add(imports, e)
	slices, slicesReconciler, e := importedslice.New(importedslice.Dependencies{
		Cluster: c.cluster, Broker: b, Network: c.network, Hints: c.hints, Lost: c.lost,
		Pace: c.pace, Recorder: c.recorder, Problems: c.imports, Metrics: c.Metrics,
	}, member, broker)
	add(slices, e)
	entries, entriesReconciler, e := catalogue.New(c.cluster, b, member, broker, c.Heartbeats)
	add(entries, e)
	add(lost.NewController(c.cluster, b, c.Heartbeats, lost.NewProber(c.Dial, c.Network.Families, c.network), c.LeaseTimeout, c.lost, c.Renew, c.Log), nil)
	return all, listeners{importsReconciler, slicesReconciler, entriesReconciler, publishedReconciler, recordsReconciler, policiesReconciler}, err
}

// missing reports whether a slice of a service is about to be published for the first time.
func (c *core) missing(ctx context.Context, service types.NamespacedName) (bool, error) {
	if tell := c.current.Load(); tell != nil {
		return tell.published.Missing(ctx, service)
	}
	return false, nil // a session is starting or ending; the export is queued again when one has started
}

// all queues all objects of the controllers that live as long as the process.
func (c *core) all(ctx context.Context) {
	c.process.ownslice.All(ctx)
	c.process.exportstatus.All(ctx)
	c.process.importstatus.All(ctx)
}

// connect registers the callbacks for changes that no cache reports.
func (c *core) connect(ctx context.Context) {
	slices := func(f func(*importedslice.Reconciler)) {
		if tell := c.current.Load(); tell != nil {
			f(tell.slices)
		}
	}
	c.hints.OnChange(func(s types.NamespacedName) {
		c.process.ownslice.Service(ctx, s)
		slices(func(r *importedslice.Reconciler) { r.Service(ctx, s) })
	})
	c.lost.OnChange(func(id string) { c.member(ctx, names.ClusterID(id)) })
	c.hosts.OnChange(func(added []netip.Prefix) { slices(func(r *importedslice.Reconciler) { r.At(ctx, added) }) })
	c.Heartbeats.OnChange(func(id names.ClusterID) {
		if tell := c.current.Load(); tell != nil {
			tell.catalogue.Member(ctx, id)
		}
	})
}

// member queues everything that depends on a member: the member was lost, has returned, or has changed.
func (c *core) member(ctx context.Context, id names.ClusterID) {
	tell := c.current.Load()
	if tell == nil {
		return
	}
	services, err := c.cluster.ServicesOf(ctx, c.cluster.Broker(), id)
	if err != nil {
		return // a cache has stopped
	}
	for _, service := range services {
		c.merged(service)
	}
	tell.slices.From(ctx, id)
}

// believed queues everything of a service when other records of it count, or another policy, although the broker has not
// changed.
func (c *core) believed(service types.NamespacedName) {
	ctx := context.Background() // all is read from caches
	c.merged(service)
	c.process.ownslice.Service(ctx, service)
	if tell := c.current.Load(); tell != nil {
		tell.slices.Service(ctx, service)
		tell.policies.Service(service)
		tell.records.Queue(service)
	}
}

// merged queues everything that is computed from all records of a service.
func (c *core) merged(service types.NamespacedName) {
	c.process.exportstatus.Service(service)
	c.process.importstatus.Service(service)
	if tell := c.current.Load(); tell != nil {
		tell.imports.Service(service)
		tell.catalogue.Service(service)
	}
}
