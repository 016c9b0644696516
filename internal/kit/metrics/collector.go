package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// collector holds metrics that are computed when they are collected. Before set is called there are none.
type collector struct {
	descriptions []*prometheus.Desc
	mu           sync.Mutex
	collect      func(chan<- prometheus.Metric)
}

func newCollector(descriptions ...*prometheus.Desc) *collector {
	return &collector{descriptions: descriptions}
}

// set sets the function that computes the metrics.
func (a *collector) set(collect func(chan<- prometheus.Metric)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.collect = collect
}

// Describe implements prometheus.Collector.
func (a *collector) Describe(descriptions chan<- *prometheus.Desc) {
	for _, d := range a.descriptions {
		descriptions <- d
	}
}

// Collect implements prometheus.Collector.
func (a *collector) Collect(values chan<- prometheus.Metric) {
	a.mu.Lock()
	collect := a.collect
	a.mu.Unlock()
	if collect != nil {
		collect(values)
	}
}

func gauge(of *prometheus.Desc, value float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(of, prometheus.GaugeValue, value, labels...)
}

// number converts a bool to a metric's value.
func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
