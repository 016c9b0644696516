package spread

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// For all values, each quantile is one of the values, the quantiles are in order, and exactly
// the right share of values is not above a quantile.
func TestQuantiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(0, 1000), 1, 200).Draw(t, "values")
		before := slices.Clone(values)
		s := Of(values)
		if !slices.Equal(before, values) {
			t.Fatal("the values were changed")
		}
		if s.N != len(values) || s.Min != slices.Min(values) {
			t.Fatalf("%d from %v", s.N, s.Min)
		}
		if all := []float64{s.Min, s.P50, s.P90, s.P99, s.Max}; !slices.IsSorted(all) {
			t.Fatalf("%v", all)
		}
		for share, q := range map[float64]float64{.5: s.P50, .9: s.P90, .99: s.P99, 1: s.Max} {
			within, below := 0, 0
			for _, v := range values {
				if v <= q {
					within++
				}
				if v < q {
					below++
				}
			}
			wanted := share * float64(len(values))
			if !slices.Contains(values, q) || float64(within) < wanted || float64(below) >= wanted {
				t.Fatalf("%v is not at %v", q, share)
			}
		}
	})
}
