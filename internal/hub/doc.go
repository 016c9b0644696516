// Package hub has the controllers of MultiClusterServices, next to a clusterset's broker: they write policies for
// agents, and configure load balancers.
//
// This package is the process; its subpackages are independent controllers. Providers (package cloudprovider) carry
// the traffic. Start with the list of controllers in hub.go.
package hub
