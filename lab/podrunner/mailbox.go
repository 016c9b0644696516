package podrunner

import "sync"

// mailbox hands functions over to the goroutine that owns some state. Posting
// never blocks.
type mailbox struct {
	mu    sync.Mutex
	queue []func()
	wake  chan struct{}
}

func newMailbox() *mailbox { return &mailbox{wake: make(chan struct{}, 1)} }

// post adds a function and wakes the owner. A nil one only wakes.
func (m *mailbox) post(f func()) {
	m.mu.Lock()
	if f != nil {
		m.queue = append(m.queue, f)
	}
	m.mu.Unlock()
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// run calls what was posted, in order, also what that posts in turn.
func (m *mailbox) run() {
	for {
		m.mu.Lock()
		queue := m.queue
		m.queue = nil
		m.mu.Unlock()
		if len(queue) == 0 {
			return
		}
		for _, f := range queue {
			f()
		}
	}
}
