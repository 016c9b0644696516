// Package spread computes the spread of repeated measurements.
package spread

import (
	"math"
	"slices"
)

// Spread is the spread, in the unit of the values.
type Spread struct {
	N   int     `json:"n"`
	Min float64 `json:"min"`
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// Of describes values, at least one. Quantiles use the nearest rank, so each is one of the values.
func Of(values []float64) Spread {
	sorted := slices.Sorted(slices.Values(values))
	at := func(q float64) float64 {
		return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)]
	}
	return Spread{N: len(sorted), Min: sorted[0], P50: at(.5), P90: at(.9), P99: at(.99), Max: sorted[len(sorted)-1]}
}
