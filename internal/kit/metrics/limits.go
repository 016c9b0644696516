package metrics

import "github.com/prometheus/client_golang/prometheus"

var (
	leftOutDesc = prometheus.NewDesc(namespace+"_import_left_out",
		"Number of objects on the broker that arrive late or not at all because their source cluster exceeds this cluster's per-member budget.", []string{"source_cluster"}, nil)
	eventsDesc = prometheus.NewDesc(namespace+"_events_left_out_total",
		"Number of Events that were not recorded because too many Events were about the same other cluster.", []string{"source_cluster"}, nil)
)

// LeftOut sets the function that returns the number of late objects by source cluster.
func (m *Metrics) LeftOut(objects func() map[string]int) {
	m.leftOut.set(func(values chan<- prometheus.Metric) {
		for cluster, n := range objects() {
			values <- gauge(leftOutDesc, float64(n), cluster)
		}
	})
}

// Events sets the function that returns the number of dropped Events by source cluster.
func (m *Metrics) Events(leftOut func() map[string]int) {
	m.events.set(func(values chan<- prometheus.Metric) {
		for cluster, n := range leftOut() {
			values <- prometheus.MustNewConstMetric(eventsDesc, prometheus.CounterValue, float64(n), cluster)
		}
	})
}
