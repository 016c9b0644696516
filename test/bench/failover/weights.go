package failover

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/test/bench/bed"
	"github.com/atoll-mcs/atoll/test/bench/figure"
)

// weights shares the traffic of a service with many endpoints.
func (b *bench) weights(ctx context.Context, c *figure.Case) error {
	if err := errors.Join(b.create(ctx, weighted, other, 5, endpoints, true), b.create(ctx, weighted, victim, 5, endpoints, true)); err != nil {
		return err
	}
	all, stop, err := b.sendAll(ctx, weighted)
	if err != nil {
		return err
	}
	defer stop()
	for _, share := range []int32{90, 70, 50} {
		for _, cluster := range clientClusters {
			if err := b.prefer(ctx, cluster, weighted, weights(share, 100-share)); err != nil {
				return err
			}
		}
		if err := bed.Pause(ctx, 3*time.Second); err != nil {
			return err
		}
		began := time.Now()
		if err := bed.Pause(ctx, time.Duration(30*b.Scale*float64(time.Second))); err != nil {
			return err
		}
		var active, requests []float64
		of := func(a, b int) float64 { return math.Abs(100*float64(a)/float64(a+b) - float64(share)) }
		for _, t := range all {
			each := t.allSince(began)
			requests = append(requests, of(count(each, by(other)), count(each, by(victim))))
			ready, err := b.activeIn(ctx, t.cluster)
			if err != nil {
				return err
			}
			active = append(active, of(ready[other], ready[victim]))
			b.Say("failover: weights %d and %d in %s: %d and %d of %d endpoints are active, %d of %d requests", share, 100-share, t.cluster,
				ready[other], ready[victim], 2*(endpoints-5), count(each, by(other)), len(each))
		}
		name := fmt.Sprintf("weights %d and %d, 50 endpoints", share, 100-share)
		c.Add(figure.New(name+": active ones are off by", "points", active).P99AtMost(2), figure.New(name+": requests are off by", "points", requests).P99AtMost(2))
	}
	return nil
}

// activeIn counts a cluster's ready endpoints of the weighted service by source cluster.
func (b *bench) activeIn(ctx context.Context, cluster string) (map[string]int, error) {
	var slices discoveryv1.EndpointSliceList
	if err := b.on[cluster].List(ctx, &slices, client.InNamespace(namespace), client.MatchingLabels{names.LabelServiceName: weighted}); err != nil {
		return nil, err
	}
	ready := map[string]int{}
	for _, s := range slices.Items {
		for _, e := range s.Endpoints {
			if ptr.Deref(e.Conditions.Ready, true) {
				ready[s.Labels[names.LabelSourceCluster]]++
			}
		}
	}
	return ready, nil
}
