// Package interest makes the view of the broker follow the namespaces that exist in
// this cluster, so that an agent's memory and traffic grow with what its cluster can
// import and not with the whole clusterset.
package interest

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/atoll-mcs/atoll/internal/broker"
)

// Controller follows namespaces.
type Controller struct {
	local  cache.Cache
	broker *broker.View
}

// NewController returns a controller that reads the namespaces from local.
func NewController(local cache.Cache, view *broker.View) *Controller {
	return &Controller{local: local, broker: view}
}

// NeedLeaderElection makes the controller run on every replica, so that a new leader
// finds the view filled.
func (c *Controller) NeedLeaderElection() bool { return false }

// Start follows namespaces until ctx is done.
func (c *Controller) Start(ctx context.Context) error {
	informer, err := c.local.GetInformer(ctx, &corev1.Namespace{})
	if err != nil {
		return fmt.Errorf("watching namespaces: %w", err)
	}
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { c.broker.Follow(object.(*corev1.Namespace).Name) },
		DeleteFunc: func(object any) {
			if gone, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
				object = gone.Obj
			}
			if namespace, ok := object.(*corev1.Namespace); ok {
				c.broker.Unfollow(namespace.Name)
			}
		},
	})
	if err != nil {
		return fmt.Errorf("watching namespaces: %w", err)
	}
	<-ctx.Done()
	_ = informer.RemoveEventHandler(registration) // the informer ends with the same context
	return nil
}
