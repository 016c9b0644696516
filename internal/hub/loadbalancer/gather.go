package loadbalancer

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/cloudprovider"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
)

// Why a Service is missing.
var (
	errNoService    = errors.New("the broker's API server has no Service of this name; create it there")
	errExternalName = errors.New("a Service of type ExternalName has no endpoints")
)

// forwarding is what there is to forward.
type forwarding struct {
	// service is what providers forward. Where the Service has gone it is made of what it was last, if that is known.
	service cloudprovider.Service
	// refused is what the hub does not use of what clusters publish, and tooMany the ports that have more backends than they may.
	refused refusals
	tooMany []string
	// missing says why the Service is not what it was, and is nil where it is there.
	missing error
	// unknown says that the Service is missing, and that this hub has not seen it since it started.
	unknown bool
}

// service is what providers forward for a MultiClusterService.
func (c *Controller) service(name types.NamespacedName) (cloudprovider.Service, error) {
	if !c.ready.Load() {
		return cloudprovider.Service{}, errNotYet
	}
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	mcs := &networkingv1alpha1.MultiClusterService{}
	if err := c.client.Get(ctx, name, mcs, client.UnsafeDisableDeepCopy); err != nil {
		return cloudprovider.Service{}, err
	}
	f, err := c.gather(ctx, mcs)
	if err == nil && f.unknown {
		err = f.missing
	}
	return f.service, err
}

// gather finds out what there is to forward for an object.
func (c *Controller) gather(ctx context.Context, mcs *networkingv1alpha1.MultiClusterService) (f forwarding, err error) {
	name, service := client.ObjectKeyFromObject(mcs), &corev1.Service{}
	switch err := c.client.Get(ctx, name, service, client.UnsafeDisableDeepCopy); {
	case apierrors.IsNotFound(err):
		service, f.missing = c.providers.lastKnown(name), errNoService
	case err != nil:
		return f, err
	case service.Spec.Type == corev1.ServiceTypeExternalName:
		service, f.missing = c.providers.lastKnown(name), errExternalName
	case wanted(mcs):
		c.providers.remember(name, service)
	}
	published, err := c.published.of(ctx, name)
	if err != nil {
		return f, err
	}
	e := validateExports(mcs, validation.Network{IsHost: c.hosts.Has, Allowed: c.published.permissions().RangesOf}, published)
	f.refused = e.refused
	if f.unknown = service == nil; !f.unknown {
		f.service, f.tooMany = forwards(mcs, service, e)
	}
	return f, nil
}
