// Package broker connects to the broker (client.go, token.go), reads members' permissions (permissions.go), and
// decides which objects of members to believe (beliefs.go).
//
// The broker is a Kubernetes API server that stores what is ours, and runs nothing of it. Each object has one writer: the member cluster that it is about,
// or the hub. The packages below have the protocol (docs/explanation/protocol.md): what objects are like (layout), what of them enters a cache (border), what is
// to be believed (belief), who may do what (rights, permissions), and how a cluster proves who it is (credential, joining). What a service is made of is not
// decided here but in internal/mcs. Start with docs/explanation/protocol.md, then layout.
package broker
