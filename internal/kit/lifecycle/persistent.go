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

// Pauses between attempts to list or watch, each up to twice as long: client-go, which would
// pause for up to a minute, makes a server's absence last that much longer for whoever
// waits for what has changed meanwhile.
const (
	shortestPause = 200 * time.Millisecond
	longestPause  = 3 * time.Second
)

// NewInformer returns an informer that goes on where client-go's would pause or trust: lists and watches that fail because
// the server is away are tried again until it is back, and its absence is logged once; a watch that has been silent for too
// long ends, so that everything is listed anew. What the server says about the request is returned as it is. It is for
// cache.Options.NewInformer.
func NewInformer(from cache.ListerWatcher, object runtime.Object, resync time.Duration, indexers cache.Indexers) cache.SharedIndexInformer {
	return cache.NewSharedIndexInformer(persistent(from), object, resync, indexers)
}

func persistent(from cache.ListerWatcher) *cache.ListWatch {
	lw := cache.ToListerWatcherWithContext(from)
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return persist(ctx, func() (runtime.Object, error) { return lw.ListWithContext(ctx, o) })
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			w, err := persist(ctx, func() (watch.Interface, error) { return lw.WatchWithContext(ctx, o) })
			if err != nil {
				return nil, err
			}
			return newWatchdog(w, maxSilence), nil
		},
	}
}

func persist[T any](ctx context.Context, try func() (T, error)) (result T, err error) {
	var about failure
	defer func() { reported.over(ctx, about, err == nil || !away(err)) }()
	for pause := shortestPause; ; pause = min(2*pause, longestPause) {
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

// away tells whether an error says that the server can't answer now: it is not reached, is
// overburdened or about to end, does not take the credentials, which are renewed by
// themselves, or does not serve the kind yet. Not if it says something of the request, as that
// the version is too old or too new.
func away(err error) bool {
	switch {
	case meta.IsNoMatchError(err), apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge):
		return false
	case apierrors.ReasonForError(err) == metav1.StatusReasonUnknown:
		return true // not the API server's
	}
	return apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsTooManyRequests(err) ||
		apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) || apierrors.IsUnauthorized(err) || apierrors.IsNotFound(err)
}
