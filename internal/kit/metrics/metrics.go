// Package metrics has the metrics of an agent. docs/reference/metrics.md describes them all, and a test
// compares. None has a label whose values are addresses, for these have no bound; those of the cluster's own
// exports and imports have their names.
//
// Each of the others costs a few additions where something is written, and nothing where not: what there
// is is counted up and down, and not when somebody asks.
package metrics

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

const namespace = "atoll"

// Names of the controllers whose slices are measured, as values of the label controller.
const (
	Exported = "exportedslice"
	Imported = "importedslice"
)

// Metrics are those of one agent, for as long as it holds one copy of things.
type Metrics struct {
	// Exported and Imported are of the slices that an agent keeps on the broker and in its
	// own cluster.
	Exported, Imported *Slices
	// Publish, Transit, Import and Total are how long a change of endpoints takes: the stages
	// of which docs/reference/metrics.md tells where they begin and end.
	Publish, Transit, Import, Total prometheus.Observer

	slices      sliceVectors
	imports     *prometheus.GaugeVec
	propagation *prometheus.HistogramVec
	traffic     *Traffic

	leftOut, events, remotes, objects, connection *asked
}

// New returns metrics of nothing but the traffic with the broker, which lasts longer.
func New(traffic *Traffic) *Metrics {
	m := &Metrics{
		slices: newSliceVectors(),
		imports: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: namespace, Name: "serviceimport_endpoints",
			Help: "Number of endpoints of imported services, by the cluster that they are in.",
		}, []string{"source_cluster"}),
		propagation: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Name: "propagation_duration_seconds",
			Help:    "Duration of changes of endpoints until they are in other clusters, by stage.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 18), // 1 ms to 131 s
		}, []string{"stage"}),
		traffic:    traffic,
		leftOut:    newAsked(leftOutDesc),
		events:     newAsked(eventsDesc),
		remotes:    newAsked(remoteReady, remoteOver, remoteRenewed),
		objects:    newAsked(exportCondition, importClusters, conflictCount),
		connection: newAsked(connectedDesc),
	}
	m.Exported, m.Imported = m.slices.of(Exported, nil), m.slices.of(Imported, m.imports)
	m.Publish, m.Transit = m.propagation.WithLabelValues("publish"), m.propagation.WithLabelValues("broker")
	m.Import, m.Total = m.propagation.WithLabelValues("import"), m.propagation.WithLabelValues("total")
	return m
}

func (m *Metrics) collectors() []prometheus.Collector {
	return append(m.slices.collectors(), m.imports, m.propagation, m.traffic.bytes, m.leftOut, m.events, m.remotes, m.objects, m.connection)
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(descriptions chan<- *prometheus.Desc) {
	for _, c := range m.collectors() {
		c.Describe(descriptions)
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(values chan<- prometheus.Metric) {
	for _, c := range m.collectors() {
		c.Collect(values)
	}
}

// Serve has the metrics be served by a registry until stop is called. Of several agents in
// one process, as in tests, the first one's are.
func (m *Metrics) Serve(registry prometheus.Registerer) (stop func()) {
	err := registry.Register(m)
	if errors.As(err, &prometheus.AlreadyRegisteredError{}) {
		return func() {}
	}
	if err != nil {
		panic(err) // two metrics of one name: a fault of the program's, seen by any test
	}
	return func() { registry.Unregister(m) }
}
