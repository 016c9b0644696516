package failover

import (
	"math/rand/v2"
	"testing"
	"time"
)

// Single bad requests among many good ones do not count, and the order of the requests does not matter.
func TestLeftAfter(t *testing.T) {
	start := time.Unix(1000, 0)
	for name, tt := range map[string]struct {
		every time.Duration
		bad   func(n int) bool
		want  time.Duration
	}{
		"all are good":             {5 * time.Millisecond, func(int) bool { return false }, 0},
		"all are bad for a while":  {5 * time.Millisecond, func(n int) bool { return n <= 100 }, 500 * time.Millisecond},
		"half are bad for a while": {5 * time.Millisecond, func(n int) bool { return n <= 100 && n%2 == 0 }, 500 * time.Millisecond},
		"one in 50 is bad":         {5 * time.Millisecond, func(n int) bool { return n == 200 }, time.Second},
		"one in 250 is bad":        {time.Millisecond, func(n int) bool { return n == 200 || n == 600 }, 0},
		"before the start":         {5 * time.Millisecond, func(n int) bool { return n < 0 }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var requests []request
			for n := -100; n < 1000; n++ {
				r := request{at: start.Add(time.Duration(n) * tt.every), by: "c1"}
				if tt.bad(n) {
					r.by = ""
				}
				requests = append(requests, r)
			}
			rand.Shuffle(len(requests), func(i, j int) { requests[i], requests[j] = requests[j], requests[i] })
			if got := leftAfter(requests, start, failed); got != tt.want {
				t.Errorf("after %v, want %v", got, tt.want)
			}
		})
	}
}
