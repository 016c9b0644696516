// Package pace decides when a change is written that may be followed by more of its kind,
// so that a rolling update is a few writes and a single change is not made to wait.
//
// The first change of a thing is written at once. After a write the next one waits until
// some time has passed since, and takes with it what has come up meanwhile: a short time
// if clients must stop using something, a longer one if there is only something to win.
package pace

import (
	"sync"
	"time"
)

// Limits are the least times between two writes of one thing. Zero means no limit.
type Limits struct {
	// Additions is for changes that add something for clients to use.
	Additions time.Duration
	// Withdrawals is for changes after which clients must not use something any more.
	Withdrawals time.Duration
}

// Pacer remembers when things were written, each as long as that matters.
type Pacer[K comparable] struct {
	limits Limits

	mu    sync.Mutex
	last  map[K]time.Time
	order []write[K] // by time
}

type write[K comparable] struct {
	key K
	at  time.Time
}

// New returns a pacer that has seen no writes.
func New[K comparable](limits Limits) *Pacer[K] {
	return &Pacer[K]{limits: limits, last: map[K]time.Time{}}
}

// Wait returns how long a change of a thing that is known now has to wait, 0 or less if not
// at all. withdraws says that it is a withdrawal.
func (p *Pacer[K]) Wait(key K, withdraws bool, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	last, found := p.last[key]
	if !found {
		return 0
	}
	limit := p.limits.Additions
	if withdraws {
		limit = p.limits.Withdrawals
	}
	return last.Add(limit).Sub(now)
}

// Wrote says that a thing is written now. Calls come in the order of time.
func (p *Pacer[K]) Wrote(key K, now time.Time) {
	longest := max(p.limits.Additions, p.limits.Withdrawals)
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.order) > 0 && !p.order[0].at.Add(longest).After(now) {
		if oldest := p.order[0]; p.last[oldest.key].Equal(oldest.at) {
			delete(p.last, oldest.key)
		}
		p.order = p.order[1:]
	}
	if longest > 0 {
		p.last[key] = now
		p.order = append(p.order, write[K]{key, now})
	}
}
