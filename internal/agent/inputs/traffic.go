package inputs

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/choice"
	"github.com/atoll-mcs/atoll/internal/mcs/merge"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/refusal"
)

// Kinds of a TrafficPolicy's targets.
const (
	KindImport = mcsv1beta1.ServiceImportKindName
	KindExport = mcsv1beta1.ServiceExportKindName
)

// policiesFor finds the TrafficPolicies for a target.
const policiesFor = "target"

func targets(o client.Object) (all []string) {
	for _, target := range o.(*trafficv1alpha1.TrafficPolicy).Spec.TargetRefs {
		all = append(all, target.Kind+"/"+target.Name)
	}
	return slices.Compact(slices.Sorted(slices.Values(all)))
}

// TrafficPolicy returns the TrafficPolicy that applies to a ServiceImport or ServiceExport, or nil. Callers must not change it.
func (c *Cluster) TrafficPolicy(ctx context.Context, kind string, target types.NamespacedName) (*trafficv1alpha1.TrafficPolicy, error) {
	all, err := c.TrafficPolicies(ctx, kind, target)
	return choice.Oldest(all), err
}

// TrafficPolicies returns all TrafficPolicies for a target. Callers must not change them.
func (c *Cluster) TrafficPolicies(ctx context.Context, kind string, target types.NamespacedName) ([]*trafficv1alpha1.TrafficPolicy, error) {
	list := &trafficv1alpha1.TrafficPolicyList{}
	if err := c.Client.List(ctx, list, client.InNamespace(target.Namespace), client.MatchingFields{policiesFor: kind + "/" + target.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	all := make([]*trafficv1alpha1.TrafficPolicy, len(list.Items))
	for i := range list.Items {
		all[i] = &list.Items[i]
	}
	return all, nil
}

// SpecChanges reports whether an event of a TrafficPolicy is not only about its status. One that was deleted and created again
// within an event has the same generation.
func SpecChanges(e kit.Event[*trafficv1alpha1.TrafficPolicy]) bool {
	return e.Old == nil || e.New == nil || e.Old.Generation != e.New.Generation || e.Old.UID != e.New.UID
}

// Targets returns the targets of a kind that a changed TrafficPolicy has or had.
func Targets(e kit.Event[*trafficv1alpha1.TrafficPolicy], kind string) (all []reconcile.Request) {
	if !SpecChanges(e) {
		return nil
	}
	for _, policy := range e.Versions() {
		for _, target := range policy.Spec.TargetRefs {
			if target.Kind == kind {
				all = append(all, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: policy.Namespace, Name: target.Name}})
			}
		}
	}
	return all
}

// defaultPolicy returns the cluster's default TrafficPolicy, or nil.
func (c *Cluster) defaultPolicy(ctx context.Context) (*trafficv1alpha1.TrafficPolicy, error) {
	policy, err := kit.Get(ctx, c.Client, client.ObjectKey{Namespace: names.SystemNamespace, Name: trafficv1alpha1.DefaultPolicy}, &trafficv1alpha1.TrafficPolicy{}, client.UnsafeDisableDeepCopy)
	if policy != nil && !choice.IsDefault(policy) {
		return nil, err
	}
	return policy, err
}

// Preference returns the preference of clusters for an imported service, or nil. ignored is set if a part of another cluster's
// policy does not count here.
func (c *Cluster) Preference(ctx context.Context, service types.NamespacedName, exports []merge.Export) (p choice.Applied, _ error) {
	own, err := c.TrafficPolicy(ctx, KindImport, service)
	if err != nil {
		return p, err
	}
	byDefault, err := c.defaultPolicy(ctx)
	if err != nil {
		return p, err
	}
	accepts := func(id names.ClusterID) bool { // few policies ask
		namespace, readErr := c.namespace(ctx, service.Namespace)
		if err = readErr; namespace == nil {
			return false
		}
		accepted, _ := refusal.Parse(namespace.Annotations[names.AnnotationAcceptWeights]) // of invalid ids, none
		return accepted.Has(id) || c.View.Permissions().Owns(id, service.Namespace)
	}
	p = choice.PreferenceOf(own, byDefault, exports, c.ID, accepts)
	return p, err
}
