package lifecycle

import (
	"context"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// endingCache is a cache that nobody waits for any more when its program ends.
//
// controller-runtime's manager waits for its cache in a loop that it leaves when the cache says
// that it has synced, and not when the manager is told to end (runnableGroup.Start of v0.24.1):
// a program that is told to end while it can't read its cluster would take up a whole
// processor, for ever. Nothing is decided by such a cache: it gives no answer before it has
// synced.
type endingCache struct {
	cache.Cache
	ending context.Context
}

// newCache makes the cache of a manager whose program ends when ctx is done.
func newCache(ctx context.Context) cache.NewCacheFunc {
	return func(config *rest.Config, options cache.Options) (cache.Cache, error) {
		c, err := cache.New(config, options)
		if err != nil {
			return nil, err
		}
		return endingCache{c, ctx}, nil
	}
}

// WaitForCacheSync returns true when the cache has synced, and when the program ends.
func (c endingCache) WaitForCacheSync(ctx context.Context) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.ending, cancel)()
	return c.Cache.WaitForCacheSync(ctx) || c.ending.Err() != nil
}
