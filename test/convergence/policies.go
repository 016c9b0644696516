package convergence

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/mcs/merge"
)

// policyProblems checks the status of a cluster's TrafficPolicies.
func (w *world) policyProblems(ctx context.Context, f *findings, c *cluster, t *truth) error {
	found, err := list(ctx, c.admin, &trafficv1alpha1.TrafficPolicyList{})
	if err != nil {
		return err
	}
	if len(found.Items) != len(c.users.wishes) {
		f.add("%d TrafficPolicies of %d", len(found.Items), len(c.users.wishes))
	}
	for a, want := range c.users.wishes {
		i := slices.IndexFunc(found.Items, func(p trafficv1alpha1.TrafficPolicy) bool { return keyOf(&p) == a.policy() })
		if i < 0 {
			f.add("TrafficPolicy %s is gone", a.policy())
			continue
		}
		policy := &found.Items[i]
		f.same("TrafficPolicy "+a.policy().String(), policy.Spec, a.spec(want))
		if len(policy.Status.Targets) != 1 || policy.Status.Targets[0].Kind != a.kind {
			f.add("TrafficPolicy %s has the targets %+v", a.policy(), policy.Status.Targets)
			continue
		}
		of := policy.Status.Targets[0]
		reason := t.acceptance(c, a, want)
		have := meta.FindStatusCondition(of.Conditions, trafficv1alpha1.ConditionAccepted)
		if have == nil || have.Reason != reason || (have.Status == metav1.ConditionTrue) != (reason == trafficv1alpha1.ReasonAccepted) || have.ObservedGeneration != policy.Generation {
			f.add("TrafficPolicy %s: the condition is %+v, want %s", a.policy(), have, reason)
		}
		if a.kind == exportKind || a.kind == "" || w.hasSlices(c, t, a) { // known: a service without endpoints is not decided
			w.selectionProblems(f, c, t, a, want, of, reason)
		}
	}
	return nil
}

// acceptance returns the reason of the condition Accepted.
func (t *truth) acceptance(c *cluster, a aim, want wish) string {
	var exports []merge.Export // the policy is for what they merge to
	switch a.kind {
	case "":
		return trafficv1alpha1.ReasonAccepted
	case importKind:
		if exports = t.imports(c, a.service); len(exports) == 0 {
			return trafficv1alpha1.ReasonTargetNotFound
		}
	case exportKind:
		if c.users.exports[a.service] == nil && !c.exportsByPolicy(a.service, t.policies[a.service]) {
			return trafficv1alpha1.ReasonTargetNotFound
		}
		i := slices.IndexFunc(t.records[a.service], func(e merge.Export) bool { return e.ClusterID == c.id.String() })
		if i < 0 || t.records[a.service][i].Scope == brokerv1alpha1.ScopeHub {
			return trafficv1alpha1.ReasonInvalid
		}
		exports = t.records[a.service][i : i+1]
	}
	switch spec := merge.Resolve(exports).Spec; {
	case len(want.groups)+len(want.weights) > 0 && spec.Type == mcsv1beta1.Headless:
		return trafficv1alpha1.ReasonInvalidServiceType
	case len(want.weights) > 0 && spec.TrafficDistribution != nil:
		return trafficv1alpha1.ReasonInvalid
	}
	if first := oldest(c.weighing(a.service, t.merged(a.service))); a.kind == exportKind && first != "" && first != c.id.String() {
		return trafficv1alpha1.ReasonConflicted
	}
	return trafficv1alpha1.ReasonAccepted
}

// hasSlices reports whether the service of a policy for an import has endpoints in any cluster.
func (w *world) hasSlices(c *cluster, t *truth, a aim) bool {
	all, _ := w.sources(t.importedView(c, a.service, t.imports(c, a.service)))
	return len(all) > 0
}

// importedView is viewOf for an import as it must be.
func (t *truth) importedView(c *cluster, service types.NamespacedName, exports []merge.Export) viewpoint {
	imp := &mcsv1beta1.ServiceImport{ObjectMeta: metav1.ObjectMeta{Namespace: service.Namespace, Name: service.Name}}
	if len(exports) > 0 {
		imp.Spec = merge.Resolve(exports).Spec
	}
	return t.viewOf(c, imp, exports)
}

// selectionProblems checks the clusters of each group in the status of a policy for an import with endpoints.
func (w *world) selectionProblems(f *findings, c *cluster, t *truth, a aim, want wish, have trafficv1alpha1.TargetStatus, reason string) {
	var results []trafficv1alpha1.ClusterSelectorResult
	var shares []trafficv1alpha1.WeightStatus
	if isOrdered := reason == trafficv1alpha1.ReasonAccepted || reason == trafficv1alpha1.ReasonInvalid && len(want.groups) > 0; a.kind == importKind && isOrdered {
		exports := t.imports(c, a.service)
		v, same := t.importedView(c, a.service, exports), true
		for _, g := range want.groups {
			results = append(results, w.resultOf(v, g))
		}
		if len(want.weights) > 0 {
			shares, same = w.shareStatus(v)
		}
		if !same {
			shares = have.Weights
		}
	}
	f.same("the clusters of each group in TrafficPolicy "+a.policy().String(), have.ClusterSelectorResults, results)
	f.same("the shares in TrafficPolicy "+a.policy().String(), have.Weights, shares)
}

// resultOf returns the clusters of a group that export an import and are neither drained nor silent.
func (w *world) resultOf(v viewpoint, g group) (result trafficv1alpha1.ClusterSelectorResult) {
	for _, e := range v.exports {
		if g.selects(w.cluster(e.ClusterID), v.cluster) && !v.drained[e.ClusterID] && !v.silent[e.ClusterID] {
			result.Clusters = append(result.Clusters, e.ClusterID)
		}
	}
	slices.Sort(result.Clusters)
	return result
}
