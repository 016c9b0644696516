package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// asked are metrics that are computed when they are collected. Before set is called there are none.
type asked struct {
	descriptions []*prometheus.Desc
	mu           sync.Mutex
	tell         func(chan<- prometheus.Metric)
}

func newAsked(descriptions ...*prometheus.Desc) *asked { return &asked{descriptions: descriptions} }

// set sets the function that computes the metrics.
func (a *asked) set(tell func(chan<- prometheus.Metric)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tell = tell
}

// Describe implements prometheus.Collector.
func (a *asked) Describe(descriptions chan<- *prometheus.Desc) {
	for _, d := range a.descriptions {
		descriptions <- d
	}
}

// Collect implements prometheus.Collector.
func (a *asked) Collect(values chan<- prometheus.Metric) {
	a.mu.Lock()
	tell := a.tell
	a.mu.Unlock()
	if tell != nil {
		tell(values)
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
