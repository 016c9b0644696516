// Package monitoring holds rules for Prometheus and a dashboard for Grafana, and compares them with what docs say.
package monitoring
