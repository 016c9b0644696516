// Package hosts keeps which addresses are of this cluster's nodes while these come and go. It is
// told of nodes' metadata alone, which is little, and reads a node itself when it is new: whole nodes
// are large, and change all the time.
package hosts

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/atoll-mcs/atoll/internal/agent/local"
	"github.com/atoll-mcs/atoll/internal/kit"
)

// Controller keeps local.Hosts.
type Controller struct {
	local client.Reader
	live  client.Reader // past the copy
	hosts *local.Hosts
}

// NewController returns a controller that keeps hosts. live reads past any copy.
func NewController(local, live client.Reader, hosts *local.Hosts) *Controller {
	return &Controller{local: local, live: live, hosts: hosts}
}

// Name is the controller's name in logs and metrics.
func (c *Controller) Name() string { return "hosts" }

// Register adds the controller to a manager.
func (c *Controller) Register(mgr ctrl.Manager) error {
	options := kit.Options[reconcile.Request]()
	options.NeedLeaderElection = ptr.To(false) // it writes nothing, and a new leader has to know what has gone
	return ctrl.NewControllerManagedBy(mgr).
		Named(c.Name()).
		For(&corev1.Node{}, builder.OnlyMetadata).
		WithOptions(options).
		Complete(c)
}

// Reconcile notes the addresses of one node.
func (c *Controller) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	known := &metav1.PartialObjectMetadata{}
	known.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Node"))
	err := c.local.Get(ctx, req.NamespacedName, known)
	if err == nil && !c.hosts.Unread(known, time.Now()) {
		return reconcile.Result{}, nil
	}
	node := &corev1.Node{}
	if err == nil {
		err = c.live.Get(ctx, req.NamespacedName, node)
	}
	switch {
	case apierrors.IsNotFound(err):
		c.hosts.Remove(req.Name)
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("reading node %s: %w", req.Name, err)
	default:
		c.hosts.Put(node, time.Now())
	}
	return reconcile.Result{}, nil
}
