package agent

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
	"github.com/atoll-mcs/atoll/internal/quota"
)

// throttledText is what the log and an Event say while this cluster's own writes wait.
const throttledText = "This cluster changes its exports faster than other clusters accept from one member. " +
	"Its writes to the broker are delayed, so other clusters receive its changes late. " +
	"Find out which exported Services or pods change so often, or raise --member-budget in all clusters."

// sayOverEach is the least time between two Events about this cluster being over budget: other members decide how often they say so.
const sayOverEach = time.Minute

// warn records an Event on the agent's Deployment. It does not wait for the API server, since its callers must not be delayed.
func (s *session) warn(ctx context.Context, reason, action, text string) {
	go func() {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		c, err := client.New(s.local, client.Options{Scheme: scheme()})
		if err == nil {
			err = c.Create(ctx, deploymentEvent(ctx, c, s.membership.ClusterID.String(), corev1.EventTypeWarning, reason, action, text))
		}
		if err != nil && ctx.Err() == nil {
			s.log.Error("recording an Event on the agent's Deployment failed", "reason", reason, "error", err)
		}
	}()
}

// sayOver says in the log and in an Event that another member is over its budget.
func (s *session) sayOver(ctx context.Context) func(member string, u quota.Usage) {
	return func(member string, u quota.Usage) {
		text := s.options.budget().Explain(member, u, "this cluster")
		s.log.Warn(text, "objects", u.Objects, "bytes", u.Bytes)
		s.warn(ctx, "MemberOverBudget", "Import", text)
	}
}

// lead notes that this replica leads, until ctx is done.
func (s *session) lead(ctx context.Context) error {
	s.leads.Store(true)
	<-ctx.Done()
	s.leads.Store(false)
	return nil
}

// namedOverBudget returns the members that this cluster's MemberCluster names as over budget. Only the leader decides. The replicas'
// budgets differ a little, and they must not overwrite each other's entries.
func (s *session) namedOverBudget(published []brokerv1alpha1.OverBudget) []brokerv1alpha1.OverBudget {
	if !s.leads.Load() {
		return published
	}
	return namedIn(s.epoch.Usage())
}

func namedIn(usage map[string]quota.Usage) (named []brokerv1alpha1.OverBudget) {
	for _, id := range slices.Sorted(maps.Keys(usage)) {
		u := usage[id]
		entry := brokerv1alpha1.OverBudget{ClusterID: id, Reason: brokerv1alpha1.OverBudgetReason(u.Reason)}
		if !u.CutOff.IsZero() {
			entry.Until = ptr.To(metav1.NewTime(u.CutOff).Rfc3339Copy())
		}
		named = append(named, entry)
	}
	return validation.OverBudget(named)
}

// sayOverBudgetOf says in the log and in Events which other clusters name this one as over their budget, until ctx is done.
func (s *session) sayOverBudgetOf(view *broker.View) func(context.Context) error {
	return func(ctx context.Context) error {
		changed := make(chan struct{}, 1)
		changed <- struct{}{}
		view.OnOverBudget(func() {
			select {
			case changed <- struct{}{}:
			default:
			}
		})
		if view.AwaitMembers(ctx) != nil {
			return nil
		}
		for said := ""; ctx.Err() == nil; {
			select {
			case <-ctx.Done():
				return nil
			case <-changed:
			}
			text := overBudgetOfText(view.Epoch.OverBudgetOf())
			if text == said {
				continue
			}
			if said = text; text == "" {
				s.log.Info("this cluster is within the budget of all other clusters again")
				continue
			}
			s.log.Warn(text)
			s.warn(ctx, "OverBudget", "Export", text)
			select {
			case <-ctx.Done():
			case <-time.After(sayOverEach):
			}
		}
		return nil
	}
}

// overBudgetOfText says what other clusters say, "" where they say nothing.
func overBudgetOfText(of map[string]brokerv1alpha1.OverBudget) string {
	if len(of) == 0 {
		return ""
	}
	const listed = 5
	var clusters []string
	for _, id := range slices.Sorted(maps.Keys(of)) {
		if len(clusters) == listed {
			clusters = append(clusters, fmt.Sprintf("and %d more", len(of)-listed))
			break
		}
		clusters = append(clusters, fmt.Sprintf("%s (%s)", id, of[id]))
	}
	return fmt.Sprintf("This cluster exceeds the budget that other clusters have for one member: %s. "+
		"These clusters take only a part of what this cluster publishes; what they have imported keeps working. "+
		"Find out which exported Services or pods change so often, export less, or raise --member-budget in those clusters.", strings.Join(clusters, ", "))
}
