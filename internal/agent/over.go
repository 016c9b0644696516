package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/atoll-mcs/atoll/internal/agent/core"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// sayOverEach is the least time between two Events about this cluster being over budget: other members decide how often they say so.
const sayOverEach = time.Minute

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
			s.log.Info("This cluster is within the budget of all other clusters again.")
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
	return fmt.Sprintf("This cluster exceeds the budget for one member in %s, so some of its changes arrive late there. "+
		"Export fewer services or endpoints, or raise --member-budget of the agents there.", names.ListClusters(by))
}
