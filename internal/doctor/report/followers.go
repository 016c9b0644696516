package report

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/mcs/drain"
)

// Followers says how far the clusters follow a drain: Follow have put the endpoints on standby that other clusters can replace, Await
// have not, or run an agent that does not say so. Silent send no heartbeat, and nobody waits for them.
type Followers struct {
	Follow, Await, Silent []string
	// Unpublished are the services whose drain is not on the broker yet.
	Unpublished []string
}

// FollowersOf returns how far the clusters follow the drain of a namespace, or of one service in it. Without names, the whole cluster
// is drained. s is from survey.ReadDrain.
func FollowersOf(s *survey.Survey, namespace, service string) (f Followers) {
	byBroker := s.Broker.Permissions.Drains(s.ClusterID)
	revisions := map[types.NamespacedName]int64{}
	for i := range s.Broker.Exports {
		record := &s.Broker.Exports[i]
		of := record.Spec.Service()
		switch {
		case record.Spec.Drained:
			revisions[of] = layout.Revision(record)
		case (namespace == "" || namespace == of.Namespace) && (service == "" || service == of.Name):
			f.Unpublished = append(f.Unpublished, of.String())
		}
	}
	digest := drain.Digest(byBroker, revisions)
	follow := map[string]bool{}
	for i := range s.Broker.Heartbeats {
		if lease := &s.Broker.Heartbeats[i]; digest == "" || drain.Follows(lease, s.ClusterID, digest) {
			follow[lease.Name] = true
		}
	}
	for _, m := range s.Broker.Members {
		silence, found := s.Broker.Silence(m.Name)
		switch {
		case !found || silence >= s.Broker.SilenceLimit(m.Name, silent):
			f.Silent = append(f.Silent, m.Name)
		case follow[m.Name]:
			f.Follow = append(f.Follow, m.Name)
		default:
			f.Await = append(f.Await, m.Name)
		}
	}
	for _, all := range [][]string{f.Follow, f.Await, f.Silent, f.Unpublished} {
		slices.Sort(all)
	}
	return f
}
