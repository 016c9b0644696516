package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Remote is what is known of another member.
type Remote struct {
	// Ready is whether its heartbeat is there and its endpoints are not withdrawn.
	Ready bool
	// OverBudget is whether this cluster exceeds its budget for one member.
	OverBudget bool
	// Renewed is when its heartbeat was last seen to have been renewed, by this agent's clock.
	Renewed time.Time
}

// remotes are the other members.
type remotes struct {
	ready, over, renewed *prometheus.Desc
	mu                   sync.Mutex
	all                  func() map[string]Remote
}

func newRemotes() *remotes {
	label := []string{"cluster"}
	return &remotes{
		ready: prometheus.NewDesc(namespace+"_remote_cluster_ready",
			"Whether the heartbeat of another member is there, and its endpoints are not withdrawn.", label, nil),
		over: prometheus.NewDesc(namespace+"_remote_cluster_over_budget",
			"Whether this cluster exceeds the budget that another member has for one, so that a part of what this one publishes arrives late there.", label, nil),
		renewed: prometheus.NewDesc(namespace+"_remote_cluster_last_sync_timestamp_seconds",
			"When the heartbeat of another member was last seen to have been renewed, by this agent's clock.", label, nil),
	}
}

// Remotes has the other members be told when the metrics are collected.
func (m *Metrics) Remotes(all func() map[string]Remote) {
	m.remotes.mu.Lock()
	defer m.remotes.mu.Unlock()
	m.remotes.all = all
}

// Describe implements prometheus.Collector.
func (r *remotes) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- r.ready
	descriptions <- r.over
	descriptions <- r.renewed
}

// Collect implements prometheus.Collector.
func (r *remotes) Collect(values chan<- prometheus.Metric) {
	r.mu.Lock()
	all := r.all
	r.mu.Unlock()
	if all == nil {
		return
	}
	for cluster, remote := range all() {
		values <- prometheus.MustNewConstMetric(r.ready, prometheus.GaugeValue, number(remote.Ready), cluster)
		values <- prometheus.MustNewConstMetric(r.over, prometheus.GaugeValue, number(remote.OverBudget), cluster)
		values <- prometheus.MustNewConstMetric(r.renewed, prometheus.GaugeValue, float64(remote.Renewed.UnixMilli())/1000, cluster)
	}
}

// number returns the value of a metric that is true or false.
func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
