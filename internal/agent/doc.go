// Package agent has the MCS controllers of a member cluster: they publish its exports to the broker, and create
// ServiceImports, derived Services and EndpointSlices from all exports.
//
// Here is the process: its options, its sessions, what it serves. Folders below hold its controllers, one for each kind of object that they write: publish
// (what goes to the broker), imports (what comes from it), status, catalogue, lost, membership and token; core has their list, inputs what they read. A
// controller gathers, calls a rule of internal/mcs or internal/broker/belief, and writes the difference; no rule lives here, and nothing of commands. Start
// with core/controllers.go.
package agent
