package interest

import (
	"context"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// watch has added and deleted called with the objects of a kind that come and go, one at a time, until off is called.
func watch(ctx context.Context, local cache.Cache, kind client.Object, added, deleted func(client.Object)) (off func(), err error) {
	informer, err := local.GetInformer(ctx, kind)
	if err != nil {
		return nil, err
	}
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { added(object.(client.Object)) },
		DeleteFunc: func(object any) {
			if gone, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
				object = gone.Obj
			}
			if object, ok := object.(client.Object); ok {
				deleted(object)
			}
		},
	})
	if err != nil {
		return nil, err
	}
	return func() { _ = informer.RemoveEventHandler(registration) }, nil // it fails when the informer has ended, with the same context
}
