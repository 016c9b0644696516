package servicepolicy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

const (
	// interval is how often the hub compares, and again when it does after it has found something wrong.
	interval, again = time.Minute, 10 * time.Second
	// patience is how many times in a row something may be wrong before the copies are made anew.
	patience = 6
)

// Voucher vouches for the hub's policies: it compares them with the MultiClusterServices, and counts in the hub's Lease how often it has found everything
// right (docs/explanation/protocol.md, rule 3).
type Voucher struct {
	// Client writes, Reader reads past the cache.
	Client     client.Client
	Reader     client.Reader
	Clusterset string
	Log        *slog.Logger
}

// Start implements manager.Runnable. It fails when the policies stay wrong, as if a watch were silent.
func (v *Voucher) Start(ctx context.Context) error {
	for wrong := 0; ctx.Err() == nil; {
		next := again
		right, err := v.compare(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			v.Log.Warn("Comparing the policies with the MultiClusterServices failed. The hub retries.", "error", err)
		case right:
			wrong, next = 0, interval
		default:
			if wrong++; wrong > patience {
				return errors.New("policies do not follow the MultiClusterServices")
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait.Jitter(next, 0.1)):
		}
	}
	return nil
}

// compare counts in the Lease if everything is right, and returns whether it was.
func (v *Voucher) compare(ctx context.Context) (bool, error) {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Namespace: v.Clusterset, Name: names.HubOwner.String(), Labels: map[string]string{names.LabelSourceCluster: ""}, // so that members list it with theirs
	}}
	err := v.Reader.Get(ctx, client.ObjectKeyFromObject(lease), lease)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("reading the hub's Lease: %w", err)
	}
	if err != nil {
		return false, v.Client.Create(ctx, lease)
	}
	all, policies := &networkingv1alpha1.MultiClusterServiceList{}, &brokerv1alpha1.ServicePolicyList{}
	if err := errors.Join(v.Reader.List(ctx, all), v.Reader.List(ctx, policies, client.InNamespace(v.Clusterset))); err != nil {
		return false, fmt.Errorf("listing MultiClusterServices and policies: %w", err)
	}
	standing := map[types.NamespacedName]*brokerv1alpha1.ServicePolicySpec{}
	for i := range policies.Items {
		if p := &policies.Items[i]; !layout.Withdrawn(p) {
			standing[p.Spec.Service()] = &p.Spec
		}
	}
	for i := range all.Items {
		mcs := &all.Items[i]
		if mcs.DeletionTimestamp != nil {
			continue
		}
		key := client.ObjectKeyFromObject(mcs)
		if have := standing[key]; have == nil || !equality.Semantic.DeepEqual(*have, project(mcs)) {
			return false, nil
		}
		delete(standing, key)
	}
	if len(standing) > 0 {
		return false, nil
	}
	layout.SetCount(lease, layout.Counter(lease).Count+1, false)
	return true, v.Client.Update(ctx, lease) // which fails if somebody else has written it since
}
