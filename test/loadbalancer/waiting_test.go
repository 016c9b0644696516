package loadbalancer

import (
	"errors"
	"strings"
	"testing"
	"time"

	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/hub/loadbalancer"
)

// New load balancers that wait for one that can't ask for its addresses say so, and do not wait for ever.
func TestWaitingIsTold(t *testing.T) {
	const ns = "waiting"
	p := provided["steered"]
	p.reset()
	defer func(before time.Duration) { abandonAfter = before }(abandonAfter)
	abandonAfter = time.Hour
	stop := start(t)
	old := exposed(t, ns, "old", nil)
	expect(t, old, loadbalancer.ConditionReady, "False/PortsNotCarried")
	hinder := func() {
		stop()
		change(t, old, func(m *networkingv1alpha1.MultiClusterService) { m.Finalizers = nil })
		refuses.Store("old", true)
		stop = start(t)
	}
	defer refuses.Delete("old")
	hinder()
	fresh := exposed(t, ns, "fresh", nil)
	eventually(t, "it is told for whom it waits", func() error {
		if c := expect(t, fresh, loadbalancer.ConditionReady, "False/Waiting"); !strings.Contains(c.Message, "waiting/old can't") || !strings.Contains(c.Message, "a policy refuses it") {
			return errors.New(c.Message)
		}
		return nil
	})
	if err := p.has(nameOf(fresh), "none"); err != nil || len(fresh.Status.LoadBalancer.Ingress) > 0 {
		t.Errorf("it has %v, %+v", err, fresh.Status.LoadBalancer)
	}
	p.set(func(p *steered) { p.order = nil })
	refuses.Delete("old")
	for _, m := range []*networkingv1alpha1.MultiClusterService{fresh, old} {
		expect(t, m, loadbalancer.ConditionReady, "False/PortsNotCarried")
	}
	p.set(func(p *steered) {
		if p.order[0] != nameOf(old) {
			t.Errorf("asked for in the order %v", p.order)
		}
	})

	// Nor longer than a load balancer is kept that can't be deleted.
	abandonAfter = time.Second
	hinder()
	other := exposed(t, ns, "other", nil)
	expect(t, other, loadbalancer.ConditionReady, "False/PortsNotCarried")
}
