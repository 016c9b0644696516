package clusterset

import (
	"strings"
	"time"

	"github.com/coredns/coredns/plugin"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// The metrics are global because CoreDNS's prometheus plugin serves the global
// registry, and on a reload the old and the new handler report side by side.
var (
	importCount = promauto.NewGaugeVec(prometheus.GaugeOpts{
		Namespace: plugin.Namespace,
		Subsystem: pluginName,
		Name:      "service_imports",
		Help:      "Number of ServiceImports that answers are made of.",
	}, []string{"zones"})

	sliceCount = promauto.NewGaugeVec(prometheus.GaugeOpts{
		Namespace: plugin.Namespace,
		Subsystem: pluginName,
		Name:      "endpoint_slices",
		Help:      "Number of imported EndpointSlices that answers are made of.",
	}, []string{"zones"})

	updateCount = promauto.NewCounterVec(prometheus.CounterOpts{
		Namespace: plugin.Namespace,
		Subsystem: pluginName,
		Name:      "service_updates_total",
		Help:      "Counter of services whose answers were made anew.",
	}, []string{"zones"})

	updateDuration = promauto.NewHistogramVec(prometheus.HistogramOpts{
		Namespace:                   plugin.Namespace,
		Subsystem:                   pluginName,
		Name:                        "update_duration_seconds",
		Buckets:                     plugin.SlimTimeBuckets,
		NativeHistogramBucketFactor: plugin.NativeHistogramBucketFactor,
		Help:                        "Histogram of the time (in seconds) in which the answers of all services that had changed were made anew.",
	}, []string{"zones"})
)

// observe records that so many services were made anew in that time.
func (c *Clusterset) observe(known *objects, updates int, took time.Duration) {
	zones := make([]string, 0, len(c.zones))
	for _, z := range c.zones {
		zones = append(zones, z.name)
	}
	label := strings.Join(zones, " ")
	imports, slices := known.count()
	importCount.WithLabelValues(label).Set(float64(imports))
	sliceCount.WithLabelValues(label).Set(float64(slices))
	updateCount.WithLabelValues(label).Add(float64(updates))
	updateDuration.WithLabelValues(label).Observe(took.Seconds())
}
