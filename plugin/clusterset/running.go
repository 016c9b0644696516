package clusterset

import (
	"context"
	"sync"
)

// running is what a handler has running: it can be stopped before it starts, and twice.
type running struct {
	ctx    context.Context
	cancel context.CancelFunc
	group  sync.WaitGroup
	label  string
}

func newRunning(label string) *running {
	r := &running{label: label}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r
}

// start runs f until stop. From now on metrics have the label.
func (r *running) start(f func(context.Context)) {
	if !handlers.add(r) {
		return
	}
	r.group.Go(func() { f(r.ctx) })
}

// stop ends what runs, and waits for it. The label's metrics go with the last handler
// that has it.
func (r *running) stop() error {
	r.cancel()
	r.group.Wait()
	handlers.remove(r)
	return nil
}

// handlers are those that run in this process: during a reload the old and the new ones.
var handlers handlerSet

type handlerSet struct {
	mu  sync.Mutex
	all []*running
	// fresh are those that were started since the last reload began.
	fresh []*running
}

// add returns false if the handler was stopped already.
func (s *handlerSet) add(r *running) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.ctx.Err() != nil {
		return false
	}
	s.all, s.fresh = append(s.all, r), append(s.fresh, r)
	return true
}

func (s *handlerSet) remove(r *running) {
	s.mu.Lock()
	defer s.mu.Unlock()
	left, label := s.all[:0], false
	for _, other := range s.all {
		if other != r {
			left, label = append(left, other), label || other.label == r.label
		}
	}
	gone := len(left) < len(s.all)
	clear(s.all[len(left):])
	s.all = left
	if gone && !label {
		forgetMetrics(r.label)
	}
}

// reloading is told when a reload begins: whoever runs now is the old configuration's.
func (s *handlerSet) reloading() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fresh = nil
	return nil
}

// reloadFailed stops what the reload has started. Caddy drops servers that could not start,
// because an address is not there, say, without a word to what they started already.
func (s *handlerSet) reloadFailed() error {
	s.mu.Lock()
	fresh := s.fresh
	s.fresh = nil
	s.mu.Unlock()
	for _, r := range fresh {
		_ = r.stop() // it returns none
	}
	return nil
}
