// Package metrics has the metrics of an agent. docs/reference/metrics.md describes them all, and a test compares. No
// label has addresses as values, because these are unbounded. Metrics of the cluster's own exports and imports have
// their names as labels.
//
// Most metrics are counted when something is written, not when they are collected.
package metrics

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

const namespace = "atoll"

// Names of the measured controllers, as values of the label controller.
const (
	Exported = "exportedslice"
	Imported = "importedslice"
)

// Values of the label heartbeat: connections to members whose heartbeat is current gather evidence for later.
const (
	ProbesCurrent = "current"
	ProbesLate    = "late"
	ProbesMissing = "missing"
)

// Metrics are the metrics of one agent for one term.
type Metrics struct {
	// Exported and Imported are the slices that an agent keeps on the broker and in its own cluster.
	Exported, Imported *Slices
	// Publish, Transit, Import and Total are the durations of an endpoint change's stages; see
	// docs/reference/metrics.md.
	Publish, Transit, Import, Total prometheus.Observer

	// Probes counts the connections by which an agent learns whether other members' endpoints answer.
	Probes *prometheus.CounterVec
	// ForeignWrites counts changes of this cluster's objects on the broker that are not this agent's.
	ForeignWrites prometheus.Counter

	slices      sliceVectors
	imports     *prometheus.GaugeVec
	propagation *prometheus.HistogramVec
	traffic     *Traffic

	leftOut, events, remotes, objects, roles, connection, isolation, addresses *collector
}

// New returns metrics that are empty except for the broker traffic, which outlives them.
func New(traffic *Traffic) *Metrics {
	m := &Metrics{
		slices: newSliceVectors(),
		imports: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: namespace, Name: "serviceimport_endpoints",
			Help: "Number of endpoints of imported services, by the cluster that contains the endpoints.",
		}, []string{"source_cluster"}),
		propagation: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Name: "propagation_duration_seconds",
			Help:    "Time from a change of endpoints until other clusters have the change, by stage.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 18), // 1 ms to 131 s
		}, []string{"stage"}),
		Probes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "probes_total",
			Help: "Number of TCP connections that test endpoints of other members, by the state of the member's heartbeat.",
		}, []string{"heartbeat"}),
		ForeignWrites: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: namespace, Name: "foreign_writes_total",
			Help: "Number of changes of this cluster's objects on the broker by other writers than this cluster's agents.",
		}),
		traffic:    traffic,
		leftOut:    newCollector(leftOutDesc),
		events:     newCollector(eventsDesc),
		remotes:    newCollector(remoteReady, remoteSilent, remoteOver, remoteRenewed),
		objects:    newCollector(exportCondition, importClusters, conflictCount),
		roles:      newCollector(roleServices, drainEnd),
		connection: newCollector(connectedDesc),
		isolation:  newCollector(isolatedDesc),
		addresses:  newCollector(addressesDesc, importAddressesDesc),
	}
	m.Exported, m.Imported = m.slices.of(Exported, nil), m.slices.of(Imported, m.imports)
	m.Publish, m.Transit = m.propagation.WithLabelValues("publish"), m.propagation.WithLabelValues("broker")
	for _, heartbeat := range []string{ProbesCurrent, ProbesLate, ProbesMissing} {
		m.Probes.WithLabelValues(heartbeat)
	}
	m.Import, m.Total = m.propagation.WithLabelValues("import"), m.propagation.WithLabelValues("total")
	return m
}

func (m *Metrics) collectors() []prometheus.Collector {
	return append(m.slices.collectors(), m.imports, m.propagation, m.Probes, m.ForeignWrites, m.traffic.bytes, m.leftOut, m.events, m.remotes, m.objects, m.roles, m.connection, m.isolation, m.addresses)
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

// Serve registers the metrics until stop is called. If a test process has several agents, the first one's are served.
func (m *Metrics) Serve(registry prometheus.Registerer) (stop func()) {
	err := registry.Register(m)
	if errors.As(err, &prometheus.AlreadyRegisteredError{}) {
		return func() {}
	}
	if err != nil {
		panic(err) // duplicate metrics: a programming error that any test finds
	}
	return func() { registry.Unregister(m) }
}
