// Package validation decides which parts of export records and EndpointSlices a cluster accepts. Every border calls it:
// the exporting agent before it publishes, each importing agent and the hub before they use what another cluster
// published.
//
// The rules are those of the API servers of Kubernetes 1.30 to 1.36 and of kube-proxy, for the ServiceImport, the
// derived Service and the EndpointSlices made from the input. Only invalid parts are left out: one bad port or endpoint
// does not affect others. All functions are pure, and return the given object if it is valid.
//
// Start with Record (record.go) and Slice (slice.go). Address (address.go) and Network (network.go) check addresses,
// Metadata (metadata.go) exported labels and annotations.
package validation

import (
	"fmt"
	"strings"
)

// Limits for one record or EndpointSlice. The broker's admission policy has the same limits.
const (
	// MaxPorts limits the ports of a record or an EndpointSlice.
	MaxPorts = 1000
	// MaxEndpoints is the API's limit for an EndpointSlice's endpoints.
	MaxEndpoints = 1000
	// MaxPairs limits ports × endpoints of an EndpointSlice: kube-proxy programs each pair.
	MaxPairs = 50_000
	// MaxAffinitySeconds is the API's limit for a session affinity's timeout.
	MaxAffinitySeconds = 86_400
	// MaxMetadata limits a record's exported labels and annotations together, in bytes.
	MaxMetadata = 64 << 10
	// MaxKeys limits a record's exported labels, and its exported annotations.
	MaxKeys = 1000
)

// Refused is a part of a record or an EndpointSlice that is left out.
type Refused struct {
	// Part names it, such as `port "http"`.
	Part string
	// Reason is the broken rule, such as "70000 is not between 1 and 65535".
	Reason string
}

func (r Refused) String() string { return r.Part + ": " + r.Reason }

// Summary describes what is left out in one sentence without a full stop, at most 400 bytes; "" for nothing.
func Summary(refused []Refused) string {
	if len(refused) == 0 {
		return ""
	}
	first := shorten(refused[0].String(), 360)
	if more := len(refused) - 1; more > 0 {
		return fmt.Sprintf("%s; further problems: %d", first, more)
	}
	return first
}

// shorten cuts text for messages: another cluster chooses its length.
func shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}

// quote quotes a part of the input for messages.
func quote(text string) string { return fmt.Sprintf("%q", shorten(text, 80)) }
