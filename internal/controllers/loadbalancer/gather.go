package loadbalancer

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/cloudprovider"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
)

// Why a Service is missing.
var (
	errNoService    = errors.New("the broker's API server has no Service of this name; create it there")
	errExternalName = errors.New("a Service of type ExternalName has no endpoints")
)

// forwarding is what there is to forward.
type forwarding struct {
	// service is what the providers are told. Where the Service has gone it is made of what it was last.
	service cloudprovider.Service
	// refused is what the hub does not use of what clusters publish, and tooMany the ports that have more backends than they may.
	refused refusals
	tooMany []string
	// missing says why the Service is not what it was, and is nil where it is there.
	missing error
	// unseen is what is known where the Service is missing and nothing is known of it.
	unseen *cloudprovider.Unseen
}

// service is what the providers are told that there is to forward.
func (c *Controller) service(name types.NamespacedName) (cloudprovider.Service, error) {
	mcs := &networkingv1alpha1.MultiClusterService{}
	if err := c.client.Get(context.Background(), name, mcs, client.UnsafeDisableDeepCopy); err != nil { // a copy
		return cloudprovider.Service{}, err
	}
	f, err := c.gather(mcs)
	if err == nil && f.unseen != nil {
		err = f.unseen
	}
	return f.service, err
}

// gather finds out what there is to forward for an object.
func (c *Controller) gather(mcs *networkingv1alpha1.MultiClusterService) (f forwarding, err error) {
	name, service := client.ObjectKeyFromObject(mcs), &corev1.Service{}
	switch err := c.client.Get(context.Background(), name, service, client.UnsafeDisableDeepCopy); {
	case apierrors.IsNotFound(err):
		service, f.missing = c.providers.lastKnown(name), errNoService
	case err != nil:
		return f, err
	case service.Spec.Type == corev1.ServiceTypeExternalName:
		service, f.missing = c.providers.lastKnown(name), errExternalName
	case wanted(mcs):
		c.providers.remember(name, service)
	}
	if !c.endpoints.Synced(name.Namespace) || !c.permissions.Synced() {
		return f, errNotYet
	}
	published, records, err := c.published(name)
	if err != nil {
		return f, err
	}
	e := validateExports(mcs, validation.Network{IsHost: c.hosts.Has, Allowed: c.permissions.RangesOf}, published, records)
	f.refused = e.refused
	if service == nil {
		f.unseen = remains(mcs, e)
	} else {
		f.service, f.tooMany = forwards(mcs, service, e)
	}
	return f, nil
}

// published returns what clusters publish of a Service's endpoints, and the records of their exports, which are the caller's to change.
func (c *Controller) published(name types.NamespacedName) ([]*discoveryv1.EndpointSlice, map[string]*brokerv1alpha1.ExportedService, error) {
	ctx := context.Background() // all is read from copies
	published := c.endpoints.Of(name)
	records := map[string]*brokerv1alpha1.ExportedService{}
	for _, slice := range published {
		cluster := clusterOf(slice)
		if _, known := records[cluster]; known {
			continue
		}
		record := &brokerv1alpha1.ExportedService{}
		key := client.ObjectKey{Namespace: c.clusterset, Name: names.Export(names.ClusterID(cluster), name.Namespace, name.Name)}
		switch err := c.client.Get(ctx, key, record, client.UnsafeDisableDeepCopy); {
		case err == nil:
			records[cluster] = record
		case apierrors.IsNotFound(err):
			records[cluster] = nil
		default:
			return nil, nil, err
		}
	}
	return published, records, nil
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
