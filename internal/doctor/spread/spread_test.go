package spread

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestOf(t *testing.T) {
	var hundred []float64
	for i := 100; i >= 1; i-- {
		hundred = append(hundred, float64(i))
	}
	if got, want := Of(hundred), (Spread{N: 100, Min: 1, P50: 50, P90: 90, P99: 99, Max: 100}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := Of([]float64{7}); got.P50 != 7 || got.P99 != 7 {
		t.Errorf("of one value %+v", got)
	}
	if got := Of([]float64{2, 1}); got.P50 != 1 || got.P99 != 2 {
		t.Errorf("of two values %+v", got)
	}
}

// Whatever the values: each quantile is one of them, they are in order, and so many values are not above it.
func TestQuantiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(0, 1000), 1, 200).Draw(t, "values")
		before := slices.Clone(values)
		s := Of(values)
		if !slices.Equal(before, values) {
			t.Fatal("the values were changed")
		}
		if all := []float64{s.Min, s.P50, s.P90, s.P99, s.Max}; !slices.IsSorted(all) {
			t.Fatalf("%v", all)
		}
		for share, q := range map[float64]float64{.5: s.P50, .9: s.P90, .99: s.P99, 1: s.Max} {
			within := 0
			for _, v := range values {
				if v <= q {
					within++
				}
			}
			if !slices.Contains(values, q) || float64(within) < share*float64(len(values)) {
				t.Fatalf("%v is not at %v", q, share)
			}
		}
	})
}
