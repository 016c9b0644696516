package clusterset

import (
	"time"

	"github.com/coredns/coredns/plugin"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// The metrics are global, because CoreDNS's prometheus plugin serves the global registry. During a reload, the old and
// the new handler report side by side.
var (
	importCount = promauto.NewGaugeVec(prometheus.GaugeOpts{
		Namespace: plugin.Namespace,
		Subsystem: pluginName,
		Name:      "service_imports",
		Help:      "Number of ServiceImports that the plugin serves.",
	}, []string{"zones"})

	sliceCount = promauto.NewGaugeVec(prometheus.GaugeOpts{
		Namespace: plugin.Namespace,
		Subsystem: pluginName,
		Name:      "endpoint_slices",
		Help:      "Number of imported EndpointSlices that the plugin serves.",
	}, []string{"zones"})

	endpointCount = promauto.NewGaugeVec(prometheus.GaugeOpts{
		Namespace: plugin.Namespace,
		Subsystem: pluginName,
		Name:      "endpoint_addresses",
		Help:      "Number of addresses of ready endpoints in imported EndpointSlices.",
	}, []string{"zones"})

	updateCount = promauto.NewCounterVec(prometheus.CounterOpts{
		Namespace: plugin.Namespace,
		Subsystem: pluginName,
		Name:      "service_updates_total",
		Help:      "Counter of services whose DNS records were rebuilt.",
	}, []string{"zones"})

	updateDuration = promauto.NewHistogramVec(prometheus.HistogramOpts{
		Namespace:                   plugin.Namespace,
		Subsystem:                   pluginName,
		Name:                        "update_duration_seconds",
		Buckets:                     plugin.SlimTimeBuckets,
		NativeHistogramBucketFactor: plugin.NativeHistogramBucketFactor,
		Help:                        "Histogram of the time (in seconds) to rebuild the DNS records of all changed services.",
	}, []string{"zones"})

	// programmingDuration matches coredns_kubernetes_dns_programming_duration_seconds of the kubernetes plugin in
	// buckets, label and meaning: the SLI "DNS programming latency" of Kubernetes SIG Scalability.
	programmingDuration = promauto.NewHistogramVec(prometheus.HistogramOpts{
		Namespace:                   plugin.Namespace,
		Subsystem:                   pluginName,
		Name:                        "programming_duration_seconds",
		Buckets:                     prometheus.ExponentialBuckets(0.001, 2, 20), // 1 ms to 17 min
		NativeHistogramBucketFactor: plugin.NativeHistogramBucketFactor,
		Help:                        "Histogram of the time (in seconds) from a change of a headless service's endpoints, by the clock of their cluster, until DNS answers contain the change.",
	}, []string{"service_kind"})
)

// headlessKind is the kubernetes plugin's name for the only kind measured: only slices of Services with selectors have
// a trigger time.
const headlessKind = "headless_with_selector"

// observe records metrics of changes that are now in answers. then is when the update started.
func (c *Clusterset) observe(all changes, then time.Time) {
	importCount.WithLabelValues(c.label).Set(float64(all.size.imports))
	sliceCount.WithLabelValues(c.label).Set(float64(all.size.slices))
	endpointCount.WithLabelValues(c.label).Set(float64(all.size.addresses))
	updateCount.WithLabelValues(c.label).Add(float64(len(all.services)))
	updateDuration.WithLabelValues(c.label).Observe(time.Since(then).Seconds())
	for _, triggered := range all.triggers {
		programmingDuration.WithLabelValues(headlessKind).Observe(time.Since(triggered).Seconds())
	}
}

// forgetMetrics deletes the metrics of a label without handler.
func forgetMetrics(label string) {
	for _, v := range []*prometheus.MetricVec{
		importCount.MetricVec, sliceCount.MetricVec, endpointCount.MetricVec, updateCount.MetricVec, updateDuration.MetricVec,
	} {
		v.DeleteLabelValues(label)
	}
}
