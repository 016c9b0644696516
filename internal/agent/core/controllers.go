package core

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/atoll-mcs/atoll/internal/agent/catalogue"
	"github.com/atoll-mcs/atoll/internal/agent/imports/importedslice"
	"github.com/atoll-mcs/atoll/internal/agent/imports/service"
	"github.com/atoll-mcs/atoll/internal/agent/imports/serviceimport"
	"github.com/atoll-mcs/atoll/internal/agent/inputs"
	"github.com/atoll-mcs/atoll/internal/agent/lost"
	"github.com/atoll-mcs/atoll/internal/agent/publish/compare"
	"github.com/atoll-mcs/atoll/internal/agent/publish/exportedslice"
	"github.com/atoll-mcs/atoll/internal/agent/publish/policyexport"
	"github.com/atoll-mcs/atoll/internal/agent/publish/record"
	"github.com/atoll-mcs/atoll/internal/agent/remembered"
	"github.com/atoll-mcs/atoll/internal/agent/status/exportstatus"
	"github.com/atoll-mcs/atoll/internal/agent/status/importstatus"
	"github.com/atoll-mcs/atoll/internal/agent/status/trafficstatus"
	"github.com/atoll-mcs/atoll/internal/broker/view"
)

// Rate limit for applying one member's changes in one namespace: a burst, then a number per second.
const (
	paceBurst     = 1000
	pacePerSecond = 100
)

// addProcessControllers adds the controllers that live as long as the process, and returns the one that imports EndpointSlices.
func (c *core) addProcessControllers() (imports *importedslice.Reconciler, _ error) {
	member := c.mgr.GetCache()
	var all []manager.Runnable
	var failed error
	add := func(r manager.Runnable, err error) { all, failed = append(all, r), errors.Join(failed, err) }
	add(service.New(c.cluster, member, c.addresses, c.recorder, c.imports))
	add(serviceimport.New(c.cluster, member, c.pace, c.recorder, c.imports, c.exports))
	slices, imports, err := importedslice.New(importedslice.Dependencies{
		Cluster: c.cluster, Network: c.network, Hints: c.hints, Hosts: c.hosts, Lost: c.lost, OmitStandby: c.OmitStandby,
		Pace: c.pace, Limits: c.Pace, Recorder: c.recorder, Problems: c.imports, Metrics: c.Metrics,
	}, member)
	add(slices, err)
	add(remembered.New(c.cluster, c.Warn, c.Log))
	add(policyexport.New(c.cluster, member, c.recorder))
	add(exportstatus.New(c.cluster, member, c.recorder, c.exports, c.missing))
	add(importstatus.New(c.cluster, member, c.recorder, c.imports, imports.Missing))
	add(trafficstatus.New(c.cluster, member, imports))
	add(lost.NewController(lost.Options{
		Cluster: c.cluster, Heartbeats: c.Heartbeats, Prober: lost.NewProber(c.Dial, c.Metrics.Probes, c.Network.Families, c.network),
		Timeout: c.LeaseTimeout, Node: c.Node, Renew: c.Renew, Log: c.Log,
	}, c.lost), nil)
	if failed != nil {
		return nil, failed
	}
	for _, r := range all {
		if err := c.mgr.Add(r); err != nil {
			return nil, fmt.Errorf("adding a controller: %w", err)
		}
	}
	return imports, nil
}

// connectionControllers returns the controllers of a connection, and the one that publishes EndpointSlices.
func (c *core) connectionControllers(b *inputs.Broker, from view.Connection) (all []manager.Runnable, published *exportedslice.Reconciler, err error) {
	member, broker := c.mgr.GetCache(), from.Cache
	add := func(r manager.Runnable, e error) { all, err = append(all, r), errors.Join(err, e) }
	writes := compare.NewWrites(c.Metrics.ForeignWrites)
	records, recordsReconciler, e := record.New(c.cluster, b, member, c.Grace, c.exports, writes)
	add(records, e)
	slices, published, e := exportedslice.New(c.cluster, b, member, broker, c.Mode, c.Pace, c.exports, c.Metrics, writes)
	add(slices, e)
	add(&compare.Comparer{Cluster: c.cluster, Broker: b, Lease: c.Lease, Records: recordsReconciler, Slices: published, Writes: writes, Log: c.Log}, nil)
	add(c.cluster.View.Reader(from))
	add(catalogue.New(c.cluster, b, broker, c.Heartbeats))
	return all, published, err
}

// missing reports whether a slice of a service is about to be published for the first time.
func (c *core) missing(ctx context.Context, service types.NamespacedName) (bool, error) {
	if published := c.published.Load(); published != nil {
		return published.Missing(ctx, service)
	}
	return false, nil // a connection begins or ends; the export is queued again when one has started
}
