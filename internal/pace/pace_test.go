package pace

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

var (
	limits = Limits{Additions: 500 * time.Millisecond, Withdrawals: 50 * time.Millisecond}
	start  = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
)

func TestWait(t *testing.T) {
	for _, tt := range []struct {
		name      string
		written   []time.Duration // since start
		withdraws bool
		now, want time.Duration
	}{
		{"the first change", nil, false, 0, 0},
		{"an addition right after a write", []time.Duration{0}, false, 0, 500 * time.Millisecond},
		{"an addition a while after it", []time.Duration{0}, false, 300 * time.Millisecond, 200 * time.Millisecond},
		{"an addition long after it", []time.Duration{0}, false, 500 * time.Millisecond, 0},
		{"a withdrawal right after a write", []time.Duration{0}, true, 10 * time.Millisecond, 40 * time.Millisecond},
		{"a withdrawal a while after it", []time.Duration{0}, true, 50 * time.Millisecond, 0},
		{"only the last write counts", []time.Duration{0, 400 * time.Millisecond}, false, 600 * time.Millisecond, 300 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := New[string](limits)
			for _, at := range tt.written {
				p.Wrote("a", start.Add(at))
			}
			if got := max(0, p.Wait("a", tt.withdraws, start.Add(tt.now))); got != tt.want {
				t.Errorf("wait %v, want %v", got, tt.want)
			}
			if got := p.Wait("b", tt.withdraws, start.Add(tt.now)); got != 0 {
				t.Errorf("another one waits %v", got)
			}
		})
	}
}

func TestWithoutLimitsNothingWaits(t *testing.T) {
	p := New[string](Limits{})
	p.Wrote("a", start)
	if got := p.Wait("a", false, start); got != 0 {
		t.Errorf("wait %v", got)
	}
	if len(p.last) > 0 {
		t.Errorf("%d writes remembered", len(p.last))
	}
}

// Whatever happens: nothing waits longer than its limit, writes are no closer than it, and
// what does not matter any more is forgotten.
func TestPace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := New[int](limits)
		now := start
		written := map[int]time.Time{}
		for range rapid.IntRange(1, 100).Draw(t, "changes") {
			now = now.Add(time.Duration(rapid.IntRange(0, 300).Draw(t, "ms")) * time.Millisecond)
			key, withdraws := rapid.IntRange(0, 5).Draw(t, "key"), rapid.Bool().Draw(t, "withdraws")
			limit := limits.Additions
			if withdraws {
				limit = limits.Withdrawals
			}
			wait := p.Wait(key, withdraws, now)
			if wait > limit {
				t.Fatalf("a wait of %v", wait)
			}
			last, before := written[key]
			if may := !before || now.Sub(last) >= limit; may != (wait <= 0) {
				t.Fatalf("%v after the last write the wait is %v", now.Sub(last), wait)
			}
			if wait <= 0 {
				p.Wrote(key, now)
				written[key] = now
			}
		}
		p.Wrote(99, now.Add(time.Second))
		if len(p.last) != 1 || len(p.order) != 1 {
			t.Fatalf("%d writes remembered, %d in order", len(p.last), len(p.order))
		}
	})
}
