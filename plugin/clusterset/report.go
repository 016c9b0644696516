package clusterset

import (
	"context"
	"errors"
	"net/url"
	"sync"

	clog "github.com/coredns/coredns/plugin/pkg/log"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// reporting logs when objects of a kind cannot be read and when they can be read again: each error once, not per
// attempt.
type reporting struct {
	*cache.ListWatch
	kind string
	log  clog.P

	mu     sync.Mutex
	failed string // the last error; empty after success
}

func report(of *cache.ListWatch, kind string) *reporting {
	return &reporting{ListWatch: of, kind: kind, log: clog.NewWithPlugin(pluginName)}
}

// ListWithContext implements cache.ListerWatcherWithContext.
func (r *reporting) ListWithContext(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	list, err := r.ListWatch.ListWithContext(ctx, o)
	if err != nil {
		r.note(ctx, err)
	} // success counts only once the following watch works, too
	return list, err
}

// WatchWithContext implements cache.ListerWatcherWithContext.
func (r *reporting) WatchWithContext(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	w, err := r.ListWatch.WatchWithContext(ctx, o)
	r.note(ctx, err)
	return w, err
}

func (r *reporting) note(ctx context.Context, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var request *url.Error
	if errors.As(err, &request) {
		err = request.Err // without the URL, which differs on each request
	}
	switch {
	case ctx.Err() != nil:
	case err == nil:
		if r.failed != "" {
			r.log.Infof("Reading %s works again", r.kind)
		}
		r.failed = ""
	case err.Error() != r.failed:
		r.failed = err.Error()
		r.log.Errorf("Reading %s failed: %v. DNS answers do not change until reading works again", r.kind, err)
	}
}
