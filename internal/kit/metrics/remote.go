package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Remote is the state of another member.
type Remote struct {
	// Ready is true if its heartbeat is not missing and its endpoints are not withdrawn.
	Ready bool
	// Silent is true if its endpoints stand by because they do not answer.
	Silent bool
	// OverBudget is true if this cluster exceeds the other member's budget.
	OverBudget bool
	// Renewed is when its heartbeat was last seen renewed, by this agent's clock.
	Renewed time.Time
}

var (
	remoteReady = prometheus.NewDesc(namespace+"_remote_cluster_ready",
		"Whether another member sends heartbeats and its endpoints are in use.", []string{"remote_cluster"}, nil)
	remoteSilent = prometheus.NewDesc(namespace+"_remote_cluster_silent",
		"Whether the endpoints of another member are on standby because its heartbeat is late and its endpoints do not answer.", []string{"remote_cluster"}, nil)
	remoteOver = prometheus.NewDesc(namespace+"_remote_cluster_over_budget",
		"Whether this cluster exceeds the per-member budget of another member, which then receives some changes late.", []string{"remote_cluster"}, nil)
	remoteRenewed = prometheus.NewDesc(namespace+"_remote_cluster_last_sync_timestamp_seconds",
		"Time when this agent last saw another member renew its heartbeat, by this agent's clock.", []string{"remote_cluster"}, nil)
)

// Remotes sets the function that returns the other members' states.
func (m *Metrics) Remotes(all func() map[string]Remote) {
	m.remotes.set(func(values chan<- prometheus.Metric) {
		for cluster, remote := range all() {
			values <- gauge(remoteReady, number(remote.Ready), cluster)
			values <- gauge(remoteSilent, number(remote.Silent), cluster)
			values <- gauge(remoteOver, number(remote.OverBudget), cluster)
			values <- gauge(remoteRenewed, float64(remote.Renewed.UnixMilli())/1000, cluster)
		}
	})
}
