// Package hub contains the controllers of MultiClusterServices. They write policies for agents to the broker, and
// configure load balancers.
//
// This package is the process; its subpackages are independent controllers. Providers (package cloudprovider) carry
// the traffic. Start with the list of controllers in hub.go.
package hub
