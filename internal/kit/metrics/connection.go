package metrics

import (
	"errors"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
)

var connectedDesc = prometheus.NewDesc(namespace+"_broker_connected",
	"Whether this cluster's heartbeat has come back from the broker within --lease-timeout.", nil, nil)

// Connection sets the function that reports whether the broker is connected.
func (m *Metrics) Connection(connected func() bool) {
	m.connection.set(func(values chan<- prometheus.Metric) { values <- gauge(connectedDesc, number(connected())) })
}

var isolatedDesc = prometheus.NewDesc(namespace+"_broker_isolated",
	"Whether the broker refused the leader's last test write in the name of another cluster. Absent if the result is not known.", nil, nil)

// Isolation sets the function that returns whether the broker limits members to their own objects, "" if that is not known.
func (m *Metrics) Isolation(isolation func() brokerv1alpha1.Isolation) {
	m.isolation.set(func(values chan<- prometheus.Metric) {
		if state := isolation(); state != "" {
			values <- gauge(isolatedDesc, number(state == brokerv1alpha1.Isolated))
		}
	})
}

// ServeBuild registers the build info metric. If a process has several programs, the first one is reported.
func ServeBuild(registry prometheus.Registerer, program, version string) {
	build := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: namespace, Name: "build_info", Help: "The value is always 1. The labels name the program and its version.",
		ConstLabels: prometheus.Labels{"program": program, "version": version, "goversion": runtime.Version()},
	}, func() float64 { return 1 })
	if err := registry.Register(build); err != nil && !errors.As(err, &prometheus.AlreadyRegisteredError{}) {
		panic(err) // duplicate metrics: a programming error that any test finds
	}
}
