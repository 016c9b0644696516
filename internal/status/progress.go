package status

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Progress follows whether everything that a cluster exports has been tried on the broker, since it
// was last begun to. The zero value has not begun.
type Progress struct {
	mu       sync.Mutex
	pending  map[Step]map[types.NamespacedName]bool
	done     chan struct{} // closed when nothing is pending
	handlers []func(types.NamespacedName)
}

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

// Begin has services be looked at anew. The channel that it returns is closed when all of them were
// tried; not if Begin is called again before that.
func (p *Progress) Begin(services []types.NamespacedName) <-chan struct{} {
	p.mu.Lock()
	p.pending = map[Step]map[types.NamespacedName]bool{StepRecord: {}, StepEndpoints: {}}
	for _, of := range p.pending {
		for _, s := range services {
			of[s] = true
		}
	}
	p.done = make(chan struct{})
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

// Done says that a step of a service was tried, and the broker has answered: it is as it should be, or only
// people can do something about it.
func (p *Progress) Done(step Step, service types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.pending[step][service] {
		return
	}
	delete(p.pending[step], service)
	p.finish()
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
