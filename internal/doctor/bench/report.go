package bench

import (
	"time"

	"github.com/atoll-mcs/atoll/internal/doctor/spread"
)

// What is measured: the time from a write in the exporting cluster until another one has what follows of it.
const (
	// Export is from the ServiceExport until the ServiceImport has its clusterset IP, and all endpoints are there.
	Export = "export"
	// Change is from an EndpointSlice with another endpoint until that is there.
	Change = "change"
	// Unexport is from the end of the ServiceExport until the ServiceImport is gone.
	Unexport = "unexport"
)

// What the floor leads over.
const (
	// OverBroker is the broker, as Atoll's way does.
	OverBroker = "broker"
	// Direct is from cluster to cluster, with two writes the less.
	Direct = "direct"
	// None is that there is no floor.
	None = "none"
)

// Report is what came of it.
type Report struct {
	// Namespace is the one that was made in each cluster.
	Namespace string `json:"namespace"`
	// From is the cluster that exported, To those that imported.
	From string   `json:"from"`
	To   []string `json:"to"`
	// Rounds is how many were measured, Endpoints how many the Services had.
	Rounds    int `json:"rounds"`
	Endpoints int `json:"endpoints"`
	// Floor is what the floor led over.
	Floor string `json:"floor"`
	// RoundTrips are how long each API server takes for a small request from here.
	RoundTrips []RoundTrip `json:"roundTrips"`
	Figures    []Figure    `json:"figures"`
	// Notes say what was not measured, and why.
	Notes []string `json:"notes,omitempty"`
}

// RoundTrip is how long an API server takes for a small request.
type RoundTrip struct {
	Cluster string `json:"cluster"`
	// Milliseconds are the median of some.
	Milliseconds float64 `json:"milliseconds"`
}

// Figure is how long something took, in milliseconds.
type Figure struct {
	// What was measured, and To which cluster.
	What  string        `json:"what"`
	To    string        `json:"to"`
	Atoll spread.Spread `json:"atoll"`
	// Floor is what the same took without Atoll, Ratio Atoll's median by the floor's; nil without a floor.
	Floor *spread.Spread `json:"floor,omitempty"`
	Ratio *float64       `json:"ratio,omitempty"`
}

// sample is of what, to where, and whether of the floor.
type sample struct {
	what, to string
	floor    bool
}

// samples are what was measured, in milliseconds.
type samples map[sample][]float64

func (s samples) add(of sample, took time.Duration) {
	s[of] = append(s[of], float64(took)/float64(time.Millisecond))
}

// figures are what samples come to, for each thing that was measured and each cluster in their order.
func (s samples) figures(to []string) []Figure {
	all := []Figure{}
	for _, what := range []string{Export, Change, Unexport} {
		for _, cluster := range to {
			values := s[sample{what, cluster, false}]
			if len(values) == 0 {
				continue
			}
			f := Figure{What: what, To: cluster, Atoll: spread.Of(values)}
			if least := s[sample{what, cluster, true}]; len(least) > 0 {
				floor := spread.Of(least)
				f.Floor = &floor
				if floor.P50 > 0 {
					ratio := f.Atoll.P50 / floor.P50
					f.Ratio = &ratio
				}
			}
			all = append(all, f)
		}
	}
	return all
}
