// Package monitoring has the Prometheus rules and the Grafana dashboard, and tests that the documentation
// matches them.
package monitoring
