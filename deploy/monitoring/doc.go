// Package monitoring has the Prometheus rules and the Grafana dashboard, and tests that the documentation
// matches them.
package monitoring

import _ "embed" // the files

// Alerts are the rules for the Prometheus of members, BrokerAlerts and HubAlerts those for brokers and hubs. Dashboard is a dashboard
// for members.
var (
	//go:embed alerts.yaml
	Alerts string
	//go:embed broker-alerts.yaml
	BrokerAlerts string
	//go:embed hub-alerts.yaml
	HubAlerts string
	//go:embed dashboard.json
	Dashboard string
)
