// Package monitoring has the Prometheus rules and the Grafana dashboard, and tests that the documentation
// matches them.
package monitoring

import _ "embed" // the files

// Alerts are the rules for the Prometheus of members, Dashboard is a dashboard for them.
var (
	//go:embed alerts.yaml
	Alerts string
	//go:embed dashboard.json
	Dashboard string
)
