package metrics

import (
	"errors"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
)

var connectedDesc = prometheus.NewDesc(namespace+"_broker_connected",
	"Whether the agent's watches of the broker deliver its own writes.", nil, nil)

// Connection has it be told whether the broker is there when the metrics are collected.
func (m *Metrics) Connection(connected func() bool) {
	m.connection.set(func(values chan<- prometheus.Metric) { values <- gauge(connectedDesc, number(connected())) })
}

// ServeBuild has a registry tell which program this is. Of several in one process the first one does.
func ServeBuild(registry prometheus.Registerer, program, version string) {
	build := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: namespace, Name: "build_info", Help: "Always 1; the labels name the program and its version.",
		ConstLabels: prometheus.Labels{"program": program, "version": version, "goversion": runtime.Version()},
	}, func() float64 { return 1 })
	if err := registry.Register(build); err != nil && !errors.As(err, &prometheus.AlreadyRegisteredError{}) {
		panic(err) // two metrics of one name: a fault of the program's, seen by any test
	}
}
