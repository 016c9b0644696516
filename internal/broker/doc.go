// Package broker connects to the broker (client.go, token.go).
//
// The broker is a Kubernetes API server that only stores Atoll's objects. Each object has one writer: its member
// cluster, or the hub. Subpackages have the protocol: object formats (layout), admission to caches (border), what
// members are believed to export (view, by the rules in belief), access (rights, permissions), and credentials
// (credential, joining). internal/mcs merges
// services. Start with docs/explanation/protocol.md, then layout.
package broker
