// Package trafficstatus writes the status of TrafficPolicies.
package trafficstatus

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/agent/inputs"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/choice"
	"github.com/atoll-mcs/atoll/internal/mcs/merge"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/ownership"
)

const kindImport = inputs.KindImport

// Decisions are what was decided about imported services.
type Decisions interface {
	// Decision returns the decision about a service and why its policy does not apply.
	Decision(service types.NamespacedName) (choice.Result, error)
	// Decided publishes the services with a new decision.
	Decided() *kit.Changes[types.NamespacedName]
}

// Reconciler writes status.
type Reconciler struct {
	cluster   *inputs.Cluster
	decisions Decisions
}

// New returns the controller.
func New(c *inputs.Cluster, member cache.Cache, decisions Decisions) (controller.Controller, error) {
	r := &Reconciler{cluster: c, decisions: decisions}
	return kit.New("trafficstatus", r,
		kit.Watch(member, &trafficv1alpha1.TrafficPolicy{}, r.policy),
		kit.Watch(member, &mcsv1beta1.ServiceImport{}, r.imported),
		kit.Watch(member, &mcsv1beta1.ServiceExport{}, func(ctx context.Context, e kit.Event[*mcsv1beta1.ServiceExport]) []reconcile.Request {
			return r.of(ctx, inputs.KindExport, client.ObjectKeyFromObject(e.Latest()))
		}),
		kit.On(&c.Changes, r.changed),
		kit.On(decisions.Decided(), func(ctx context.Context, service types.NamespacedName) []reconcile.Request {
			return slices.Concat(r.of(ctx, inputs.KindImport, service), r.of(ctx, inputs.KindExport, service))
		}),
	)
}

// policy maps a changed policy to all policies for its targets: another one may apply now.
func (r *Reconciler) policy(ctx context.Context, e kit.Event[*trafficv1alpha1.TrafficPolicy]) []reconcile.Request {
	all := []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(e.Latest())}}
	for _, kind := range []string{inputs.KindImport, inputs.KindExport} {
		for _, target := range inputs.Targets(e, kind) {
			all = append(all, r.of(ctx, kind, target.NamespacedName)...)
		}
	}
	return all
}

// imported maps a ServiceImport that appears, is gone, or has another type or traffic distribution to its policies: decisions tell
// the rest, but one without endpoints is not decided.
func (r *Reconciler) imported(ctx context.Context, e kit.Event[*mcsv1beta1.ServiceImport]) []reconcile.Request {
	if e.Old != nil && e.New != nil && e.Old.Spec.Type == e.New.Spec.Type && ptr.Equal(e.Old.Spec.TrafficDistribution, e.New.Spec.TrafficDistribution) {
		return nil
	}
	return r.of(ctx, inputs.KindImport, client.ObjectKeyFromObject(e.Latest()))
}

// changed maps a change of exports to the policies for them: the oldest export's applies.
func (r *Reconciler) changed(ctx context.Context, s kit.Scope) []reconcile.Request {
	var all []reconcile.Request
	if (s == kit.Scope{}) {
		list := &trafficv1alpha1.TrafficPolicyList{} // also those whose export does not exist
		if err := r.cluster.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return nil // the cache has stopped
		}
		for i := range list.Items {
			all = append(all, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
		return all
	}
	for _, service := range r.cluster.Concerned(ctx, s) {
		all = append(all, r.of(ctx, inputs.KindExport, service.NamespacedName)...)
	}
	return all
}

// of returns the policies for a target.
func (r *Reconciler) of(ctx context.Context, kind string, target types.NamespacedName) []reconcile.Request {
	if target.Name == "" {
		return nil
	}
	policies, err := r.cluster.TrafficPolicies(ctx, kind, target)
	if err != nil {
		return nil // the cache has stopped, or not synced yet: its first list queues every policy
	}
	var all []reconcile.Request
	for _, p := range policies {
		all = append(all, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(p)})
	}
	return all
}

// Reconcile writes the status of one TrafficPolicy, if it differs.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	have, err := kit.Get(ctx, r.cluster.Client, req.NamespacedName, &trafficv1alpha1.TrafficPolicy{})
	if err != nil || have == nil {
		return reconcile.Result{}, err
	}
	if !r.cluster.View.Known() && slices.ContainsFunc(have.Spec.TargetRefs, func(t trafficv1alpha1.LocalPolicyTargetReference) bool { return t.Kind == inputs.KindExport }) {
		return reconcile.Result{}, nil // the oldest export is not known yet; the change of everything queues the policy again
	}
	var targets []target
	for _, ref := range have.Spec.TargetRefs {
		if slices.ContainsFunc(targets, func(t target) bool { return t.LocalPolicyTargetReference == ref }) {
			continue
		}
		t, err := r.gather(ctx, have, ref)
		if err != nil {
			return reconcile.Result{}, fmt.Errorf("reading the target %s %s of TrafficPolicy %s: %w", ref.Kind, ref.Name, req, err)
		}
		targets = append(targets, t)
	}
	updated := have.DeepCopy()
	updated.Status = decide(have, choice.IsDefault(have), targets, metav1.Now())
	if equality.Semantic.DeepEqual(have.Status, updated.Status) {
		return reconcile.Result{}, nil
	}
	patch := client.MergeFromWithOptions(have, client.MergeFromWithOptimisticLock{})
	out := kit.OutcomeOf(client.IgnoreNotFound(r.cluster.Client.Status().Patch(ctx, updated, patch, client.FieldOwner(names.ManagerImport))))
	return out.Result("writing the status of TrafficPolicy %s", req)
}

func (r *Reconciler) gather(ctx context.Context, policy *trafficv1alpha1.TrafficPolicy, ref trafficv1alpha1.LocalPolicyTargetReference) (t target, _ error) {
	name := types.NamespacedName{Namespace: policy.Namespace, Name: ref.Name}
	t.LocalPolicyTargetReference = ref
	winner, err := r.cluster.TrafficPolicy(ctx, ref.Kind, name)
	if err != nil || winner == nil {
		return t, err
	}
	t.winner = winner.Name
	if ref.Kind == inputs.KindImport {
		imp, err := kit.Get(ctx, r.cluster.Client, name, &mcsv1beta1.ServiceImport{}, client.UnsafeDisableDeepCopy)
		if t.exists = imp != nil; t.exists && !ownership.IsManaged(imp) {
			t.invalid = errors.New("the ServiceImport is not managed by Atoll")
			return t, err
		}
		if t.result, t.invalid = r.decisions.Decision(name); err != nil || !t.exists {
			return t, err
		}
		// A service without endpoints is not decided, and may have been headless when it was.
		if _, invalid := choice.PolicyOf(&policy.Spec.Preference, imp.Spec.Type == mcsv1beta1.Headless, imp.Spec.TrafficDistribution != nil, false); invalid != nil || choice.IsHeadless(t.invalid) {
			t.invalid = invalid
		}
		return t, err
	}
	own, err := r.cluster.Own(ctx, name)
	if err != nil || own.Export == nil {
		return t, err
	}
	t.exists, t.owns = true, r.cluster.View.Permissions().Owns(r.cluster.ID, name.Namespace)
	switch {
	case own.Contribution == nil || own.Service == nil: // the last contribution of a deleted Service stays for a moment
		t.invalid = errors.New("the ServiceExport does not export a Service: see the conditions of the ServiceExport")
		return t, nil
	case own.Contribution.Scope == brokerv1alpha1.ScopeHub:
		t.invalid = errors.New("only the hub uses the export, and the hub's load balancers do not support an order of clusters")
		return t, nil
	}
	exports, err := r.cluster.Conflicting(ctx, name, own.Contribution) // importers decide, whatever this namespace refuses
	clusterIPs := !r.cluster.PublishesPods || slices.ContainsFunc(exports, func(e merge.Export) bool {
		member := r.cluster.View.Cluster(names.ClusterID(e.ClusterID))
		return member != nil && member.Spec.AdvertiseMode == brokerv1alpha1.AdvertiseClusterIP
	})
	_, t.invalid = choice.PolicyOf(&policy.Spec.Preference, own.Contribution.Type == mcsv1beta1.Headless, own.Contribution.TrafficDistribution != nil, clusterIPs)
	if err != nil || len(exports) == 0 {
		return t, err
	}
	if oldest := choice.OldestExport(exports); oldest.ClusterID != r.cluster.ID.String() {
		t.oldest = names.ClusterID(oldest.ClusterID)
	}
	return t, nil
}
