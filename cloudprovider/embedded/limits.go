package embedded

import (
	"context"
	"sync"
	"time"
)

// limits apply to one listener. TCP clients beyond them wait in the kernel's accept queue; datagrams of new UDP
// clients are dropped. The zero value limits nothing.
type limits struct {
	mu   sync.Mutex
	max  int     // concurrent connections; 0 is no limit
	rate float64 // new connections per second; 0 is no limit
	open int
	// tokens are the connections that may start at once, as of filled: at most those of one second.
	tokens float64
	filled time.Time
	freed  chan struct{} // closed when a connection ends or a limit changes; nil while no caller waits
}

func (l *limits) set(maximum, rate int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if float64(rate) != l.rate {
		l.rate, l.tokens, l.filled = float64(rate), float64(rate), time.Now()
	}
	l.max = maximum
	l.wake()
}

// take counts a new connection, or returns the time to wait before a retry. A time of 0 with ok false means: wait
// until freed is closed.
func (l *limits) take(now time.Time) (ok bool, again time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.max > 0 && l.open >= l.max {
		return false, 0
	}
	if l.rate > 0 {
		l.tokens = min(l.rate, l.tokens+l.rate*now.Sub(l.filled).Seconds())
		l.filled = now
		if l.tokens < 1 {
			return false, time.Duration((1 - l.tokens) / l.rate * float64(time.Second))
		}
		l.tokens--
	}
	l.open++
	return true, 0
}

// await blocks until take succeeds.
func (l *limits) await(ctx context.Context) error {
	for {
		l.mu.Lock()
		if l.freed == nil {
			l.freed = make(chan struct{})
		}
		freed := l.freed
		l.mu.Unlock()
		ok, again := l.take(time.Now())
		if ok {
			return nil
		}
		var timeout <-chan time.Time
		if again > 0 {
			timeout = time.After(again)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-freed:
		case <-timeout:
		}
	}
}

func (l *limits) done() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	if l.max > 0 {
		l.wake()
	}
}

// refund undoes take for a client that is not admitted.
func (l *limits) refund() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	l.tokens = min(l.rate, l.tokens+1)
	l.wake()
}

// wake needs mu to be held.
func (l *limits) wake() {
	if l.freed != nil {
		close(l.freed)
		l.freed = nil
	}
}
