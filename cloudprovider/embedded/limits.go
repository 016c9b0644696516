package embedded

import (
	"context"
	"sync"
	"time"
)

// limits are those of one listener. Clients beyond them wait, in the kernel's queue of a TCP
// port; datagrams of new UDP clients are dropped. The zero value limits nothing.
type limits struct {
	mu   sync.Mutex
	max  int     // connections at a time; 0 is no limit
	rate float64 // connections a second; 0 is no limit
	open int
	// tokens are the connections that may be made at once, at the time of filled: at most
	// those of one second.
	tokens float64
	filled time.Time
	freed  chan struct{} // closed when a connection ends or a limit changes; nil while nobody waits
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

// take counts a new connection, or returns after how long to try again; 0 with ok false is when
// wait says so.
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

// await takes as soon as the limits let it.
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

// done says that a connection has ended.
func (l *limits) done() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	if l.max > 0 {
		l.wake()
	}
}

// refund takes back what was taken for a connection that is none of a client's that is let in.
func (l *limits) refund() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	l.tokens = min(l.rate, l.tokens+1)
	l.wake()
}

// wake is called with mu held.
func (l *limits) wake() {
	if l.freed != nil {
		close(l.freed)
		l.freed = nil
	}
}
