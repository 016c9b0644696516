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
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

const (
	// renewal is the time between renewals of the hub's Lease, interval that between comparisons, after a match.
	renewal, interval = 10 * time.Second, time.Minute
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

	last layout.Mark // of the hub's Lease, as last seen
	// unwritten is set if the Lease was missing and could not be written.
	unwritten bool
}

// errRestored says that the broker shows an older Lease than before. Watches of a restored server can stay silent.
var errRestored = errors.New("the broker was restored")

// Start implements manager.Runnable. It fails when the broker was restored, or when the policies stay wrong, because a
// watch may have stopped delivering.
func (v *Comparer) Start(ctx context.Context) error {
	next := time.Now()
	for wrong := 0; ctx.Err() == nil; {
		lease, err := v.renew(ctx)
		if errors.Is(err, errRestored) {
			return err
		}
		if err == nil && !time.Now().Before(next) {
			var right bool
			if right, err = v.compare(ctx, lease); err == nil && right {
				wrong, next = 0, time.Now().Add(interval)
			} else if err == nil {
				if wrong++; wrong > patience {
					return errors.New("the ServicePolicies do not match the MultiClusterServices")
				}
			}
		}
		if err != nil && ctx.Err() == nil {
			v.Log.Warn("Failed to compare the ServicePolicies with the MultiClusterServices. The hub retries", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait.Jitter(renewal, 0.1)):
		}
	}
	return nil
}

// renew reads and writes the hub's Lease, so that a restore of the broker to an earlier state shows.
func (v *Comparer) renew(ctx context.Context) (*coordinationv1.Lease, error) {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Namespace: v.Clusterset, Name: names.HubOwner.String(), Labels: map[string]string{names.LabelSourceCluster: ""}, // so that members list it with their own
	}}
	err := v.Reader.Get(ctx, client.ObjectKeyFromObject(lease), lease)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading the hub's Lease: %w", err)
	}
	if !v.last.IsReached(layout.MarkOf(lease)) {
		return nil, errRestored
	}
	write := func(o client.Object) error { return v.Client.Update(ctx, o) }
	if err != nil {
		write = func(o client.Object) error { return v.Client.Create(ctx, o) }
	}
	missing := err != nil
	lease.Spec.RenewTime = ptr.To(metav1.NowMicro())
	if err := write(lease); err != nil { // such as a conflict
		v.unwritten = v.unwritten || missing
		return nil, fmt.Errorf("writing the hub's Lease: %w", err)
	}
	if v.unwritten { // without a Lease nobody can tell whether the broker was wiped meanwhile
		return nil, errRestored
	}
	v.last = layout.MarkOf(lease)
	return lease, nil
}

// compare increments the Lease's counter if all policies are right, except those that cannot be written, and reports
// whether they are. The Lease says that some are refused, so that members keep policies that are missing.
func (v *Comparer) compare(ctx context.Context, lease *coordinationv1.Lease) (bool, error) {
	all, cached, policies := &networkingv1alpha1.MultiClusterServiceList{}, &networkingv1alpha1.MultiClusterServiceList{}, &brokerv1alpha1.ServicePolicyList{}
	if err := errors.Join(v.Client.List(ctx, cached, client.UnsafeDisableDeepCopy), v.Reader.List(ctx, all), v.Reader.List(ctx, policies, client.InNamespace(v.Clusterset))); err != nil {
		return false, fmt.Errorf("listing MultiClusterServices and ServicePolicies: %w", err)
	}
	if !maps.Equal(identities(cached), identities(all)) {
		return false, nil // the broker may have been restored to a time before some of them were created
	}
	standing := map[types.NamespacedName]*brokerv1alpha1.ServicePolicySpec{}
	for i := range policies.Items {
		p := &policies.Items[i]
		// Members ignore a policy with another name, which is not the hub's.
		if service := p.Spec.Service(); !layout.Withdrawn(p) && p.Name == names.ServicePolicy(service.Namespace, service.Name) {
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
	layout.SetCount(lease, layout.Counter(lease).Count+1, len(wrong) > 0)
	if err := v.Client.Update(ctx, lease); err != nil { // such as a conflict
		return false, fmt.Errorf("writing the hub's Lease: %w", err)
	}
	v.last = layout.MarkOf(lease)
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
