// Package hub is the controller of MultiClusterServices, which runs beside a clusterset's broker: it tells the members' agents what to export and import, and
// has load balancers send traffic to the endpoints of all clusters.
//
// Here is the process; the folders are its controllers, which do not know each other. What carries traffic is a
// provider (cloudprovider), of which nothing is known here. Start with the list of controllers in hub.go.
package hub
