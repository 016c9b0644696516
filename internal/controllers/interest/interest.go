// Package interest has an agent's copies of EndpointSlices follow what is of interest: the view of the broker the
// namespaces that exist in this cluster and that others export from (Controller), and the copy of the cluster's own slices
// those that have ServiceExports (Exports). So an agent's memory and traffic, and the watches that API servers have to
// serve, grow with what its cluster imports and exports, and not with the whole clusterset or cluster.
package interest

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
)

// Controller follows namespaces.
type Controller struct {
	local  cache.Cache
	broker *broker.View
	// exported tells whether another cluster exports something from a namespace.
	exported func(namespace string) bool

	mu   sync.Mutex
	here map[string]bool // the namespaces that exist
}

// NewController returns a controller that reads the namespaces from local.
func NewController(local cache.Cache, view *broker.View) *Controller {
	return &Controller{local: local, broker: view, exported: view.ImportsFrom, here: map[string]bool{}}
}

// NeedLeaderElection makes the controller run on every replica, so that a new leader
// finds the view filled.
func (c *Controller) NeedLeaderElection() bool { return false }

// Start follows namespaces until ctx is done.
func (c *Controller) Start(ctx context.Context) error {
	off, err := watch(ctx, c.local, &corev1.Namespace{},
		func(namespace client.Object) { c.exists(namespace.GetName()) },
		func(namespace client.Object) { c.gone(namespace.GetName()) })
	if err != nil {
		return fmt.Errorf("watching namespaces: %w", err)
	}
	c.broker.OnExport(func(e *brokerv1alpha1.ExportedService, _ bool) {
		if e.Spec.ClusterID != c.broker.Self.String() {
			c.exports(e.Spec.ServiceNamespace)
		}
	})
	<-ctx.Done()
	off()
	return nil
}

// exists, gone and exports are called when a namespace is there, is not any more, and when another
// cluster exports something from one. A namespace from which nobody exports anything any more is followed as long as
// it exists, for somebody may again.
func (c *Controller) exists(namespace string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.here[namespace] = true
	if c.exported(namespace) {
		c.broker.Follow(namespace)
	}
}

func (c *Controller) gone(namespace string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.here, namespace)
	c.broker.Unfollow(namespace)
}

func (c *Controller) exports(namespace string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.here[namespace] {
		c.broker.Follow(namespace)
	}
}
