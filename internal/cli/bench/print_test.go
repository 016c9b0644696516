package bench

import (
	"bytes"
	"testing"

	"github.com/atoll-mcs/atoll/internal/doctor/bench"
	"github.com/atoll-mcs/atoll/internal/doctor/spread"
)

func TestPrint(t *testing.T) {
	r := bench.Report{
		From: "c1", To: []string{"c2", "c3"}, Rounds: 20, Endpoints: 10,
		RoundTrips: []bench.RoundTrip{{Cluster: "c1", Milliseconds: 1.04}, {Cluster: "c2", Milliseconds: 0.9}},
		Figures: []bench.Figure{
			{What: bench.Export, To: "c2", Took: spread.Spread{N: 20, P50: 20.123, P99: 31}, Requests: 22.36},
			{What: bench.Unexport, To: "c3", Took: spread.Spread{N: 20, P50: 8, P99: 1234.5}},
		},
		Notes: []string{"A note."},
	}
	const want = `c1 to c2, c3, 20 rounds, 10 endpoints
a small request from this machine takes: c1 1.0 ms, c2 0.9 ms

WHAT      TO  P50      P99        REQUESTS
export    c2  20.1 ms  31.0 ms    22.4
unexport  c3  8.0 ms   1234.5 ms  0.0

A note.
`
	var got bytes.Buffer
	if err := print(&got, r); err != nil || got.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s\n%v", got.String(), want, err)
	}
}
