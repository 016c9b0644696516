package broker

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/names"
)

// newInformer returns an informer on the objects that opts select, indexed by service
// where index is not nil. It never resyncs: a watch loses nothing that a resync would
// find.
func newInformer(c client.WithWatch, list client.ObjectList, object client.Object, index cache.IndexFunc, opts ...client.ListOption) cache.SharedIndexInformer {
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			into := list.DeepCopyObject().(client.ObjectList)
			return into, c.List(ctx, into, append([]client.ListOption{&client.ListOptions{Raw: &o}}, opts...)...)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return c.Watch(ctx, list.DeepCopyObject().(client.ObjectList),
				append([]client.ListOption{&client.ListOptions{Raw: &o}}, opts...)...)
		},
	}
	indexers := cache.Indexers{}
	if index != nil {
		indexers[byService] = index
	}
	informer := cache.NewSharedIndexInformer(lw, object, 0, indexers)
	// Can't fail before the informer has started.
	_ = informer.SetTransform(func(object any) (any, error) {
		if accessor, ok := object.(metav1.Object); ok {
			accessor.SetManagedFields(nil)
		}
		return object, nil
	})
	return informer
}

func indexExports(object any) ([]string, error) {
	e := object.(*brokerv1alpha1.ExportedService)
	return []string{joinKey(e.Spec.ServiceNamespace, e.Spec.ServiceName)}, nil
}

// indexLabels takes the service from an object's labels.
func indexLabels(object any) ([]string, error) {
	labels := object.(metav1.Object).GetLabels()
	return []string{joinKey(labels[names.LabelServiceNamespace], labels[names.LabelServiceName])}, nil
}

func joinKey(namespace, name string) string { return namespace + "/" + name }

func splitKey(key string) types.NamespacedName {
	namespace, name, _ := cache.SplitMetaNamespaceKey(key)
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// indexed returns the informer's objects of a service.
func indexed[T any](informer cache.SharedIndexInformer, service types.NamespacedName) []T {
	objects, err := informer.GetIndexer().ByIndex(byService, joinKey(service.Namespace, service.Name))
	if err != nil {
		panic(err) // the index does not exist: a fault of this package's
	}
	typed := make([]T, 0, len(objects))
	for _, o := range objects {
		typed = append(typed, o.(T))
	}
	return typed
}

// deliver calls the handlers with every object that the informer holds.
func deliver[T any](informer cache.SharedIndexInformer, handlers []func(T)) {
	for _, object := range informer.GetStore().List() {
		for _, handler := range handlers {
			handler(object.(T))
		}
	}
}

// onChange has f called with each object of the informer's that appears, changes or
// goes; with both forms of one that changes, for its service may be another then.
func onChange[T client.Object](informer cache.SharedIndexInformer, f func(T)) {
	call := func(object any) {
		if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = gone.Obj
		}
		if typed, ok := object.(T); ok {
			f(typed)
		}
	}
	// Fails only when the informer has stopped, and then there are no changes.
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: call,
		UpdateFunc: func(old, new any) {
			if old.(T).GetResourceVersion() == new.(T).GetResourceVersion() {
				return
			}
			call(old)
			call(new)
		},
		DeleteFunc: call,
	})
}

// await returns when synced does so, or with ctx's error.
func await(ctx context.Context, synced cache.InformerSynced) error {
	if !cache.WaitForCacheSync(ctx.Done(), synced) {
		return ctx.Err()
	}
	return nil
}

func notEqual(key, value string) labels.Requirement {
	requirement, err := labels.NewRequirement(key, selection.NotEquals, []string{value})
	if err != nil {
		panic(err) // keys are constants, and values are cluster ids, which are label values
	}
	return *requirement
}
