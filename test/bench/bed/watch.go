package bed

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Watch returns the events of all objects that are selected, beginning with those that
// there are, as Added, until ctx is done or watching fails: then the last event is an
// Error. An API server ends the watch of a client that it finds slow; that watch is begun
// again at once where it ended, so that nothing is lost and no time either.
func Watch(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) (<-chan watch.Event, error) {
	if err := c.List(ctx, list, opts...); err != nil {
		return nil, fmt.Errorf("listing %T: %w", list, err)
	}
	objects, err := meta.ExtractList(list)
	if err != nil {
		return nil, fmt.Errorf("listing %T: %w", list, err)
	}
	begin := func(version string) (watch.Interface, error) {
		return c.Watch(ctx, list, append([]client.ListOption{&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: version}}}, opts...)...)
	}
	version := list.GetResourceVersion()
	w, err := begin(version)
	if err != nil {
		return nil, fmt.Errorf("watching %T: %w", list, err)
	}
	events := make(chan watch.Event, 1000)
	go func() {
		defer close(events)
		for _, o := range objects {
			events <- watch.Event{Type: watch.Added, Object: o}
		}
		for ctx.Err() == nil {
			version, err = pass(w, events, version)
			if err == nil && ctx.Err() == nil {
				w, err = begin(version)
			}
			if err != nil && ctx.Err() == nil {
				events <- watch.Event{Type: watch.Error, Object: &metav1.Status{Status: metav1.StatusFailure, Message: err.Error()}}
				return
			}
		}
	}()
	return events, nil
}

// pass hands on the events of one watch, and returns the version of the last.
func pass(w watch.Interface, events chan<- watch.Event, version string) (string, error) {
	defer w.Stop()
	for event := range w.ResultChan() {
		if event.Type == watch.Error {
			return version, fmt.Errorf("watching: %w", apierrors.FromObject(event.Object))
		}
		version = event.Object.(client.Object).GetResourceVersion()
		if event.Type != watch.Bookmark {
			events <- event
		}
	}
	return version, nil
}
