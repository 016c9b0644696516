package loadbalancer

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
)

// carryOn has a load balancer that there is follow what changes while it can't be provided for as it should, for its Service
// has gone or the provider that it is to have can't be had: ports that are not exposed any more are closed, and
// backends are followed. It is the provider that the finalizer names which does. ready says what is wrong.
func (c *Controller) carryOn(ctx context.Context, mcs *networkingv1alpha1.MultiClusterService, f forwarding, ready metav1.Condition) error {
	status, conditions := &mcs.Status.LoadBalancer, []metav1.Condition{ready}
	if len(status.Ingress) == 0 || f.unknown {
		return c.applyStatus(ctx, mcs, status, conditions) // there is none, or nobody knows where or what for
	}
	var failed []error
	for _, holder := range holders(mcs) {
		provider, err := c.providers.get(ctx, holder)
		if err != nil {
			continue // it is what the condition is about, or it will be when another one is to take its place
		}
		out := outcome{provider: holder, forwarding: f}
		c.call(ctx, mcs, provider, &out)
		failed = append(failed, out.err)
		if out.status == nil {
			continue
		}
		status = out.status
		if f.missing == nil && out.err == nil {
			ready.Message += fmt.Sprintf(" Provider %s forwards traffic until then.", holder)
		}
		conditions = []metav1.Condition{ready, out.reachable(), out.accepted()}
	}
	return join(errors.Join(failed...), c.applyStatus(ctx, mcs, status, conditions))
}
