// Package hub has the controllers of MultiClusterServices, next to a clusterset's broker: they write policies
// for agents, and configure load balancers.
//
// Here is the process; the folders are its controllers, which do not know each other. What carries traffic is a
// provider (cloudprovider), of which nothing is known here. Start with the list of controllers in hub.go.
package hub
