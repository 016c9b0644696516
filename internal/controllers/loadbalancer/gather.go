package loadbalancer

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/cloudprovider"
	"github.com/atoll-mcs/atoll/internal/names"
)

// Errors of service.
var (
	errNoService    = errors.New("there is no Service of this name beside this object any more")
	errExternalName = errors.New("a Service of type ExternalName has no endpoints")
)

// service is what the providers are told that there is to forward.
func (c *Controller) service(name types.NamespacedName) (s cloudprovider.Service, err error) {
	ctx := context.Background() // all is read from copies
	mcs, service := &networkingv1alpha1.MultiClusterService{}, &corev1.Service{}
	if err := c.client.Get(ctx, name, mcs, client.UnsafeDisableDeepCopy); err != nil {
		return s, err
	}
	switch err := c.client.Get(ctx, name, service, client.UnsafeDisableDeepCopy); {
	case apierrors.IsNotFound(err):
		return s, errNoService
	case err != nil:
		return s, err
	case service.Spec.Type == corev1.ServiceTypeExternalName:
		return s, errExternalName
	case !c.endpoints.Synced(name.Namespace) || !c.ranges.Synced():
		return s, errNotYet
	}
	published := c.endpoints.Of(name)
	records := map[string]*brokerv1alpha1.ExportedServiceSpec{}
	for _, slice := range published {
		cluster := clusterOf(slice)
		if _, known := records[cluster]; known {
			continue
		}
		record := &brokerv1alpha1.ExportedService{}
		key := client.ObjectKey{Namespace: c.clusterset, Name: names.Export(names.ClusterID(cluster), name.Namespace, name.Name)}
		switch err := c.client.Get(ctx, key, record, client.UnsafeDisableDeepCopy); {
		case err == nil:
			records[cluster] = &record.Spec
		case apierrors.IsNotFound(err):
			records[cluster] = nil
		default:
			return s, err
		}
	}
	return forwards(mcs, service, records, within(c.ranges.Of, published)), nil
}

// follow has the endpoints of a namespace be known.
func (c *Controller) follow(namespace string) {
	c.following.Lock()
	defer c.following.Unlock()
	c.endpoints.Follow(namespace)
}

// unfollow has them be followed no longer where none of its MultiClusterServices has a load balancer. What follows it
// meanwhile is in the copy already, from which this reads.
func (c *Controller) unfollow(ctx context.Context, namespace string) error {
	c.following.Lock()
	defer c.following.Unlock()
	if !c.endpoints.Follows(namespace) {
		return nil
	}
	list := &networkingv1alpha1.MultiClusterServiceList{}
	if err := c.client.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing MultiClusterServices: %w", err)
	}
	if !slices.ContainsFunc(list.Items, func(m networkingv1alpha1.MultiClusterService) bool { return wanted(&m) }) {
		c.endpoints.Unfollow(namespace)
	}
	return nil
}
