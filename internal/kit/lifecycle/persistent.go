package lifecycle

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// Pauses between attempts to list or watch, each randomly up to doubled. client-go pauses for up to a minute, which
// would extend a server's outage by that time.
const (
	shortestPause = 200 * time.Millisecond
	longestPause  = 3 * time.Second
	// pauseOfClient is what each client of a server adds to the longest pause: 500 clients read everything again within 20 s.
	pauseOfClient = 20 * time.Millisecond
)

// NewInformer returns an informer for cache.Options.NewInformer that differs from client-go's in two ways. If the
// server is unavailable, it retries lists and watches until the server is back, and logs the outage once. A watch that
// is silent for too long ends, so that everything is listed again. Errors about the request itself are returned.
func NewInformer(from cache.ListerWatcher, object runtime.Object, resync time.Duration, indexers cache.Indexers) cache.SharedIndexInformer {
	return NewInformerOf(func() int { return 1 })(from, object, resync, indexers)
}

// NewInformerOf is NewInformer for a server that so many clients read. After an outage they read everything again, spread over a time
// that grows with their number.
func NewInformerOf(clients func() int) func(cache.ListerWatcher, runtime.Object, time.Duration, cache.Indexers) cache.SharedIndexInformer {
	return func(from cache.ListerWatcher, object runtime.Object, resync time.Duration, indexers cache.Indexers) cache.SharedIndexInformer {
		return cache.NewSharedIndexInformer(persistent(from, clients), object, resync, indexers)
	}
}

func persistent(from cache.ListerWatcher, clients func() int) *cache.ListWatch {
	lw := cache.ToListerWatcherWithContext(from)
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return persist(ctx, clients, func() (runtime.Object, error) { return lw.ListWithContext(ctx, o) })
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			w, err := persist(ctx, clients, func() (watch.Interface, error) { return lw.WatchWithContext(ctx, o) })
			if err != nil {
				return nil, err
			}
			return newWatchdog(w, maxSilence), nil
		},
	}
}

func persist[T any](ctx context.Context, clients func() int, try func() (T, error)) (result T, err error) {
	var about failure
	defer func() { reported.over(ctx, about, err == nil || !away(err)) }()
	for pause := shortestPause; ; pause = min(2*pause, max(longestPause, time.Duration(clients())*pauseOfClient)) {
		result, err = try()
		if err == nil || ctx.Err() != nil || !away(err) {
			return result, err
		}
		about = reported.report(ctx, about, err)
		if sleep(ctx, wait.Jitter(pause, 1)); ctx.Err() != nil {
			return result, err
		}
	}
}

// away reports whether the server cannot answer now: it is unreachable, overloaded or shutting down, rejects
// credentials that are about to be renewed, or does not serve the kind yet. Errors about the request, such as a too old
// version, do not count.
func away(err error) bool {
	switch {
	case meta.IsNoMatchError(err), apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge):
		return false
	case apierrors.ReasonForError(err) == metav1.StatusReasonUnknown:
		return true // not the API server's error
	}
	return apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsTooManyRequests(err) ||
		apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) || apierrors.IsUnauthorized(err) || apierrors.IsNotFound(err)
}
