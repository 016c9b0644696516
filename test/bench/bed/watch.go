package bed

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Watch returns the events of the selected objects, starting with the current objects as Added,
// until ctx is done or the watch fails; then the last event is an Error. An API server ends the
// watch of a slow client. Watch resumes it at once, so no event is lost.
func Watch(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) (<-chan watch.Event, error) {
	if err := c.List(ctx, list, opts...); err != nil {
		return nil, fmt.Errorf("listing %T: %w", list, err)
	}
	events := make(chan watch.Event, max(1000, meta.LenList(list)))
	err := meta.EachListItem(list, func(o runtime.Object) error {
		events <- watch.Event{Type: watch.Added, Object: o}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing %T: %w", list, err)
	}
	w, err := watchtools.NewRetryWatcherWithContext(ctx, list.GetResourceVersion(), &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, from metav1.ListOptions) (watch.Interface, error) {
			return c.Watch(ctx, list, append(opts, &client.ListOptions{Raw: &from})...)
		},
	})
	if err != nil {
		return nil, fmt.Errorf("watching %T: %w", list, err)
	}
	go func() {
		defer close(events)
		for event := range w.ResultChan() {
			events <- event
		}
	}()
	return events, nil
}
