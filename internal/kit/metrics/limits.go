package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/atoll-mcs/atoll/internal/mcs/share"
)

var (
	leftOutDesc = prometheus.NewDesc(namespace+"_import_left_out",
		"Number of objects on the broker that arrive late or not at all because their source cluster exceeds this cluster's per-member budget.", []string{"source_cluster"}, nil)
	eventsDesc = prometheus.NewDesc(namespace+"_events_left_out_total",
		"Number of Events that the agent did not record because there were too many about the source cluster.", []string{"source_cluster"}, nil)
	addressesDesc = prometheus.NewDesc(namespace+"_service_range_used_ratio",
		"Part of this cluster's Service addresses that is in use, from 0 to 1.", []string{"ip_family"}, nil)
	importAddressesDesc = prometheus.NewDesc(namespace+"_serviceimport_addresses",
		"Number of this cluster's Service addresses that imports use, by the cluster that exports them.", []string{"source_cluster"}, nil)
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

// Addresses sets the Service addresses in use. Families without a known range are left out.
func (m *Metrics) Addresses(used *share.Addresses) {
	m.addresses.set(func(values chan<- prometheus.Metric) {
		for family, part := range used.Used() {
			values <- gauge(addressesDesc, part, string(family))
		}
		for cluster, n := range used.Members() {
			values <- gauge(importAddressesDesc, float64(n), cluster.String())
		}
	})
}
