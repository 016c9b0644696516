package loadbalancer

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/cloudprovider"
)

// carryOn has a load balancer that there is follow what changes while it can't be provided for as it should, for its Service
// has gone or the provider that it is to have can't be had: ports that are not exposed any more are closed, and
// backends are followed. It is the provider that the finalizer names which does. ready says what is wrong.
func (c *Controller) carryOn(ctx context.Context, mcs *networkingv1alpha1.MultiClusterService, f forwarding, ready metav1.Condition) error {
	status, conditions := &mcs.Status.LoadBalancer, []metav1.Condition{ready}
	if len(status.Ingress) == 0 {
		return c.applyStatus(ctx, mcs, status, conditions) // there is none, or nobody knows where
	}
	var failed []error
	for _, holder := range holders(mcs) {
		provider, err := c.providers.get(holder)
		if err != nil {
			continue // it is what the condition is about, or it will be when another one is to take its place
		}
		out := outcome{provider: holder, forwarding: f}
		c.ask(ctx, mcs, provider, &out)
		if unseen := (*cloudprovider.Unseen)(nil); !errors.As(out.err, &unseen) { // else it changes nothing, and need not
			failed = append(failed, out.err)
		}
		if out.status == nil {
			continue
		}
		status = out.status
		if f.missing == nil && out.err == nil {
			ready.Message += fmt.Sprintf(" Provider %s carries the traffic until then.", holder)
		}
		conditions = []metav1.Condition{ready}
		if f.unseen == nil {
			conditions = append(conditions, out.reachable(), out.accepted())
		}
	}
	return join(errors.Join(failed...), c.applyStatus(ctx, mcs, status, conditions))
}
