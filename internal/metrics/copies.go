package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// copies are the copies of EndpointSlices that follow interest.
type copies struct {
	namespaces, slices *prometheus.Desc
	mu                 sync.Mutex
	count              map[string]func() (namespaces, slices int)
}

func newCopies() *copies {
	return &copies{
		namespaces: prometheus.NewDesc(namespace+"_followed_namespaces",
			"Number of namespaces whose EndpointSlices are followed, on the broker or in the own cluster.", []string{"of"}, nil),
		slices: prometheus.NewDesc(namespace+"_followed_endpointslices",
			"Number of EndpointSlices that are held of these namespaces.", []string{"of"}, nil),
		count: map[string]func() (int, int){},
	}
}

// Follow has a copy counted when the metrics are collected.
func (m *Metrics) Follow(of string, count func() (namespaces, slices int)) {
	m.copies.mu.Lock()
	defer m.copies.mu.Unlock()
	m.copies.count[of] = count
}

// Describe implements prometheus.Collector.
func (c *copies) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- c.namespaces
	descriptions <- c.slices
}

// Collect implements prometheus.Collector.
func (c *copies) Collect(values chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for of, count := range c.count {
		namespaces, slices := count()
		values <- prometheus.MustNewConstMetric(c.namespaces, prometheus.GaugeValue, float64(namespaces), of)
		values <- prometheus.MustNewConstMetric(c.slices, prometheus.GaugeValue, float64(slices), of)
	}
}
