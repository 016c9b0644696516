package border

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Pace delays writes of what a member changes too fast, by a token bucket for each member and namespace: a busy namespace delays neither its neighbours
// nor other members. Removals do not ask it.
type Pace struct {
	rate  rate.Limit
	burst int

	mu      sync.Mutex
	buckets map[bucket]*rate.Limiter
	// due are the objects that have asked and have not been written yet.
	due map[string]reservation
}

type reservation struct {
	member string
	at     time.Time
}

// late is how long an object still has to wait where its member changes more than is taken of it.
const late = 5 * time.Second

type bucket struct{ member, namespace string }

// NewPace returns a pace of a number of writes a second, and a number at once, for each member and namespace.
func NewPace(perSecond float64, burst int) *Pace {
	return &Pace{rate: rate.Limit(perSecond), burst: burst, buckets: map[bucket]*rate.Limiter{}, due: map[string]reservation{}}
}

// Wait returns how long the write of an object has to wait, 0 for not at all. An object that asks again keeps its place until Done.
func (p *Pace) Wait(member, namespace, object string, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	r, reserved := p.due[object]
	if !reserved {
		of := bucket{member, namespace}
		if p.buckets[of] == nil {
			p.buckets[of] = rate.NewLimiter(p.rate, p.burst)
		}
		r = reservation{member, now.Add(p.buckets[of].ReserveN(now, 1).DelayFrom(now))}
		p.due[object] = r
	}
	return max(0, r.at.Sub(now))
}

// Late returns how many objects of each member have to wait for more than 5 s.
func (p *Pace) Late(now time.Time) map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := map[string]int{}
	for _, r := range p.due {
		if r.at.Sub(now) > late {
			all[r.member]++
		}
	}
	return all
}

// Done has an object that was written, or that need not be any more, ask anew for its next write. Buckets that are full again are forgotten.
func (p *Pace) Done(member, namespace, object string, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.due, object)
	of := bucket{member, namespace}
	if b := p.buckets[of]; b != nil && b.TokensAt(now) >= float64(p.burst) {
		delete(p.buckets, of)
	}
}
