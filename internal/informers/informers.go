// Package informers keeps live copies of objects of an API server: of all that a client
// selects, or of EndpointSlices in a set of namespaces that changes.
package informers

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// New returns an informer on the objects that opts select. It never resyncs: a watch loses
// nothing that a resync would find.
func New(c client.WithWatch, list client.ObjectList, object client.Object, indexers cache.Indexers, opts ...client.ListOption) cache.SharedIndexInformer {
	return NewTapped(c, nil, list, object, indexers, opts...)
}

// NewTapped returns an informer of which a tap, or nil, sees first what it gets.
func NewTapped(c client.WithWatch, tap *Tap, list client.ObjectList, object client.Object, indexers cache.Indexers, opts ...client.ListOption) cache.SharedIndexInformer {
	var expired <-chan struct{} // of what was listed last: a watch that goes on from there may not begin for long
	var without []string        // the members that the list is without whose pages come
	var informer cache.SharedIndexInformer
	metered := tap.newMeter(func() []any { return informer.GetStore().List() })
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			into := list.DeepCopyObject().(client.ObjectList)
			if tap != nil {
				if o.Continue == "" {
					expired, without = tap.expiry(), metered.begin(ctx)
				}
				o = latest(o)
			}
			selected, err := metered.selecting((&client.ListOptions{Raw: &o}).ApplyOptions(opts), without)
			if err == nil {
				err = c.List(ctx, into, selected)
			}
			if err == nil {
				err = metered.list(into, without)
			}
			if err == nil && tap != nil {
				err = tap.list(into)
			}
			return into, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			if tap != nil && ptr.Deref(o.SendInitialEvents, false) {
				if expired = tap.expiry(); len(metered.begin(ctx)) > 0 {
					return nil, errWithoutList()
				}
				o = latest(o)
			}
			asked := time.Now()
			selected, err := metered.selecting((&client.ListOptions{Raw: &o}).ApplyOptions(opts), metered.without())
			if err != nil {
				return nil, err
			}
			w, err := c.Watch(ctx, list.DeepCopyObject().(client.ObjectList), selected)
			if err == nil && tap != nil {
				w = tap.watch(w, metered, o, asked, expired)
			}
			return w, err
		},
	}
	if indexers == nil {
		indexers = cache.Indexers{}
	}
	informer = NewPersistent(lw, object, 0, indexers)
	_ = informer.SetTransform(Trim) // can't fail before the informer has started
	return informer
}

// Clean has f change each of an informer's objects before it is kept. It is called before the informer starts.
func Clean[T client.Object](informer cache.SharedIndexInformer, f func(T)) {
	_ = informer.SetTransform(func(object any) (any, error) { // can't fail before the informer has started
		if typed, ok := object.(T); ok {
			f(typed)
		}
		return Trim(object)
	})
}

// Indexed returns the informer's objects that have a value in an index of its own.
func Indexed[T any](informer cache.SharedIndexInformer, index, value string) []T {
	objects, err := informer.GetIndexer().ByIndex(index, value)
	if err != nil {
		panic(err) // the index does not exist: a fault of the program's, seen by any test
	}
	typed := make([]T, 0, len(objects))
	for _, o := range objects {
		typed = append(typed, o.(T))
	}
	return typed
}

// A Handler is called with an object that appears, changes or goes. initial says that it
// is one of a first list, of which nobody waits for any in particular.
type Handler[T any] func(object T, initial bool)

// Deliver calls the handlers with every object that the informer holds.
func Deliver[T any](informer cache.SharedIndexInformer, handlers ...Handler[T]) {
	for _, object := range informer.GetStore().List() {
		for _, handler := range handlers {
			handler(object.(T), true)
		}
	}
}

// OnChange has f called with each object of the informer's that appears, changes or
// goes; with both forms of one that changes, for what it belongs to may be another then.
func OnChange[T client.Object](informer cache.SharedIndexInformer, f Handler[T]) {
	// Fails only when the informer has stopped, and then there are no changes.
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(object any, initial bool) { f(object.(T), initial) },
		UpdateFunc: func(old, new any) {
			if Same(old.(T), new.(T)) {
				return
			}
			f(old.(T), false)
			f(new.(T), false)
		},
		DeleteFunc: func(object any) {
			if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = gone.Obj
			}
			if typed, ok := object.(T); ok {
				f(typed, false)
			}
		},
	})
}

// Same tells whether what a copy shows anew has not changed: the same version comes again when a broken watch is
// replaced by a list. The version alone does not say so, for an API server that was put back to an earlier state gives
// the same ones out again.
func Same(old, new client.Object) bool {
	return old.GetResourceVersion() == new.GetResourceVersion() && equality.Semantic.DeepEqual(old, new)
}

// Await returns when what is waited for is complete, or with ctx's error.
func Await(ctx context.Context, complete cache.DoneChecker) error {
	select {
	case <-complete.Done():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
