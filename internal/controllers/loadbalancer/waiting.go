package loadbalancer

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/cloudprovider"
)

// begin notes which MultiClusterServices have addresses to ask for again, and has load balancers
// looked at whose objects have gone.
func (c *Controller) begin(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.recorded != nil {
		return nil
	}
	list := &networkingv1alpha1.MultiClusterServiceList{}
	if err := c.client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing MultiClusterServices: %w", err)
	}
	recorded := map[types.NamespacedName]string{}
	for i := range list.Items {
		if m := &list.Items[i]; wanted(m) && len(m.Status.LoadBalancer.Ingress) > 0 {
			recorded[client.ObjectKeyFromObject(m)] = c.providers.of(m)
		}
	}
	for _, name := range c.providers.configured() {
		provider, err := c.providers.get(name)
		if err != nil {
			continue // told where it is needed
		}
		if inventory, ok := provider.(cloudprovider.Inventory); ok {
			for _, left := range inventory.LoadBalancers() {
				c.add(reconcile.Request{NamespacedName: left}, true)
			}
		}
	}
	c.recorded = recorded
	return nil
}

// settled says that a MultiClusterService has asked for its addresses, or does not.
func (c *Controller) settled(name types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	provider, recorded := c.recorded[name]
	delete(c.recorded, name)
	if !recorded || c.awaited(provider) {
		return
	}
	for waiting := range c.waiting {
		c.add(reconcile.Request{NamespacedName: waiting}, false)
	}
	clear(c.waiting)
}

// awaited tells whether any others are to ask a provider first. It is called with mu held.
func (c *Controller) awaited(provider string) bool {
	for _, p := range c.recorded {
		if p == provider {
			return true
		}
	}
	return false
}

func (c *Controller) mustWait(name types.NamespacedName, provider string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	wait := c.awaited(provider)
	if wait {
		c.waiting[name] = true
	}
	return wait
}
