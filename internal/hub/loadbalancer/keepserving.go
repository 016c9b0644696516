package loadbalancer

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
)

// keepServing updates a load balancer while its Service or its ports are missing, or its provider is not available. The finalizers'
// providers follow backend changes and close ports that are no longer exposed. ready is the condition about the
// problem.
func (c *Controller) keepServing(ctx context.Context, mcs *networkingv1alpha1.MultiClusterService, f forwarding, ready metav1.Condition) error {
	status, conditions := &mcs.Status.LoadBalancer, []metav1.Condition{ready}
	if len(status.Ingress) == 0 || f.unknown {
		return c.applyStatus(ctx, mcs, status, conditions) // there is no load balancer, or its Service is unknown
	}
	var failed []error
	for _, holder := range holders(mcs) {
		provider, err := c.providers.get(ctx, holder)
		if err != nil {
			continue // the condition already says so, or will when another provider takes over
		}
		out := outcome{provider: holder, forwarding: f}
		c.call(ctx, mcs, provider, &out)
		failed = append(failed, out.err)
		if out.status == nil {
			continue
		}
		status = out.status
		if f.missing == nil && len(f.service.Ports) > 0 && out.err == nil {
			ready.Message += fmt.Sprintf(" Provider %s still forwards traffic.", holder)
		}
		if conditions = []metav1.Condition{ready}; len(f.service.Ports) > 0 {
			conditions = append(conditions, out.reachable(), out.accepted())
		}
	}
	return join(errors.Join(failed...), c.applyStatus(ctx, mcs, status, conditions))
}
