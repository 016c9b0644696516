package clusterset

import (
	"context"
	"sync"
)

// running are the goroutines of a handler. Stopping them before the start or twice is allowed.
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

// start runs f until stop, and registers the metrics' label.
func (r *running) start(f func(context.Context)) {
	if !handlers.add(r) {
		return
	}
	r.group.Go(func() { f(r.ctx) })
}

// stop ends the goroutines and waits for them. The last handler of a label deletes its metrics.
func (r *running) stop() error {
	r.cancel()
	r.group.Wait()
	handlers.remove(r)
	return nil
}

// handlers are the running handlers of this process: during a reload, old and new ones.
var handlers handlerSet

type handlerSet struct {
	mu  sync.Mutex
	all []*running
	// fresh are the handlers started since the last reload began.
	fresh []*running
}

// add returns false if the handler has already stopped.
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

// reloading runs when a reload begins. The running handlers belong to the old configuration then.
func (s *handlerSet) reloading() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fresh = nil
	return nil
}

// reloadFailed stops the handlers that the reload has started. Caddy drops servers that fail to start, for example on
// a missing address, and does not stop their plugins.
func (s *handlerSet) reloadFailed() error {
	s.mu.Lock()
	fresh := s.fresh
	s.fresh = nil
	s.mu.Unlock()
	for _, r := range fresh {
		_ = r.stop() // it always returns nil
	}
	return nil
}
