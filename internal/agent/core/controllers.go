package core

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/atoll-mcs/atoll/internal/agent/imports/ownslice"
	"github.com/atoll-mcs/atoll/internal/agent/imports/service"
	"github.com/atoll-mcs/atoll/internal/agent/imports/serviceimport"
	importedslice "github.com/atoll-mcs/atoll/internal/agent/imports/slice"
	"github.com/atoll-mcs/atoll/internal/agent/inputs"
	"github.com/atoll-mcs/atoll/internal/agent/publish/record"
	publishedslice "github.com/atoll-mcs/atoll/internal/agent/publish/slice"
	"github.com/atoll-mcs/atoll/internal/agent/status/exportstatus"
	"github.com/atoll-mcs/atoll/internal/agent/status/importstatus"
	"github.com/atoll-mcs/atoll/internal/broker/border"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Writes of what one member changes in one namespace: this many at once, and then so many a second.
const (
	paceBurst     = 1000
	pacePerSecond = 100
)

// processControllers are those that live as long as the process and are told of what others see.
type processControllers struct {
	ownslice     *ownslice.Reconciler
	exportstatus *exportstatus.Reconciler
	importstatus *importstatus.Reconciler
}

// addProcessControllers adds the controllers that need this cluster alone.
func (c *core) addProcessControllers() error {
	member := c.mgr.GetCache()
	services, err := service.New(c.cluster, member, c.recorder, c.imports)
	if err != nil {
		return err
	}
	all := []manager.Runnable{services, nil, nil, nil}
	if all[1], c.process.ownslice, err = ownslice.New(c.cluster, member, c.hints, c.Pace, c.imports); err != nil {
		return err
	}
	if all[2], c.process.exportstatus, err = exportstatus.New(c.cluster, member, c.recorder, c.exports); err != nil {
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
	c.hints.OnChange(func(s types.NamespacedName) { c.process.ownslice.Service(context.Background(), s) })
	return nil
}

// sessionControllers returns the controllers that need the broker.
func (c *core) sessionControllers(b *inputs.Broker, broker cache.Cache) (all []manager.Runnable, slices *importedslice.Reconciler, _ error) {
	member := c.mgr.GetCache()
	records, err := record.New(c.cluster, b, member, broker, c.Grace, c.exports)
	if err != nil {
		return nil, nil, err
	}
	published, err := publishedslice.New(c.cluster, b, member, broker, c.Mode, c.Pace, c.exports)
	if err != nil {
		return nil, nil, err
	}
	imports, err := serviceimport.New(c.cluster, b, member, broker, c.recorder)
	if err != nil {
		return nil, nil, err
	}
	imported, slices, err := importedslice.New(importedslice.Dependencies{
		Cluster: c.cluster, Broker: b, Network: c.network, Hints: c.hints, Lost: func(names.ClusterID) bool { return false },
		Pace: border.NewPace(pacePerSecond, paceBurst), Recorder: c.recorder, Problems: c.imports,
	}, member, broker)
	return []manager.Runnable{records, published, imports, imported}, slices, err
}

// followMember has hints follow this cluster's nodes and imported slices.
func (c *core) followMember(ctx context.Context) error {
	node := &metav1.PartialObjectMetadata{}
	node.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Node"))
	if err := kit.Follow(ctx, c.mgr.GetCache(), node, c.hints.Node); err != nil {
		return err
	}
	if err := kit.Follow(ctx, c.mgr.GetCache(), &discoveryv1.EndpointSlice{}, c.hints.Slice); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}
