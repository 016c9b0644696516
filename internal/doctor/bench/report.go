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
	What string        `json:"what"`
	To   string        `json:"to"`
	Took spread.Spread `json:"took"`
	// Requests is the median divided by the duration of a small request to the cluster.
	Requests float64 `json:"requests"`
}

// sample names a measurement: of what, and to which cluster.
type sample struct{ what, to string }

// samples are measurements in milliseconds.
type samples map[sample][]float64

func (s samples) add(of sample, took time.Duration) {
	s[of] = append(s[of], float64(took)/float64(time.Millisecond))
}

// figures summarizes the samples for each measurement and cluster, in their order.
func (s samples) figures(to []string, requests []RoundTrip) []Figure {
	all := []Figure{}
	for _, what := range []string{Export, Change, Unexport} {
		for _, cluster := range to {
			values := s[sample{what, cluster}]
			if len(values) == 0 {
				continue
			}
			f := Figure{What: what, To: cluster, Took: spread.Of(values)}
			for _, r := range requests {
				if r.Cluster == cluster && r.Milliseconds > 0 {
					f.Requests = f.Took.P50 / r.Milliseconds
				}
			}
			all = append(all, f)
		}
	}
	return all
}
