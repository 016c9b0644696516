// Package agent is the mcs-controller of a member cluster: it publishes the cluster's exports to the broker and turns everybody's exports into local
// ServiceImports, derived Services and EndpointSlices.
//
// Here is the process: its options, its sessions, what it serves. Folders below hold its controllers, one for each kind of object that they write: publish
// (what goes to the broker), imports (what comes from it), status, catalogue, lost, membership and token; core has their list, inputs what they read. A
// controller gathers, calls a rule of internal/mcs or internal/broker/belief, and writes the difference; no rule lives here, and nothing of commands. Start
// with core/controllers.go.
package agent
