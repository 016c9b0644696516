package bench

import (
	"bytes"
	"testing"

	"github.com/atoll-mcs/atoll/internal/doctor/bench"
	"github.com/atoll-mcs/atoll/internal/doctor/spread"
)

func TestPrint(t *testing.T) {
	floor, ratio := spread.Spread{N: 20, P50: 9.87, P99: 12}, 2.04
	r := bench.Report{
		From: "c1", To: []string{"c2", "c3"}, Rounds: 20, Endpoints: 10, Floor: bench.Direct,
		RoundTrips: []bench.RoundTrip{{Cluster: "c1", Milliseconds: 1.04}, {Cluster: "c2", Milliseconds: 0.9}},
		Figures: []bench.Figure{
			{What: bench.Export, To: "c2", Atoll: spread.Spread{N: 20, P50: 20.123, P99: 31}, Floor: &floor, Ratio: &ratio},
			{What: bench.Unexport, To: "c3", Atoll: spread.Spread{N: 20, P50: 8, P99: 1234.5}},
		},
		Notes: []string{"the floor is a direct one"},
	}
	const want = `c1 to c2, c3, 20 rounds, 10 endpoints
a small request from here takes: c1 1.0 ms, c2 0.9 ms

WHAT      TO  P50      P99        FLOOR P50  FLOOR P99  RATIO
export    c2  20.1 ms  31.0 ms    9.9 ms     12.0 ms    2.0
unexport  c3  8.0 ms   1234.5 ms  -          -          -

the floor is a direct one
`
	var got bytes.Buffer
	if err := print(&got, r); err != nil || got.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s\n%v", got.String(), want, err)
	}
	r.Floor, r.Figures, r.Notes = bench.None, r.Figures[1:], nil
	got.Reset()
	const without = `c1 to c2, c3, 20 rounds, 10 endpoints
a small request from here takes: c1 1.0 ms, c2 0.9 ms

WHAT      TO  P50     P99
unexport  c3  8.0 ms  1234.5 ms
`
	if err := print(&got, r); err != nil || got.String() != without {
		t.Errorf("got:\n%s\nwant:\n%s\n%v", got.String(), without, err)
	}
}
