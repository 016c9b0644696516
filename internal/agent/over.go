package agent

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/quota"
)

// sayOver says in the log and in an Event on the agent's Deployment that another member is over its budget. It does not wait for the
// API server, for it is called between two changes of what the broker has.
func (s *session) sayOver(ctx context.Context) func(member string, u quota.Usage) {
	return func(member string, u quota.Usage) {
		text := overText(member, u, s.options.budget())
		s.log.Warn("another cluster is over its budget", "member", member, "objects", u.Objects, "bytes", u.Bytes, "reason", string(u.Reason), "effect", text)
		go func() {
			ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
			defer cancel()
			c, err := client.New(s.local, client.Options{Scheme: scheme()})
			if err == nil {
				err = c.Create(ctx, deploymentEvent(ctx, c, s.membership.ClusterID.String(), corev1.EventTypeWarning, "MemberOverBudget", "Import", text))
			}
			if err != nil && ctx.Err() == nil {
				s.log.Error("saying in an Event that another cluster is over its budget failed", "error", err)
			}
		}()
	}
}

func overText(member string, u quota.Usage, limits quota.Limits) string {
	if u.Reason == quota.TooManyChanges {
		return fmt.Sprintf("Cluster %q changes more on the broker than this cluster takes: %g changes or %g MiB a second. "+
			"What was imported of it stays as it is until %s; other clusters are not affected. Find out in %[1]q what changes so often, or raise --member-budget here.",
			member, limits.Changes, limits.BytesChanged/(1<<20), u.CutOff.UTC().Format(time.RFC3339))
	}
	return fmt.Sprintf("Cluster %q has more on the broker than this cluster takes: %d objects or %d MiB. "+
		"What comes beyond is left out here; what was imported and other clusters are not affected. Export less there, or raise --member-budget here.", member, limits.Objects, limits.Bytes>>20)
}
