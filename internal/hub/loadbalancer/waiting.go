package loadbalancer

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	recorded := map[types.NamespacedName][]string{}
	for i := range list.Items {
		if m := &list.Items[i]; wanted(m) && len(m.Status.LoadBalancer.Ingress) > 0 {
			// The one that has it now may be asked to go on, where another one can't be had.
			recorded[client.ObjectKeyFromObject(m)] = append(holders(m), c.providers.of(m))
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

// hindrance is what keeps a MultiClusterService from asking for its addresses.
type hindrance struct {
	since time.Time // by this hub's own clock
	err   error
}

// settled says that a MultiClusterService has asked for its addresses, or does not.
func (c *Controller) settled(name types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle(name)
}

// settle is called with mu held.
func (c *Controller) settle(name types.NamespacedName) {
	delete(c.blocked, name)
	if _, recorded := c.recorded[name]; recorded {
		delete(c.recorded, name)
		c.wake()
	}
}

// asked says that a MultiClusterService has asked one provider.
func (c *Controller) asked(name types.NamespacedName, provider string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	left := slices.DeleteFunc(c.recorded[name], func(p string) bool { return p == provider })
	if len(left) == 0 {
		c.settle(name)
	} else if len(left) < len(c.recorded[name]) {
		c.recorded[name] = left
		c.wake()
	}
}

// hindered says that a MultiClusterService can't ask for its addresses, because of what comes before that. Those that wait for it say
// so, and do not for longer than a load balancer is kept that can't be deleted.
func (c *Controller) hindered(name types.NamespacedName, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, recorded := c.recorded[name]; !recorded || err == errOutdated {
		return
	}
	h, before := c.blocked[name]
	if !before {
		h.since = time.Now()
	}
	h.err = err
	c.blocked[name] = h
	if time.Since(h.since) >= c.abandon {
		c.settle(name)
		return
	}
	for waiting := range c.waiting {
		c.add(reconcile.Request{NamespacedName: waiting}, false)
	}
}

// wake has those looked at again that need not wait any longer. It is called with mu held.
func (c *Controller) wake() {
	for waiting, provider := range c.waiting {
		if !c.awaited(provider) {
			c.add(reconcile.Request{NamespacedName: waiting}, false)
			delete(c.waiting, waiting)
		}
	}
}

// awaited tells whether any others are to ask a provider first. It is called with mu held.
func (c *Controller) awaited(provider string) bool {
	for _, providers := range c.recorded {
		if slices.Contains(providers, provider) {
			return true
		}
	}
	return false
}

// mustWait tells whether others are to ask the provider first, and what to say of it.
func (c *Controller) mustWait(name types.NamespacedName, provider string) (wait bool, ready metav1.Condition) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.awaited(provider) {
		return false, ready
	}
	c.waiting[name] = provider
	ready = metav1.Condition{Type: ConditionReady, Status: metav1.ConditionFalse, Reason: reasonWaiting, Message: fmt.Sprintf(
		"Others that provider %s gave addresses before this hub began ask for them first.", provider)}
	var first string
	for blocked, h := range c.blocked {
		if text := fmt.Sprintf(" MultiClusterService %s can't: %v.", blocked, h.err); slices.Contains(c.recorded[blocked], provider) && (first == "" || text < first) {
			first = text
		}
	}
	if first != "" {
		ready.Message += first + fmt.Sprintf(" It is waited for %v at most.", c.abandon)
	}
	return true, ready
}
