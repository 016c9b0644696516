package agent

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/agent/core"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

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

// sayOverBudgetOf says in the log and in Events which other clusters name this one as over their budget, whenever that changes.
func (s *session) sayOverBudgetOf(ctx context.Context, agent *core.Agent) {
	said, when := "", time.Time{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-agent.Named():
		}
		text := overBudgetOfText(agent.OverBudgetOf())
		if text == said || !agent.Leads() {
			continue
		}
		if said = text; text == "" {
			s.log.Info("this cluster is within the budget of all other clusters again")
			continue
		}
		s.log.Warn(text)
		if time.Since(when) >= sayOverEach {
			s.warn(ctx, "OverBudget", "Export", text)
			when = time.Now()
		}
	}
}

// overBudgetOfText says that other clusters name this one, "" where none does.
func overBudgetOfText(by []string) string {
	if len(by) == 0 {
		return ""
	}
	return fmt.Sprintf("This cluster publishes more EndpointSlices than other clusters hold of one member: %s. They read the rest one by one, so its changes arrive late there. "+
		"Export less, or raise --member-budget in those clusters.", names.ListClusters(by))
}
