package kit

import (
	"context"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Changes tells subscribers which keys' state may have changed without an event of a cache that they watch. It holds no
// state: subscribers read what they need. The zero key means everything. The zero value of Changes is ready for use.
type Changes[K any] struct {
	mu          sync.Mutex
	subscribers map[*subscriber[K]]bool
}

type subscriber[K any] struct{ f func(K) }

// Publish calls all subscribers with each key. The caller must hold no lock that a subscriber needs.
func (c *Changes[K]) Publish(keys ...K) {
	c.mu.Lock()
	all := make([]*subscriber[K], 0, len(c.subscribers))
	for s := range c.subscribers {
		all = append(all, s)
	}
	c.mu.Unlock()
	for _, key := range keys {
		for _, s := range all {
			s.f(key)
		}
	}
}

// Subscribe calls f for all keys that are published until end is called. f must not block.
func (c *Changes[K]) Subscribe(f func(K)) (end func()) {
	s := &subscriber[K]{f}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.subscribers == nil {
		c.subscribers = map[*subscriber[K]]bool{}
	}
	c.subscribers[s] = true
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.subscribers, s)
	}
}

// On is a source of requests for published keys, while its controller runs. It begins with the zero key, as a watch
// begins with a list. Requests for the zero key have low priority.
func On[K any, R comparable](from *Changes[K], requests func(context.Context, K) []R) source.TypedSource[R] {
	return &on[K, R]{from, requests}
}

type on[K any, R comparable] struct {
	from     *Changes[K]
	requests func(context.Context, K) []R
}

// Start implements source.TypedSource.
func (o *on[K, R]) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[R]) error {
	add := func(key K) { Add(queue, reflect.ValueOf(&key).Elem().IsZero(), o.requests(ctx, key)...) }
	context.AfterFunc(ctx, o.from.Subscribe(add))
	add(*new(K))
	return nil
}

// Scope is a key of Changes: a service, a member's part of a service, one slice of a member, everything of a member, or,
// if zero, everything.
type Scope struct {
	Service types.NamespacedName
	Member  names.ClusterID
	// Slice is the name of a source slice in Member.
	Slice types.NamespacedName
}
