package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// asked are metrics that are told when somebody collects them, and not before it is said how.
type asked struct {
	descriptions []*prometheus.Desc
	mu           sync.Mutex
	tell         func(chan<- prometheus.Metric)
}

func newAsked(descriptions ...*prometheus.Desc) *asked { return &asked{descriptions: descriptions} }

// set says how they are told.
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

// gauge returns a gauge's value.
func gauge(of *prometheus.Desc, value float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(of, prometheus.GaugeValue, value, labels...)
}

// number returns the value of a metric that is true or false.
func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
