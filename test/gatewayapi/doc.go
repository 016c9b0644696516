// Package gatewayapi tests a Gateway API implementation with Atoll's ServiceImports. The
// controller of Envoy Gateway runs unchanged in a lab, without Envoy. The test takes the place of
// Envoy: it reads from the controller which endpoints a route uses.
//
// The package has a module of its own, so that the product does not depend on Envoy Gateway.
package gatewayapi
