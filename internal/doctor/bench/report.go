package bench

import (
	"time"

	"github.com/atoll-mcs/atoll/internal/doctor/spread"
)

// Measurements. Each is the time from a write in the exporting cluster until its effect in another cluster.
const (
	// Export is the time from the ServiceExport's creation until the ServiceImport has its clusterset IP and all
	// endpoints.
	Export = "export"
	// Change is the time from a changed EndpointSlice until the new endpoint is there.
	Change = "change"
	// Unexport is the time from the ServiceExport's deletion until the ServiceImport is gone.
	Unexport = "unexport"
)

// Report is the result of a run.
type Report struct {
	// Namespace was created in each cluster.
	Namespace string `json:"namespace"`
	// From is the exporting cluster, To are the importing ones.
	From string   `json:"from"`
	To   []string `json:"to"`
	// Rounds is the number of measured rounds, Endpoints the number of each Service's endpoints.
	Rounds    int `json:"rounds"`
	Endpoints int `json:"endpoints"`
	// RoundTrips are the times of small requests from here to each API server.
	RoundTrips []RoundTrip `json:"roundTrips"`
	Figures    []Figure    `json:"figures"`
	// Notes say what was not measured and why.
	Notes []string `json:"notes,omitempty"`
}

// RoundTrip is the time of a small request to an API server.
type RoundTrip struct {
	Cluster string `json:"cluster"`
	// Milliseconds is a median.
	Milliseconds float64 `json:"milliseconds"`
}

// Figure summarizes one measurement, in milliseconds.
type Figure struct {
	// What is the measurement, To the importing cluster.
	What string        `json:"what"`
	To   string        `json:"to"`
	Took spread.Spread `json:"took"`
	// Requests is the median divided by the cluster's RoundTrip.
	Requests float64 `json:"requests"`
}

// sample identifies a measurement and its importing cluster.
type sample struct{ what, to string }

// samples are measurements in milliseconds.
type samples map[sample][]float64

func (s samples) add(of sample, took time.Duration) {
	s[of] = append(s[of], float64(took)/float64(time.Millisecond))
}

// figures summarizes the samples by measurement and cluster.
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
