package status

import (
	"slices"
	"sync"
)

// Outcome is how it went when a controller did its part for a service.
type Outcome struct {
	// Waiting is that it was not tried: what it depends on is not known yet.
	Waiting bool
	// Failure says what could not be done, and is being tried again; "" where nothing failed.
	Failure string
	// Remarks are about what was done.
	Remarks []Remark
}

// Remark is something that people should know of a service that works.
type Remark struct {
	// Reason is a single word, the reason of an Event.
	Reason  string
	Message string
}

// Outcomes are how controllers tell another one, which owns the condition that states it,
// how their part for each K went since the agent started. The zero value is empty. What was said
// before the agent started is in the conditions alone, so their owner must not change
// them before it knows better.
type Outcomes[K comparable] struct {
	mu       sync.Mutex
	of       map[K]Outcome
	handlers []func(K)
}

// Set notes how it went this time.
func (o *Outcomes[K]) Set(key K, now Outcome) {
	o.mu.Lock()
	before, known := o.of[key]
	if known && before.Waiting == now.Waiting && before.Failure == now.Failure && slices.Equal(before.Remarks, now.Remarks) {
		o.mu.Unlock()
		return
	}
	if o.of == nil {
		o.of = map[K]Outcome{}
	}
	o.of[key] = now
	handlers := o.handlers
	o.mu.Unlock()
	for _, handler := range handlers {
		handler(key)
	}
}

// Forget has nothing known of what is no more.
func (o *Outcomes[K]) Forget(key K) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.of, key)
}

// Get returns how it went the last time, and false where nothing was noted yet.
func (o *Outcomes[K]) Get(key K) (outcome Outcome, known bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	outcome, known = o.of[key]
	return outcome, known
}

// OnChange has f called for each K whose outcome becomes known or another one.
func (o *Outcomes[K]) OnChange(f func(K)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.handlers = append(o.handlers, f)
}
