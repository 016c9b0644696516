package status

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Progress follows whether everything that a cluster exports has been tried on the broker, since it
// was last begun to. The zero value has not begun.
type Progress struct {
	mu       sync.Mutex
	round    int // how often Begin was called
	pending  map[Step]map[types.NamespacedName]state
	done     chan struct{} // closed when nothing is pending
	began    time.Time
	refusals *time.Timer // which has what is refused count, once something was
	handlers []func(types.NamespacedName)
}

// state is what has become of a step of a service that is not done.
type state int

const (
	untried state = iota
	refused
)

// RefusedFor is for how long what a broker refuses is tried again before it counts as done. A broker that has just been made
// may refuse something for some seconds: rights, policies and quotas come one by one, and not at the same time to all of its API servers.
const RefusedFor = 20 * time.Second

// Step is a part of what there is to do for each export.
type Step int

// The steps.
const (
	StepRecord Step = iota
	StepEndpoints
)

// OnBegin has f called with each service that is to be looked at, for whatever step.
func (p *Progress) OnBegin(f func(types.NamespacedName)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.handlers = append(p.handlers, f)
}

// Begin has services be looked at anew. The channel that it returns is closed when all of them are
// done; not if Begin is called again before that.
func (p *Progress) Begin(services []types.NamespacedName) <-chan struct{} {
	p.mu.Lock()
	p.round++
	p.pending = map[Step]map[types.NamespacedName]state{StepRecord: {}, StepEndpoints: {}}
	for _, of := range p.pending {
		for _, s := range services {
			of[s] = untried
		}
	}
	if p.refusals != nil {
		p.refusals.Stop()
	}
	p.done, p.began, p.refusals = make(chan struct{}), time.Now(), nil
	done, handlers := p.done, p.handlers
	p.finish()
	p.mu.Unlock()
	for _, s := range services {
		for _, f := range handlers {
			f(s)
		}
	}
	return done
}

// Round is how often Begin was called. A reconciliation takes it when it starts: of what has begun since, it tells nothing.
func (p *Progress) Round() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.round
}

// Done says that a step of a service is as it should be on the broker, of which a reconciliation is sure that started in a round.
func (p *Progress) Done(step Step, service types.NamespacedName, round int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if round == p.round {
		p.end(step, service)
	}
}

// Refused says that the broker refuses a step of a service, which is going to be tried again. When that has been so for RefusedFor, only
// people can do something about it, and it counts as done: else one that is refused for good would hold up all others.
func (p *Progress) Refused(step Step, service types.NamespacedName, round int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, pending := p.pending[step][service]; !pending || round != p.round {
		return
	}
	left := RefusedFor - time.Since(p.began)
	if left <= 0 {
		p.end(step, service)
		return
	}
	p.pending[step][service] = refused
	if p.refusals == nil {
		done := p.done
		p.refusals = time.AfterFunc(left, func() { p.giveUp(done) })
	}
}

// giveUp has what is refused count as done, unless Begin was called since.
func (p *Progress) giveUp(of chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done != of {
		return
	}
	for step, services := range p.pending {
		for service, state := range services {
			if state == refused {
				p.end(step, service)
			}
		}
	}
}

// end is Done with mu held.
func (p *Progress) end(step Step, service types.NamespacedName) {
	if _, pending := p.pending[step][service]; pending {
		delete(p.pending[step], service)
		p.finish()
	}
}

// finish is called with mu held.
func (p *Progress) finish() {
	for _, of := range p.pending {
		if len(of) > 0 {
			return
		}
	}
	close(p.done)
}
