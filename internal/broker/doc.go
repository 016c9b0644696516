// Package broker connects to the broker (client.go, token.go), reads members' permissions (permissions.go), and decides
// which objects of members to believe (beliefs.go).
//
// The broker is a Kubernetes API server that stores Atoll's objects, and runs none of its programs. Each object has one
// writer: its member cluster, or the hub. Subpackages have the protocol: the format of objects (layout), admission to
// caches (border), which changes to believe (belief), access control (rights, permissions), and proof of identity
// (credential, joining). internal/mcs decides how services are merged. Start with docs/explanation/protocol.md, then
// layout.
package broker
