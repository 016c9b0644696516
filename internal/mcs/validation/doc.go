// Package validation decides which parts of export records and EndpointSlices a cluster accepts. Every border
// calls it: the exporting agent before it publishes, each importing agent and the hub before they use what
// another cluster published.
//
// The rules are those of the API servers of Kubernetes 1.30 to 1.36 and of kube-proxy, for the ServiceImport, the derived Service
// and the EndpointSlices that are made from the input. What they refuse is left out alone: one bad port or endpoint leaves the
// others as they are. All functions are pure and return the given object where nothing is left out.
//
// Start with Record (record.go) and Slice (slice.go). Address (address.go) and Network (network.go) decide on addresses,
// Metadata (metadata.go) on exported labels and annotations.
package validation

import (
	"fmt"
	"strings"
)

// Limits for one record and one EndpointSlice. The broker's admission policy has the same ones.
const (
	// MaxPorts is how many ports one record, and one EndpointSlice, may have.
	MaxPorts = 100
	// MaxEndpoints is the API's limit of endpoints in one EndpointSlice.
	MaxEndpoints = 1000
	// MaxPairs bounds ports × endpoints of one EndpointSlice: kube-proxy programs each pair.
	MaxPairs = 50_000
	// MaxAffinitySeconds is the API's limit for the timeout of a Service's session affinity.
	MaxAffinitySeconds = 86_400
	// MaxMetadata is how many bytes the exported labels and annotations of one record may take up together.
	MaxMetadata = 64 << 10
	// MaxKeys is how many exported labels one record may have, and how many exported annotations.
	MaxKeys = 1000
)

// Refused is one part of a record or an EndpointSlice that is left out.
type Refused struct {
	// Part names it, such as `port "http"`.
	Part string
	// Reason says which rule it breaks, such as "70000 is not between 1 and 65535".
	Reason string
}

func (r Refused) String() string { return r.Part + ": " + r.Reason }

// Summary describes what is left out in one sentence without a full stop, "" for nothing. It is at most 400 bytes long.
func Summary(refused []Refused) string {
	if len(refused) == 0 {
		return ""
	}
	first := shorten(refused[0].String(), 360)
	if more := len(refused) - 1; more > 0 {
		return fmt.Sprintf("%s; and %d more", first, more)
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

// quote is a part of the input for messages.
func quote(text string) string { return fmt.Sprintf("%q", shorten(text, 80)) }
