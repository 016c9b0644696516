package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// limits are what is left out of imports because one cluster exports too much.
type limits struct {
	desc, events *prometheus.Desc
	mu           sync.Mutex
	of           map[string]func() map[string]int
	// unrecorded are Events.
	unrecorded func() map[string]int
}

func newLimits() *limits {
	return &limits{
		desc: prometheus.NewDesc(namespace+"_import_left_out",
			"Number of services, of endpoints times ports, or of the broker's objects, that are not imported because their cluster exports more than this one takes; of addresses that can't be, or may not be, that cluster's; and 1 of changes while none of that cluster's are taken.",
			[]string{"of", "source_cluster"}, nil),
		events: prometheus.NewDesc(namespace+"_events_left_out_total",
			"Number of Events that were not recorded because too many have to do with one other cluster.", []string{"source_cluster"}, nil),
		of: map[string]func() map[string]int{},
	}
}

// Limit has what is left out of one kind, by source cluster, be told when the metrics are
// collected.
func (m *Metrics) Limit(of string, leftOut func() map[string]int) {
	m.limits.mu.Lock()
	defer m.limits.mu.Unlock()
	m.limits.of[of] = leftOut
}

// Events has the Events that were left out, by source cluster, be told when the metrics are collected.
func (m *Metrics) Events(leftOut func() map[string]int) {
	m.limits.mu.Lock()
	defer m.limits.mu.Unlock()
	m.limits.unrecorded = leftOut
}

// Describe implements prometheus.Collector.
func (l *limits) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- l.desc
	descriptions <- l.events
}

// Collect implements prometheus.Collector.
func (l *limits) Collect(values chan<- prometheus.Metric) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for of, leftOut := range l.of {
		for cluster, n := range leftOut() {
			values <- prometheus.MustNewConstMetric(l.desc, prometheus.GaugeValue, float64(n), of, cluster)
		}
	}
	if l.unrecorded == nil {
		return
	}
	for cluster, n := range l.unrecorded() {
		values <- prometheus.MustNewConstMetric(l.events, prometheus.CounterValue, float64(n), cluster)
	}
}
