package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/atoll-mcs/atoll/internal/agent/core"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// sayOverEach is the minimum time between two Events about this cluster's budget: other members trigger them.
const sayOverEach = time.Minute

// sayOverBudgetOf logs and records Events when the clusters that list this one as over their budget change.
func (m *member) sayOverBudgetOf(ctx context.Context, agent *core.Agent) {
	last, when := "", time.Time{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-agent.Named():
		}
		text := overBudgetOfText(agent.OverBudgetOf())
		if text == last || !agent.Leads() {
			continue
		}
		if last = text; text == "" {
			m.log.Info("This cluster no longer exceeds the per-member budget of any other cluster")
			continue
		}
		m.log.Warn(text)
		if time.Since(when) >= sayOverEach {
			m.warn(ctx, "OverBudget", "Export", text)
			when = time.Now()
		}
	}
}

// overBudgetOfText names the clusters whose budget this one exceeds, "" if there are none.
func overBudgetOfText(by []string) string {
	if len(by) == 0 {
		return ""
	}
	return fmt.Sprintf("This cluster exceeds the per-member budget of %s, so those clusters receive some of this cluster's changes late or not at all. "+
		"Export fewer services or endpoints, or raise --member-budget of the agents in those clusters.", names.ListClusters(by))
}
