package shift

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/cli/steps"
	"github.com/atoll-mcs/atoll/internal/install/setup"
	"github.com/atoll-mcs/atoll/internal/mcs/choice"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// maxWeights is the number of clusters that a policy can list.
const maxWeights = 64

// check reads what the shift depends on in a cluster, and returns why it must not begin there. It changes nothing.
func (o *options) check(cmd *cobra.Command, p *place) error {
	ctx, say := cmd.Context(), steps.Say(cmd)
	k, err := p.read(ctx)
	if err != nil {
		return err
	}
	others := slices.DeleteFunc(slices.Sorted(slices.Values(k.exporters)), func(id string) bool { return id == o.to })
	switch {
	case !slices.Contains(k.exporters, o.to):
		return fmt.Errorf("cluster %s does not export service %s, as cluster %s sees it", o.to, p.service, p.id)
	case len(others) == 0:
		return fmt.Errorf("only cluster %s exports service %s, so it gets all traffic already", o.to, p.service)
	case len(others) >= maxWeights:
		return fmt.Errorf("%d clusters export service %s, but a TrafficPolicy can list at most %d", len(k.exporters), p.service, maxWeights)
	}
	if err := p.find(ctx); err != nil {
		return err
	}
	active, usable, err := p.count(ctx)
	if err != nil {
		return err
	}
	if err := o.begin(p, others, active, usable); err != nil {
		return err
	}
	weights := trafficv1alpha1.Preference{Weights: nextWeights(p.state.Others, o.to, 100)}
	if _, err := choice.PolicyOf(&weights, k.headless, k.trafficDistribution, p.publishesClusterIPs(k.exporters)); err != nil {
		return fmt.Errorf("weights have no effect on service %s in cluster %s: %w", p.service, p.id, err)
	}
	for _, id := range others {
		if _, listed := p.state.Others[id]; !listed {
			say("warning: cluster %s: cluster %s exports the service since the shift began. It has no weight, so it is on standby", p.id, id)
		}
	}
	if p.blind = p.kind == mcsv1beta1.ServiceExportKindName && len(usable) == 0; !p.blind && usable[o.to] == 0 && !p.state.isComplete() {
		return o.noEndpoint(p)
	}
	return o.warn(ctx, p, say)
}

// find finds the policy that applies. It refuses those to which weights cannot be added.
func (p *place) find(ctx context.Context) error {
	all, err := p.policies(ctx)
	if err != nil {
		return err
	}
	p.policy = choice.Oldest(all)
	for _, other := range all {
		if other != p.policy && other.Annotations[names.AnnotationShift] != "" {
			return fmt.Errorf("TrafficPolicy %s of cluster %s is older than %s, which a shift has changed, so the older TrafficPolicy applies. Delete one of the two", p.policy.Name, p.id, other.Name)
		}
	}
	if p.policy == nil {
		return p.checkDefault(ctx)
	}
	name := fmt.Sprintf("TrafficPolicy %s/%s of cluster %s", p.policy.Namespace, p.policy.Name, p.id)
	switch {
	case p.policy.DeletionTimestamp != nil:
		return fmt.Errorf("%s is being deleted: repeat the command when the deletion is complete", name)
	case slices.ContainsFunc(p.policy.Spec.TargetRefs, func(t trafficv1alpha1.LocalPolicyTargetReference) bool {
		return t.Kind != p.kind || t.Name != p.service.Name
	}):
		return fmt.Errorf("%s applies to the service, but has other targets too, which a shift would change. Write one policy for each target", name)
	case len(p.policy.Spec.ClusterSelectors) > 0:
		return fmt.Errorf("%s applies to the service, and has clusterSelectors. Weights would have an effect only within the policy's groups. Remove the selectors, or the policy", name)
	case slices.ContainsFunc(p.policy.Spec.Weights, func(w trafficv1alpha1.ClusterWeight) bool { return w.PropertySelector != nil }):
		return fmt.Errorf("%s applies to the service, and has weights by property. Write weights by cluster instead", name)
	}
	return nil
}

// checkDefault refuses a cluster whose default policy would be replaced by a new one, although it forbids some clusters.
func (p *place) checkDefault(ctx context.Context) error {
	byDefault := &trafficv1alpha1.TrafficPolicy{}
	err := p.Get(ctx, client.ObjectKey{Namespace: names.SystemNamespace, Name: trafficv1alpha1.DefaultPolicy}, byDefault)
	switch {
	case apierrors.IsNotFound(err) || meta.IsNoMatchError(err):
		return nil
	case err != nil:
		return fmt.Errorf("reading the default TrafficPolicy of cluster %s: %w", p.id, err)
	case p.kind == mcsv1beta1.ServiceImportKindName && byDefault.Spec.Fallback == trafficv1alpha1.FallbackNone && len(byDefault.Spec.ClusterSelectors) > 0:
		return fmt.Errorf("the default TrafficPolicy of cluster %s has fallback None, and a shift would replace it for this service: write a TrafficPolicy with weights for the ServiceImport first", p.id)
	}
	return nil
}

// begin sets the state of the shift: that of the policy's annotation if it is the same shift, or a new one.
func (o *options) begin(p *place, others []string, active, usable map[string]int) error {
	have, err := stateOf(p.policy)
	if err != nil {
		return err
	}
	switch {
	case have != nil && have.isSame(o.to, o.steps) && have.isComplete() && !isAt(p.policy, have):
		p.state = &state{To: o.to, Steps: o.steps, Others: have.Others} // somebody has changed the weights since: begin again
		return nil
	case have != nil && have.isSame(o.to, o.steps):
		p.state = have
		return nil
	case have != nil && !have.isComplete():
		return fmt.Errorf("another shift of service %s to cluster %s is going on in cluster %s (--steps %s; %d done)\ngo on: %s\nundo:  %s",
			p.service, have.To, p.id, list(have.Steps), have.Done, o.again(have.To, have.Steps), o.back())
	case have != nil && have.To == o.to: // more steps: --undo still restores what was before the first
		p.state = &state{To: o.to, Steps: o.steps, Others: have.Others}
		return nil
	}
	var earlier []trafficv1alpha1.ClusterWeight
	if p.policy != nil {
		earlier = p.policy.Spec.Weights
	}
	p.state, p.isNew = &state{To: o.to, Steps: o.steps, Others: partsOf(others, earlier, active, usable)}, true
	return nil
}

// isAt reports whether a policy has the weights of a shift's last step.
func isAt(policy *trafficv1alpha1.TrafficPolicy, s *state) bool {
	return slices.Equal(policy.Spec.Weights, nextWeights(s.Others, s.To, s.Steps[len(s.Steps)-1]))
}

// warn says what the command cannot see or move.
func (o *options) warn(ctx context.Context, p *place, say setup.Say) error {
	if p.kind != mcsv1beta1.ServiceExportKindName {
		return nil
	}
	if p.blind {
		say("warning: cluster %s has no endpoints of service %s from other clusters, so the command does not detect a failure of the endpoints of cluster %s", p.id, p.service, o.to)
	}
	say("other clusters apply the policy only if cluster %s owns namespace %s, or their namespace has the annotation %s=%[1]s, and if they have no policy for their ServiceImport", p.id, p.service.Namespace, names.AnnotationAcceptWeights)
	here := *p
	here.kind = mcsv1beta1.ServiceImportKindName
	own, err := here.policies(ctx)
	if err == nil && len(own) > 0 {
		say("warning: TrafficPolicy %s of cluster %s is for its ServiceImport, so traffic from cluster %[2]s does not move", choice.Oldest(own).Name, p.id)
	}
	return err
}
