package pace

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

const ms = time.Millisecond

var (
	limits = Limits{Interval: 100 * ms, Burst: 2, Withdrawals: 50 * ms}
	start  = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
)

func TestWait(t *testing.T) {
	type ask struct {
		at        time.Duration
		withdraws bool
		want      time.Duration
	}
	for name, asks := range map[string][]ask{
		"the first changes":                   {{0, false, 0}, {1 * ms, true, 0}},
		"the next one waits for a token":      {{0, false, 0}, {0, false, 0}, {20 * ms, false, 80 * ms}, {100 * ms, false, 0}, {100 * ms, false, 100 * ms}},
		"a withdrawal waits less":             {{0, false, 0}, {0, false, 0}, {20 * ms, true, 50 * ms}, {70 * ms, true, 0}},
		"also one that follows an addition":   {{0, false, 0}, {0, false, 0}, {20 * ms, false, 80 * ms}, {60 * ms, true, 10 * ms}, {70 * ms, true, 0}},
		"a long time later all are full":      {{0, false, 0}, {0, false, 0}, {time.Hour, false, 0}, {time.Hour, false, 0}, {time.Hour, false, 100 * ms}},
		"a clock that was set back is no end": {{0, false, 0}, {0, false, 0}, {-time.Hour, true, 50 * ms}},
	} {
		p := New[string](limits)
		for i, a := range asks {
			if got := p.Wait("a", a.withdraws, start.Add(a.at)); got != a.want {
				t.Errorf("%s: %d waits %v, want %v", name, i, got, a.want)
			}
		}
		if got := p.Wait("b", false, start.Add(asks[len(asks)-1].at)); got != 0 {
			t.Errorf("%s: another object waits %v", name, got)
		}
	}
}

func TestWithoutLimitsNothingWaits(t *testing.T) {
	p := New[string](Limits{})
	for range 100 {
		if got := p.Wait("a", false, start); got != 0 {
			t.Errorf("wait %v", got)
		}
	}
}

// For any sequence of changes: a change is written at the announced time, a withdrawal after at
// most 50 ms, and there are no more writes of additions than tokens. The state of settled
// objects is deleted.
func TestPace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := New[int](limits)
		now := start
		type thing struct {
			writes    int
			withdrew  int
			waitUntil map[bool]time.Time // by withdrawal or not
		}
		things := map[int]*thing{}
		for range rapid.IntRange(1, 100).Draw(t, "changes") {
			now = now.Add(time.Duration(rapid.IntRange(0, 120).Draw(t, "ms")) * ms)
			key, withdraws := rapid.IntRange(0, 3).Draw(t, "key"), rapid.Bool().Draw(t, "withdraws")
			if things[key] == nil {
				things[key] = &thing{waitUntil: map[bool]time.Time{}}
			}
			it, limit := things[key], limits.Interval
			if withdraws {
				limit = limits.Withdrawals
			}
			wait := p.Wait(key, withdraws, now)
			if wait > limit {
				t.Fatalf("a wait of %v", wait)
			}
			switch due := it.waitUntil[withdraws]; {
			case wait > 0:
				if !due.IsZero() && !now.Before(due) {
					t.Fatalf("the write was announced for %v, but at %v it waits another %v", due, now, wait)
				}
				it.waitUntil[withdraws] = now.Add(wait)
			default:
				clear(it.waitUntil)
				it.writes++
				if withdraws {
					it.withdrew++
				}
				if most := limits.Burst + int(now.Sub(start)/limits.Interval) + it.withdrew; it.writes > most {
					t.Fatalf("%d writes after %v", it.writes, now.Sub(start))
				}
			}
		}
		for key := range things { // no write is waiting
			for now = now.Add(limits.Interval); p.Wait(key, false, now) > 0; now = now.Add(limits.Interval) {
			}
		}
		p.Wait(99, false, now.Add(time.Second))
		if len(p.buckets) != 1 {
			t.Fatalf("%d buckets are kept", len(p.buckets))
		}
	})
}
