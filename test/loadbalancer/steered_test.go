package loadbalancer

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/cloudprovider"
)

// steered is a provider that a test controls. It records its calls. Its load balancers outlive
// hubs, and all hubs share them.
type steered struct {
	mu          sync.Mutex
	lister      cloudprovider.Lister
	balancers   map[types.NamespacedName][]string // backends by load balancer
	calls       map[types.NamespacedName]int
	existing    []types.NamespacedName // load balancers that were passed at creation
	refuse      map[string]error       // errors of updates, by service name
	keep        map[string]error       // errors of deletions, by service name
	mute        error                  // error of listing load balancers
	broken      error                  // error of creating the provider
	unreachable []netip.AddrPort
	handlers    []func(types.NamespacedName) // the latest hub's is the last
}

var provided = map[string]*steered{"steered": {}, "other": {}}

func init() {
	for name, p := range provided {
		cloudprovider.Register(name, func(c cloudprovider.Config) (cloudprovider.MCSLoadBalancer, error) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.lister, p.existing, p.handlers = c.Backends, nil, append(p.handlers, c.Report)
			for _, mcs := range c.Existing {
				p.existing = append(p.existing, nameOf(mcs))
			}
			if p.broken != nil {
				return nil, p.broken
			}
			return p, nil
		})
	}
}

// providers resets both providers and returns them.
func providers() (p, q *steered) {
	for _, p := range provided {
		p.set(func(p *steered) {
			p.balancers, p.calls, p.existing = map[types.NamespacedName][]string{}, map[types.NamespacedName]int{}, nil
			p.refuse, p.keep, p.unreachable = map[string]error{}, map[string]error{}, nil
			p.mute, p.broken = nil, nil
		})
	}
	return provided["steered"], provided["other"]
}

// madeWith checks that only this load balancer was passed when the provider was created.
func (p *steered) madeWith(t *testing.T, mcs *networkingv1alpha1.MultiClusterService) {
	t.Helper()
	p.set(func(p *steered) {
		if !slices.Equal(p.existing, []types.NamespacedName{nameOf(mcs)}) {
			t.Errorf("made with %v", p.existing)
		}
	})
}

// still waits until the provider has not been called for a second. The controller reconciles an
// object again after its own write.
func (p *steered) still() {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for before, now := -1, 0; now != before; {
		<-tick.C
		before, now = now, 0
		p.set(func(p *steered) {
			for _, n := range p.calls {
				now += n
			}
		})
	}
}

// set changes the provider under its lock.
func (p *steered) set(f func(*steered)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(p)
}

func nameOf(mcs *networkingv1alpha1.MultiClusterService) types.NamespacedName {
	return types.NamespacedName{Namespace: mcs.Namespace, Name: mcs.Name}
}

func (p *steered) GetMCSLoadBalancer(_ context.Context, mcs *networkingv1alpha1.MultiClusterService) (*corev1.LoadBalancerStatus, bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mute != nil {
		return nil, false, p.mute
	}
	if _, there := p.balancers[nameOf(mcs)]; !there {
		return nil, false, nil
	}
	return status(mcs), true, nil
}

// status has an address that contains the name, a supported port, and an unsupported port.
func status(mcs *networkingv1alpha1.MultiClusterService) *corev1.LoadBalancerStatus {
	return &corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{
		Hostname: mcs.Name + ".example.com",
		Ports:    []corev1.PortStatus{{Port: 80, Protocol: corev1.ProtocolTCP}, {Port: 53, Protocol: corev1.ProtocolUDP, Error: ptr.To(cloudprovider.PortUnsupported)}},
	}}}
}

func (p *steered) UpdateMCSLoadBalancer(ctx context.Context, mcs *networkingv1alpha1.MultiClusterService) (*corev1.LoadBalancerStatus, error) {
	return p.EnsureMCSLoadBalancer(ctx, mcs)
}

func (p *steered) EnsureMCSLoadBalancer(_ context.Context, mcs *networkingv1alpha1.MultiClusterService) (*corev1.LoadBalancerStatus, error) {
	s, err := p.lister.Service(nameOf(mcs))
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		return nil, err
	}
	p.calls[nameOf(mcs)]++
	if err := p.refuse[mcs.Name]; err != nil {
		return nil, err
	}
	var backends []string
	for _, port := range s.Ports {
		for _, b := range port.Backends {
			backends = append(backends, fmt.Sprintf("%d>%s/%s", port.Number, b.Cluster, b.Address))
		}
	}
	p.balancers[nameOf(mcs)] = backends
	return status(mcs), nil
}

func (p *steered) EnsureMCSLoadBalancerDeleted(_ context.Context, mcs *networkingv1alpha1.MultiClusterService) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.keep[mcs.Name]; err != nil {
		return err
	}
	delete(p.balancers, nameOf(mcs))
	return nil
}

func (p *steered) LoadBalancers() (all []types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name := range p.balancers {
		all = append(all, name)
	}
	return all
}

func (p *steered) Unreachable(types.NamespacedName) []netip.AddrPort {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.unreachable
}

// report reports the unreachable backends of a load balancer.
func (p *steered) report(name types.NamespacedName, unreachable ...netip.AddrPort) {
	p.mu.Lock()
	p.unreachable = unreachable
	handlers := slices.Clone(p.handlers)
	p.mu.Unlock()
	for _, f := range handlers {
		f(name)
	}
}

// has returns an error unless a load balancer has these backends; "none" means that the load
// balancer does not exist.
func (p *steered) has(name types.NamespacedName, want ...string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	backends, there := p.balancers[name]
	if !there {
		backends = []string{"none"}
	}
	if !slices.Equal(backends, want) {
		return errors.New(strings.Join(backends, " "))
	}
	return nil
}
