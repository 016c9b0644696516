package trafficstatus

import (
	"fmt"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/mcs/choice"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/printable"
)

// target is what the status of one target depends on.
type target struct {
	trafficv1alpha1.LocalPolicyTargetReference
	// exists is set if the target exists. winner is the policy that applies to it.
	exists bool
	winner string
	// oldest is the cluster with the oldest export, if that is another one: its preference applies.
	oldest names.ClusterID
	// invalid is why the policy, or its weights, do not apply to the service.
	invalid error
	// owns is set if this cluster owns the namespace of an export, so that weights count everywhere.
	owns bool
	// result is the decision about an imported service.
	result choice.Result
}

// decide returns the status of a policy. isDefault is set for the cluster's default policy, which has no targets.
func decide(policy *trafficv1alpha1.TrafficPolicy, isDefault bool, targets []target, now metav1.Time) trafficv1alpha1.TrafficPolicyStatus {
	var status trafficv1alpha1.TrafficPolicyStatus
	if isDefault {
		targets = []target{{exists: true, winner: policy.Name}}
	} else if len(targets) == 0 {
		targets = []target{{}} // it says why the policy has no effect
	}
	for _, t := range targets {
		have := trafficv1alpha1.TargetStatus{Kind: t.Kind, Name: t.Name}
		for _, before := range policy.Status.Targets {
			if before.Kind == t.Kind && before.Name == t.Name {
				have.Conditions = slices.Clone(before.Conditions)
			}
		}
		condition := accepted(policy, t, isDefault)
		condition.Message = printable.Line(condition.Message) // it may quote another cluster
		condition.ObservedGeneration, condition.LastTransitionTime = policy.Generation, now
		meta.SetStatusCondition(&have.Conditions, condition)
		if (condition.Status == metav1.ConditionTrue || t.isWeightless(policy)) && t.Kind == kindImport {
			have.ClusterSelectorResults, have.Weights = results(policy, t.result)
		}
		status.Targets = append(status.Targets, have)
	}
	return status
}

// accepted returns the condition Accepted of a target.
func accepted(policy *trafficv1alpha1.TrafficPolicy, t target, isDefault bool) metav1.Condition {
	no := func(reason, format string, args ...any) metav1.Condition {
		return metav1.Condition{Type: trafficv1alpha1.ConditionAccepted, Status: metav1.ConditionFalse, Reason: reason, Message: fmt.Sprintf(format, args...)}
	}
	switch {
	case t.Kind == "" && !isDefault:
		return no(trafficv1alpha1.ReasonInvalid, "The policy has no targets, so it has no effect. Only TrafficPolicy %s in namespace %s may have no targets.", trafficv1alpha1.DefaultPolicy, names.SystemNamespace)
	case t.winner != policy.Name:
		return no(trafficv1alpha1.ReasonConflicted, "TrafficPolicy %s has the same target and is older, so the older TrafficPolicy applies. Delete one of the two.", t.winner)
	case !t.exists:
		return no(trafficv1alpha1.ReasonTargetNotFound, "This namespace has no %s %s. The policy applies as soon as this object exists.", t.Kind, t.Name)
	case choice.IsHeadless(t.invalid):
		return no(trafficv1alpha1.ReasonInvalidServiceType, "The policy has no effect: %v.", t.invalid)
	case t.isWeightless(policy):
		return no(trafficv1alpha1.ReasonInvalid, "Only the order of clusters and the fallback apply: %v.", t.invalid)
	case t.invalid != nil:
		return no(trafficv1alpha1.ReasonInvalid, "The policy has no effect: %v.", t.invalid)
	case t.oldest != "":
		return no(trafficv1alpha1.ReasonConflicted, "The export of cluster %q is older, so that export's policy applies. If that export has no policy, no policy applies.", t.oldest)
	}
	message := "The policy applies to the service in this cluster."
	switch {
	case isDefault:
		message = "The policy applies to this cluster's imported services that have no other policy, except headless services."
		if len(policy.Spec.Weights) > 0 {
			message += " Because of its weights, the policy does not apply to services with a trafficDistribution, and to services of clusters that advertise cluster IPs."
		}
	case t.Kind != kindImport:
		message = "The policy applies to the service in all clusters that have no policy for their ServiceImport."
		if !t.owns && (len(policy.Spec.Weights) > 0 || policy.Spec.Fallback == trafficv1alpha1.FallbackNone) {
			message += " Its weights and fallback None have an effect only in this cluster, and in clusters whose namespace accepts them" +
				" (annotation " + names.AnnotationAcceptWeights + "), unless this cluster owns the namespace."
		}
	default:
		message += unlisted(policy, t.result)
	}
	if len(policy.Spec.ClusterSelectors)+len(policy.Spec.Weights) == 0 {
		message += " It has neither clusterSelectors nor weights, so connections go to all clusters."
	}
	return metav1.Condition{Type: trafficv1alpha1.ConditionAccepted, Status: metav1.ConditionTrue, Reason: trafficv1alpha1.ReasonAccepted, Message: message}
}

// isWeightless reports whether everything of a policy applies but its weights.
func (t *target) isWeightless(policy *trafficv1alpha1.TrafficPolicy) bool {
	return t.invalid != nil && t.winner == policy.Name && !choice.IsHeadless(t.invalid) && len(policy.Spec.Weights) > 0 && len(policy.Spec.ClusterSelectors) > 0
}

// unlisted names the clusters that no weight lists, or says that the weights have no effect.
func unlisted(policy *trafficv1alpha1.TrafficPolicy, result choice.Result) string {
	var ids []string
	weighted := len(policy.Spec.Weights) == 0 || len(result.Ports) == 0
	for _, c := range result.Clusters {
		if c.Reason == choice.NoWeight {
			ids = append(ids, c.Cluster.String())
		}
	}
	for _, port := range result.Ports {
		weighted = weighted || slices.ContainsFunc(port.Clusters, func(c choice.ClusterResult) bool { return c.WantedShare > 0 })
	}
	switch {
	case !weighted:
		return " Its weights have no effect: no cluster that can serve now has a weight above 0."
	case len(ids) == 0:
		return ""
	}
	return fmt.Sprintf(" The weights do not list %s. Endpoints of clusters without a weight are on standby.", names.ListClusters(ids))
}

// results returns the clusters of each selector, and the shares by weight.
func results(policy *trafficv1alpha1.TrafficPolicy, result choice.Result) (selected []trafficv1alpha1.ClusterSelectorResult, weights []trafficv1alpha1.WeightStatus) {
	for _, ids := range result.SelectorResults {
		one := trafficv1alpha1.ClusterSelectorResult{}
		for _, id := range ids {
			one.Clusters = append(one.Clusters, id.String())
		}
		selected = append(selected, one)
	}
	if len(policy.Spec.Weights) == 0 {
		return selected, nil
	}
	for _, c := range farthest(result) {
		one := trafficv1alpha1.WeightStatus{Cluster: c.Cluster.String(), Active: int32(c.Active)}
		if c.Usable > 0 {
			one.SharePercent = ptr.To(int32(math.Round(c.Share)))
		}
		weights = append(weights, one)
	}
	return selected, weights
}

// farthest returns the clusters at the port whose shares differ most from the weights. One without active endpoints counts only if all
// are such.
func farthest(result choice.Result) (clusters []choice.ClusterResult) {
	most := -2.0
	for _, port := range result.Ports {
		off := -1.0
		if slices.ContainsFunc(port.Clusters, func(c choice.ClusterResult) bool { return c.Active > 0 }) {
			for _, c := range port.Clusters {
				off = max(off, math.Abs(c.Share-c.WantedShare))
			}
		}
		if off > most {
			most, clusters = off, port.Clusters
		}
	}
	return clusters
}
