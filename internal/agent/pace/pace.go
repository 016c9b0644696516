// Package pace limits the rate of writes of one object with a token bucket: the first changes are written at
// once, later ones when a token is available. A change after which clients must not use something any more does
// not wait for long, whether there is a token or not.
package pace

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Limits are for the writes of one thing. Zero means no limit.
type Limits struct {
	// Interval is how long it takes until there is another token.
	Interval time.Duration
	// Burst is how many tokens there are at most, and how many changes in a row are written at once.
	Burst int
	// Withdrawals is how long a change waits at most after which clients must not use something any more.
	Withdrawals time.Duration
}

// Pacer has a bucket for each thing that was written of late.
type Pacer[K comparable] struct {
	limits Limits

	mu      sync.Mutex
	buckets map[K]*bucket
	swept   time.Time
}

type bucket struct {
	tokens *rate.Limiter
	since  time.Time // when the change came up that waits, zero for none
}

// New returns a pacer with full buckets.
func New[K comparable](limits Limits) *Pacer[K] {
	return &Pacer[K]{limits: limits, buckets: map[K]*bucket{}}
}

// Wait returns how long a change of a thing has to wait at this time, which is when to ask again; or 0, with a token taken, where it is to be
// written now. withdraws says that clients must not use something any more.
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
		reservation.CancelAt(now) // what is written without a token delays no other change
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

// sweep forgets full buckets, each time that one could have filled up. It is called with mu held.
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
