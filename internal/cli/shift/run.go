package shift

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/cli/steps"
	"github.com/atoll-mcs/atoll/internal/install/setup"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

const (
	// pause is the time between two reads of a cluster.
	pause = time.Second
	// patience is how long the agent may take to accept a policy, and how long a cluster may be unreachable during a step.
	patience = time.Minute
)

// shift checks all clusters, then goes through the steps that are not done.
func (o *options) shift(cmd *cobra.Command, places []*place) error {
	for _, p := range places {
		if err := o.check(cmd, p); err != nil {
			return fmt.Errorf("%w\nnothing is changed", err)
		}
	}
	if o.dryRun {
		return o.preview(cmd.OutOrStdout(), places)
	}
	say, moved := steps.Say(cmd), false
	for i, percent := range o.steps {
		now := slices.DeleteFunc(slices.Clone(places), func(p *place) bool { return p.state.Done > i })
		if len(now) == 0 {
			continue
		}
		moved = true
		if err := o.step(cmd.Context(), now, i, percent, say); err != nil {
			if cmd.Context().Err() != nil {
				err = errors.New("interrupted")
			}
			return fmt.Errorf("stopped at %d %%: %w\nThe weights stay as they are.\ngo on: %s\nundo:  %s", percent, err, o.again(o.to, o.steps), o.back())
		}
	}
	if !moved {
		say("all steps are already complete: cluster %s has %d %% of the traffic of service %s", o.to, o.steps[len(o.steps)-1], o.service)
	}
	say("undo: %s", o.back())
	return nil
}

// preview prints the weights of the steps that are not done.
func (o *options) preview(w io.Writer, places []*place) error {
	for i, percent := range o.steps {
		for _, p := range places {
			done := ""
			if p.state.Done > i {
				done = " (done)"
			}
			if _, err := fmt.Fprintf(w, "%s: %d %% to %s: weights %s%s\n", p.id, percent, o.to, weightsText(nextWeights(p.state.Others, o.to, percent)), done); err != nil {
				return err
			}
		}
	}
	return nil
}

// step writes the weights in clusters, waits until they apply, and watches the target's endpoints until the step ends.
func (o *options) step(ctx context.Context, places []*place, i, percent int, say setup.Say) error {
	atLeast := make([]int, len(places))
	for j, p := range places {
		_, usable, err := p.count(ctx)
		if err != nil {
			return err
		}
		if atLeast[j] = usable[o.to]; atLeast[j] == 0 && !p.blind {
			return o.noEndpoint(p)
		}
	}
	for _, p := range places {
		if err := p.write(ctx, percent); err != nil {
			return err
		}
	}
	began := time.Now()
	for j, p := range places {
		shares, err := o.await(ctx, p, atLeast[j])
		if err != nil {
			return err
		}
		say("%s: %d %% to %s: %s", p.id, percent, o.to, shares)
	}
	if err := o.hold(ctx, places, atLeast, began.Add(o.every)); err != nil {
		return err
	}
	for _, p := range places {
		if err := p.finish(ctx, i+1); err != nil {
			return err
		}
	}
	return nil
}

func (o *options) noEndpoint(p *place) error {
	return fmt.Errorf("cluster %s has no ready endpoint of service %s, as cluster %s sees it. Drained and silent endpoints do not count", o.to, o.service, p.id)
}

// await waits until the agent accepts the policy, and returns the shares in its status when they no longer change.
func (o *options) await(ctx context.Context, p *place, atLeast int) (shares string, _ error) {
	end := time.Now().Add(patience)
	for last := "no"; ; {
		accepted, err := o.look(ctx, p, atLeast)
		if err != nil {
			return "", err
		}
		if shares = "accepted"; accepted != nil {
			if words := sharesText(accepted.Weights); words != "" {
				shares = words
			}
			if shares == last {
				return shares, nil
			}
			last = shares
		}
		if time.Now().After(end) {
			return "", fmt.Errorf("the agent of cluster %s has not accepted TrafficPolicy %s/%s for %s. Find out why: %s", p.id, p.policy.Namespace, p.policy.Name, patience, p.on.Atoll("status"))
		}
		if err := wait(ctx, pause); err != nil {
			return "", err
		}
	}
}

// hold watches clusters until the end of a step. A cluster may be unreachable for a short time.
func (o *options) hold(ctx context.Context, places []*place, atLeast []int, end time.Time) error {
	reached := make([]time.Time, len(places))
	for j := range reached {
		reached[j] = time.Now()
	}
	for {
		for j, p := range places {
			_, err := o.look(ctx, p, atLeast[j])
			switch {
			case err == nil:
				reached[j] = time.Now()
			case errors.As(err, new(unread)) && ctx.Err() == nil && time.Since(reached[j]) < patience:
			default:
				return err
			}
		}
		left := time.Until(end)
		if left <= 0 {
			return nil
		}
		if err := wait(ctx, min(left, pause)); err != nil {
			return err
		}
	}
}

// unread is that a cluster could not be read.
type unread struct{ error }

func (u unread) Unwrap() error { return u.error }

// look returns why the step must stop in a cluster: the target has fewer usable endpoints than when the step began, or the weights
// do not apply. Without an error, it returns the status of the target, or nil if the agent has not written it yet.
func (o *options) look(ctx context.Context, p *place, atLeast int) (*trafficv1alpha1.TargetStatus, error) {
	_, usable, err := p.count(ctx)
	if err != nil {
		return nil, unread{err}
	}
	switch n := usable[o.to]; {
	case p.blind || n >= atLeast:
	case n == 0:
		return nil, fmt.Errorf("cluster %s no longer has a ready endpoint of service %s, as cluster %s sees it; it had %d when the step began. Drained and silent endpoints do not count", o.to, o.service, p.id, atLeast)
	default:
		return nil, fmt.Errorf("cluster %s has fewer ready endpoints of service %s than when the step began, as cluster %s sees it: %d instead of %d", o.to, o.service, p.id, n, atLeast)
	}
	wrote := p.policy
	if err := p.refresh(ctx); err != nil {
		p.policy = wrote
		return nil, unread{err}
	}
	switch {
	case p.policy == nil:
		p.policy = wrote
		return nil, fmt.Errorf("somebody has deleted TrafficPolicy %s/%s in cluster %s", wrote.Namespace, wrote.Name, p.id)
	case p.policy.UID != wrote.UID || p.policy.Name != wrote.Name:
		return nil, fmt.Errorf("TrafficPolicy %s/%s of cluster %s has the same target, and applies instead of %s", p.policy.Namespace, p.policy.Name, p.id, wrote.Name)
	case text(p.policy.Spec) != text(wrote.Spec):
		return nil, fmt.Errorf("somebody has changed TrafficPolicy %s/%s in cluster %s", wrote.Namespace, wrote.Name, p.id)
	}
	for i, t := range p.policy.Status.Targets {
		condition := meta.FindStatusCondition(t.Conditions, trafficv1alpha1.ConditionAccepted)
		switch {
		case t.Kind != p.kind || t.Name != p.service.Name || condition == nil || condition.ObservedGeneration < p.policy.Generation:
		case condition.Status != metav1.ConditionTrue:
			return nil, fmt.Errorf("TrafficPolicy %s/%s does not apply in cluster %s (%s): %s", wrote.Namespace, wrote.Name, p.id, condition.Reason, condition.Message)
		default:
			return &p.policy.Status.Targets[i], nil
		}
	}
	return nil, nil
}

// wait waits for a time, or until the command is interrupted.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// restoreAll undoes the shift in all clusters. It checks all of them before it changes one.
func (o *options) restoreAll(cmd *cobra.Command, places []*place) error {
	say, ctx := steps.Say(cmd), cmd.Context()
	for _, p := range places {
		all, err := p.policies(ctx)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(all, func(policy *trafficv1alpha1.TrafficPolicy) bool {
			return policy.Annotations[names.AnnotationShiftEarlier] != ""
		})
		if p.policy = nil; i < 0 {
			continue
		}
		p.policy = all[i]
		if _, err := restore(p.policy.DeepCopy()); err != nil {
			return err
		}
		if have, err := stateOf(p.policy); o.to != "" && (err != nil || have == nil || have.To != o.to) {
			return fmt.Errorf("the target of the shift of service %s in cluster %s is not cluster %s: run the command with --undo and without --to", o.service, p.id, o.to)
		}
	}
	for _, p := range places {
		if p.policy == nil {
			say("%s: there is no shift of service %s to undo", p.id, o.service)
			continue
		}
		done, err := o.undoIn(ctx, p)
		if err != nil {
			return err
		}
		say("%s: %s", p.id, done)
	}
	return nil
}

// undoIn undoes the shift in one cluster.
func (o *options) undoIn(ctx context.Context, p *place) (done string, err error) {
	writer := p.Client
	suffix := ""
	if o.dryRun {
		writer, suffix = client.NewDryRunClient(writer), " (dry run: nothing is changed)"
	}
	before := p.policy.DeepCopy()
	name := fmt.Sprintf("TrafficPolicy %s/%s", p.policy.Namespace, p.policy.Name)
	isOurs, err := restore(p.policy)
	if err != nil {
		return "", err
	}
	if isOurs {
		unchanged := client.Preconditions{UID: &before.UID, ResourceVersion: &before.ResourceVersion}
		return name + " is deleted, as there was none before the shift" + suffix, p.wrap("deleting", client.IgnoreNotFound(writer.Delete(ctx, before, unchanged)))
	}
	weights := weightsText(p.policy.Spec.Weights)
	if weights == "" {
		weights = "none"
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	return fmt.Sprintf("%s has its earlier weights: %s%s", name, weights, suffix), p.wrap("changing", writer.Patch(ctx, p.policy, patch, client.FieldOwner("atoll")))
}
