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
)

// Reasons for a missing Service.
var (
	errNoService    = errors.New("the broker's API server has no Service with this name: create the Service on the broker")
	errExternalName = errors.New("a Service of type ExternalName has no endpoints")
)

// forwarding is the input for a load balancer.
type forwarding struct {
	// service is the forwarded Service. After a deletion it comes from the last known Service, if any.
	service cloudprovider.Service
	// refused counts published objects that the hub does not use; tooMany are ports above the backend limit.
	refused refusals
	tooMany []string
	// rangeless are the refused clusters for which the broker permits no address ranges. clusterset names them to people.
	rangeless  []string
	clusterset string
	// unmatched are the provider clusters' missing ports, existing the Service's ports, absent the ports in spec.ports
	// that the Service does not have.
	unmatched, existing, absent []string
	// missing says why the Service is missing. It is nil when the Service exists.
	missing error
	// unknown means that the Service is missing and was not seen since this hub started.
	unknown bool
}

// service implements the providers' Lister for a MultiClusterService.
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

// gather reads the input for a MultiClusterService.
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
	published, known := c.published.of(name)
	if !known {
		return f, errNotYet
	}
	e := validateExports(mcs, c.rules(), published)
	f.refused, f.rangeless, f.clusterset = e.refused, e.rangeless, c.published.clusterset
	if f.unknown = service == nil; !f.unknown {
		f.service, f.tooMany = forwards(mcs, service, e)
		f.unmatched = unmatched(f.service, e)
		f.existing, f.absent = networkingv1alpha1.PortsOf(service), networkingv1alpha1.MissingPorts(mcs.Spec.Ports, service)
	}
	return f, nil
}
