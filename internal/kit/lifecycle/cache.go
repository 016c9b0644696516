package lifecycle

import (
	"context"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// endingCache is a cache whose waiters stop when the program ends.
//
// controller-runtime's manager waits for its cache in a loop that ends when the cache has synced, but not when the
// manager stops (runnableGroup.Start, v0.25.2). A program that stops while it cannot read its cluster would use a whole
// CPU forever. Returning early is safe: a cache gives no answers before it has synced.
type endingCache struct {
	cache.Cache
	ending context.Context
}

// newCache returns the cache of a manager whose program ends when ctx is done.
func newCache(ctx context.Context) cache.NewCacheFunc {
	return func(config *rest.Config, options cache.Options) (cache.Cache, error) {
		c, err := cache.New(config, options)
		if err != nil {
			return nil, err
		}
		return endingCache{c, ctx}, nil
	}
}

// WaitForCacheSync returns true when the cache has synced or the program ends.
func (c endingCache) WaitForCacheSync(ctx context.Context) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.ending, cancel)()
	return c.Cache.WaitForCacheSync(ctx) || c.ending.Err() != nil
}
