package broker

import "sync"

// bell wakes everybody who waits for it.
type bell struct {
	mu   sync.Mutex
	rung chan struct{} // closed at the next time
}

func newBell() *bell { return &bell{rung: make(chan struct{})} }

// next is closed when the bell is rung for the first time after this call.
func (b *bell) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.rung
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.rung)
	b.rung = make(chan struct{})
}
