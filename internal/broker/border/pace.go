package border

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Pace delays a member's too frequent changes with a token bucket per member and namespace, so that a busy namespace
// delays neither other namespaces nor other members. Callers do not delay removals.
type Pace struct {
	rate  rate.Limit
	burst int

	mu      sync.Mutex
	buckets map[bucket]*rate.Limiter
	// due are the objects with a reservation that are not written yet.
	due map[string]reservation
}

type reservation struct {
	member string
	at     time.Time
}

// late is the wait after which an object counts as late.
const late = 5 * time.Second

type bucket struct{ member, namespace string }

// NewPace returns a pace with a rate and a burst of writes for each member and namespace.
func NewPace(perSecond float64, burst int) *Pace {
	return &Pace{rate: rate.Limit(perSecond), burst: burst, buckets: map[bucket]*rate.Limiter{}, due: map[string]reservation{}}
}

// Wait returns how long the write of an object must wait, 0 for none. The object keeps its reservation until Done.
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

// Late returns the number of objects per member that wait for more than 5 s.
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

// Done releases an object's reservation after its write, or if no write is needed. It also removes full buckets.
func (p *Pace) Done(member, namespace, object string, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.due, object)
	of := bucket{member, namespace}
	if b := p.buckets[of]; b != nil && b.TokensAt(now) >= float64(p.burst) {
		delete(p.buckets, of)
	}
}
