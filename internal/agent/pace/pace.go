// Package pace limits the write rate of each object with a token bucket. The first changes are written at once, later
// changes when a token is available. A change that removes something from use waits only briefly, even without a token.
package pace

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Limits are the limits for the writes of one key. Zero means no limit.
type Limits struct {
	// Interval is the time until the next token.
	Interval time.Duration
	// Burst is the maximum number of tokens, and so of immediate writes in a row.
	Burst int
	// Withdrawals is the longest wait of a change that removes something from use.
	Withdrawals time.Duration
}

// Pacer has a bucket for each recently written key.
type Pacer[K comparable] struct {
	limits Limits

	mu      sync.Mutex
	buckets map[K]*bucket
	swept   time.Time
}

type bucket struct {
	tokens *rate.Limiter
	since  time.Time // when the waiting change arrived, zero for none
}

// New returns a pacer with full buckets.
func New[K comparable](limits Limits) *Pacer[K] {
	return &Pacer[K]{limits: limits, buckets: map[K]*bucket{}}
}

// Wait returns how long a change of a key must wait before the caller asks again. At 0 it has taken a token, and the
// caller writes now. withdraws says that the change removes something from use.
func (p *Pacer[K]) Wait(key K, withdraws bool, now time.Time) time.Duration {
	if p.limits.Interval <= 0 {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sweep(now)
	b := p.buckets[key]
	if b == nil {
		b = &bucket{tokens: rate.NewLimiter(rate.Every(p.limits.Interval), p.limits.Burst)}
		p.buckets[key] = b
	}
	reservation := b.tokens.ReserveN(now, 1)
	wait := reservation.DelayFrom(now)
	if wait > 0 {
		reservation.CancelAt(now) // a write without a token must not delay other changes
		if b.since.IsZero() {
			b.since = now
		}
		if withdraws {
			wait = min(wait, b.since.Add(p.limits.Withdrawals).Sub(now))
		}
	}
	if wait > 0 {
		return wait
	}
	b.since = time.Time{}
	return 0
}

// sweep removes full buckets, once per time in which a bucket can fill up. The caller holds mu.
func (p *Pacer[K]) sweep(now time.Time) {
	if now.Sub(p.swept) < time.Duration(p.limits.Burst)*p.limits.Interval {
		return
	}
	p.swept = now
	for key, b := range p.buckets {
		if b.tokens.TokensAt(now) >= float64(p.limits.Burst) && b.since.IsZero() {
			delete(p.buckets, key)
		}
	}
}
