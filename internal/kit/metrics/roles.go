package metrics

import (
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Role counts the imported services in which a cluster's endpoints have a role.
type Role struct{ Cluster, Role, Reason string }

// Drain is a drain of this cluster.
type Drain struct {
	// Scope is what drains: broker, cluster, namespace or service.
	Scope, Namespace, Service string
	// End is zero if the drain has no end.
	End time.Time
}

var (
	roleServices = prometheus.NewDesc(namespace+"_serviceimport_roles",
		"Number of imported services with a preference, weights, drained or silent clusters in which a cluster's endpoints have a role, by its reason.", []string{"source_cluster", "role", "reason"}, nil)
	drainEnd = prometheus.NewDesc(namespace+"_drain_end_timestamp_seconds",
		"Time when a drain of this cluster ends; +Inf if it has no end.", []string{"scope", "namespace", "serviceexport"}, nil)
)

// Roles sets the functions that return the roles of clusters, and the drains of this cluster. If drains fails, they are not reported.
func (m *Metrics) Roles(roles func() map[Role]int, drains func() ([]Drain, error)) {
	m.roles.set(func(values chan<- prometheus.Metric) {
		for role, services := range roles() {
			values <- gauge(roleServices, float64(services), role.Cluster, role.Role, role.Reason)
		}
		all, err := drains()
		if err != nil {
			return
		}
		for _, d := range all {
			end := math.Inf(1)
			if !d.End.IsZero() {
				end = float64(d.End.Unix())
			}
			values <- gauge(drainEnd, end, d.Scope, d.Namespace, d.Service)
		}
	})
}
