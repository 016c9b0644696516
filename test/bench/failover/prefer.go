package failover

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
	"github.com/atoll-mcs/atoll/test/bench/bed"
	"github.com/atoll-mcs/atoll/test/bench/figure"
)

// preferences changes the preference of both importing clusters under load.
func (b *bench) preferences(ctx context.Context, c *figure.Case) error {
	all, stop, err := b.sendAll(ctx, drained)
	if err != nil {
		return err
	}
	defer stop()
	if _, err := settleAll(ctx, all, time.Now(), calm, time.Minute, failed); err != nil {
		return err
	}
	began, changes := time.Now(), 0
	var took []time.Duration
	for range max(1, int(5*b.Scale)) {
		for _, p := range []trafficv1alpha1.Preference{first(other), first(victim), weights(1, 3), first(victim), {}} {
			if err := b.jitter(ctx); err != nil {
				return err
			}
			changed := time.Now()
			for _, cluster := range clientClusters {
				if err := b.prefer(ctx, cluster, drained, p); err != nil {
					return err
				}
			}
			changes++
			if len(p.ClusterSelectors) == 0 {
				if err := bed.Pause(ctx, calm); err != nil {
					return err
				}
				continue
			}
			wanted := p.ClusterSelectors[0].PropertySelector.MatchProperties[clusterProperty]
			each, err := settleAll(ctx, all, changed, calm, 20*time.Second, func(r request) bool { return r.by != wanted })
			if err != nil {
				return err
			}
			took = append(took, each...)
		}
	}
	lost, sent, err := b.lost(ctx, all, began)
	if err != nil {
		return err
	}
	c.Add(figure.Once(fmt.Sprintf("lost in %d changes of preference, of %d", changes, sent), "requests", float64(lost)).Exactly(0),
		figure.Times("another cluster preferred, until < 1 % go elsewhere", figure.Milliseconds, took, nil))
	return b.prefer(ctx, near, drained, trafficv1alpha1.Preference{})
}

// clusterProperty is the ClusterProperty with a cluster's id.
const clusterProperty = "cluster.clusterset.k8s.io"

func first(cluster string) trafficv1alpha1.Preference {
	return trafficv1alpha1.Preference{ClusterSelectors: []trafficv1alpha1.ClusterGroup{
		{PropertySelector: trafficv1alpha1.PropertySelector{MatchProperties: map[string]string{clusterProperty: cluster}}},
	}}
}

// local is the preference that atoll join --prefer local writes.
func local() trafficv1alpha1.Preference { return first(trafficv1alpha1.SameAsImporter) }

func weights(ofOther, ofVictim int32) trafficv1alpha1.Preference {
	return trafficv1alpha1.Preference{Weights: []trafficv1alpha1.ClusterWeight{{Cluster: other, Weight: ofOther}, {Cluster: victim, Weight: ofVictim}}}
}

// prefer writes the policy of a service in an importing cluster.
func (b *bench) prefer(ctx context.Context, cluster, service string, p trafficv1alpha1.Preference) error {
	policy := &trafficv1alpha1.TrafficPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: service}}
	err := b.on[cluster].Get(ctx, client.ObjectKeyFromObject(policy), policy)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	p.Fallback = trafficv1alpha1.FallbackAll
	policy.Spec = trafficv1alpha1.TrafficPolicySpec{
		TargetRefs: []trafficv1alpha1.LocalPolicyTargetReference{{Group: mcsv1beta1.GroupName, Kind: "ServiceImport", Name: service}}, Preference: p,
	}
	if err != nil {
		return b.on[cluster].Create(ctx, policy)
	}
	return retry.RetryOnConflict(retry.DefaultRetry, func() error { // the agent writes the status
		latest := policy.DeepCopy()
		if err := b.on[cluster].Get(ctx, client.ObjectKeyFromObject(policy), latest); err != nil {
			return err
		}
		latest.Spec = policy.Spec
		return b.on[cluster].Update(ctx, latest)
	})
}
