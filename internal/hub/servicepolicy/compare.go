package servicepolicy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/belief"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

const (
	// interval is the time between comparisons, again the time to the next one after a mismatch.
	interval, again = time.Minute, 10 * time.Second
	// patience is how many mismatches in a row the hub tolerates before it rebuilds its caches.
	patience = 6
)

// Comparer compares the hub's policies with the MultiClusterServices. After each match it increments the counter in the
// hub's Lease (docs/explanation/protocol.md, rule 3).
type Comparer struct {
	// Client writes, and reads from the cache. Reader bypasses the cache.
	Client     client.Client
	Reader     client.Reader
	Clusterset string
	// Failed are the MultiClusterServices whose policies cannot be right.
	Failed *Failed
	Log    *slog.Logger

	last belief.Counter // as this hub has last seen it
}

// errRestored says that the broker shows an older Lease than before. Watches of a restored server can stay silent.
var errRestored = errors.New("the broker was restored")

// Start implements manager.Runnable. It fails when the broker was restored, or when the policies stay wrong, because a
// watch may have stopped delivering.
func (v *Comparer) Start(ctx context.Context) error {
	for wrong := 0; ctx.Err() == nil; {
		next := again
		right, err := v.compare(ctx)
		switch {
		case errors.Is(err, errRestored):
			return err
		case err != nil && ctx.Err() == nil:
			v.Log.Warn("Comparing the ServicePolicies with the MultiClusterServices failed. The hub retries.", "error", err)
		case right:
			wrong, next = 0, interval
		default:
			if wrong++; wrong > patience {
				return errors.New("the ServicePolicies do not match the MultiClusterServices")
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait.Jitter(next, 0.1)):
		}
	}
	return nil
}

// compare increments the Lease's counter if all policies are right, except those that cannot be written, and reports
// whether they are. The Lease says that some are refused, so that members keep policies that are missing.
func (v *Comparer) compare(ctx context.Context) (bool, error) {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Namespace: v.Clusterset, Name: names.HubOwner.String(), Labels: map[string]string{names.LabelSourceCluster: ""}, // so that members list it with their own
	}}
	err := v.Reader.Get(ctx, client.ObjectKeyFromObject(lease), lease)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("reading the hub's Lease: %w", err)
	}
	counter := layout.Counter(lease)
	if v.last.Lease != "" && !v.last.Stands(counter) {
		return false, errRestored
	}
	if err != nil {
		return false, v.Client.Create(ctx, lease)
	}
	v.last = counter
	all, cached, policies := &networkingv1alpha1.MultiClusterServiceList{}, &networkingv1alpha1.MultiClusterServiceList{}, &brokerv1alpha1.ServicePolicyList{}
	if err := errors.Join(v.Client.List(ctx, cached, client.UnsafeDisableDeepCopy), v.Reader.List(ctx, all), v.Reader.List(ctx, policies, client.InNamespace(v.Clusterset))); err != nil {
		return false, fmt.Errorf("listing MultiClusterServices and ServicePolicies: %w", err)
	}
	if !maps.Equal(identities(cached), identities(all)) {
		return false, nil // the broker may have been restored to a time before some of them were created
	}
	standing := map[types.NamespacedName]*brokerv1alpha1.ServicePolicySpec{}
	for i := range policies.Items {
		if p := &policies.Items[i]; !layout.Withdrawn(p) {
			standing[p.Spec.Service()] = &p.Spec
		}
	}
	var wrong []types.NamespacedName
	for i := range all.Items {
		mcs := &all.Items[i]
		if mcs.DeletionTimestamp != nil {
			continue
		}
		key := client.ObjectKeyFromObject(mcs)
		if have := standing[key]; have == nil || !equality.Semantic.DeepEqual(*have, project(mcs)) {
			wrong = append(wrong, key)
		}
		delete(standing, key)
	}
	wrong = slices.AppendSeq(wrong, maps.Keys(standing)) // should have been withdrawn
	if slices.ContainsFunc(wrong, func(key types.NamespacedName) bool { return !v.Failed.Has(key) }) {
		return false, nil
	}
	layout.SetCount(lease, counter.Count+1, len(wrong) > 0)
	if err := v.Client.Update(ctx, lease); err != nil { // such as a conflict
		return true, err
	}
	v.last = layout.Counter(lease)
	return true, nil
}

// identities returns the UIDs of MultiClusterServices.
func identities(list *networkingv1alpha1.MultiClusterServiceList) map[types.NamespacedName]types.UID {
	all := make(map[types.NamespacedName]types.UID, len(list.Items))
	for i := range list.Items {
		all[client.ObjectKeyFromObject(&list.Items[i])] = list.Items[i].UID
	}
	return all
}
