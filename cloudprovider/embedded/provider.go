// Package embedded is the load-balancer provider inside the hub. It listens on the addresses, and forwards TCP
// connections and UDP datagrams to the backends.
//
// This machine must already have the addresses. Traffic stops when the hub stops.
package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/cloudprovider"
	"github.com/atoll-mcs/atoll/cloudprovider/addresses"
)

// Name is the name of this provider in the registry.
const Name = "embedded"

func init() { cloudprovider.Register(Name, New) }

// optionDrain is how long open connections may continue after their port or load balancer was deleted or the hub
// stops.
const optionDrain = "drain"

const defaultDrain = 10 * time.Second

// Provider is the embedded provider.
type Provider struct {
	backends cloudprovider.Lister
	report   func(types.NamespacedName)
	pool     *addresses.Pool
	dialer   dialer
	drain    time.Duration
	linger   time.Duration // how long removed UDP backends may still answer
	log      *slog.Logger
	running  sync.WaitGroup // all goroutines of this provider
	tcp, udp counts

	mu        sync.Mutex
	balancers map[types.NamespacedName]*balancer // nil after Close
}

// New creates the provider. It needs addresses and accepts the option drain.
func New(c cloudprovider.Config) (cloudprovider.MCSLoadBalancer, error) {
	if err := cloudprovider.CheckOptions(c.Options, optionDrain); err != nil {
		return nil, err
	}
	drain := defaultDrain
	if text := c.Options[optionDrain]; text != "" {
		var err error
		if drain, err = time.ParseDuration(text); err != nil || drain < 0 {
			return nil, fmt.Errorf("option %s: %q is not a duration such as 10s", optionDrain, text)
		}
	}
	pool, err := addresses.NewPool(c)
	if err != nil {
		return nil, err
	}
	return &Provider{
		backends: c.Backends, report: c.Report, pool: pool, drain: drain, linger: udpLinger, log: c.Log, dialer: &net.Dialer{KeepAliveConfig: keepAlive},
		balancers: map[types.NamespacedName]*balancer{},
	}, nil
}

var errClosed = errors.New("this hub is shutting down")

// GetMCSLoadBalancer implements cloudprovider.MCSLoadBalancer.
func (p *Provider) GetMCSLoadBalancer(_ context.Context, mcs *networkingv1alpha1.MultiClusterService) (*corev1.LoadBalancerStatus, bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.balancers[cloudprovider.KeyOf(mcs)]
	if b == nil {
		return nil, false, nil
	}
	return b.status(), true, nil
}

// UpdateMCSLoadBalancer implements cloudprovider.MCSLoadBalancer.
func (p *Provider) UpdateMCSLoadBalancer(ctx context.Context, mcs *networkingv1alpha1.MultiClusterService) (*corev1.LoadBalancerStatus, error) {
	return p.EnsureMCSLoadBalancer(ctx, mcs)
}

// EnsureMCSLoadBalancer implements cloudprovider.MCSLoadBalancer.
func (p *Provider) EnsureMCSLoadBalancer(ctx context.Context, mcs *networkingv1alpha1.MultiClusterService) (*corev1.LoadBalancerStatus, error) {
	name := cloudprovider.KeyOf(mcs)
	service, err := p.backends.Service(name)
	if err != nil {
		return nil, err
	}
	service, refused := cloudprovider.Usable(service)
	status, err := p.provide(ctx, mcs, service)
	return status, errors.Join(err, refused)
}

// provide creates or updates a load balancer.
func (p *Provider) provide(ctx context.Context, mcs *networkingv1alpha1.MultiClusterService, service cloudprovider.Service) (*corev1.LoadBalancerStatus, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.balancers == nil {
		return nil, errClosed
	}
	name := cloudprovider.KeyOf(mcs)
	b := p.balancers[name]
	if b != nil {
		b.follow(ctx, service) // even when the options or addresses are invalid
	}
	assigned, options, err := p.pool.Provide(mcs, service, "TCP", "UDP")
	if err != nil {
		return b.status(), err
	}
	if b == nil {
		b = newBalancer(p, name)
		p.balancers[name] = b
	}
	err = b.apply(ctx, assigned, service, options)
	return b.status(), err
}

// EnsureMCSLoadBalancerDeleted implements cloudprovider.MCSLoadBalancer.
func (p *Provider) EnsureMCSLoadBalancerDeleted(_ context.Context, mcs *networkingv1alpha1.MultiClusterService) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	name := cloudprovider.KeyOf(mcs)
	if b := p.balancers[name]; b != nil {
		b.close(p.drain)
		delete(p.balancers, name)
	}
	p.pool.Forget(name)
	return nil
}

// Close stops accepting connections and waits for the open ones; after the drain time it ends them.
func (p *Provider) Close() error {
	p.mu.Lock()
	for _, b := range p.balancers {
		b.close(p.drain)
	}
	p.balancers = nil
	p.mu.Unlock()
	p.running.Wait()
	return nil
}

// Unreachable implements cloudprovider.Reporter.
func (p *Provider) Unreachable(name types.NamespacedName) []netip.AddrPort {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.balancers[name]
	if b == nil {
		return nil
	}
	var all []netip.AddrPort
	for _, g := range b.groups {
		all = append(all, g.unreachable()...)
	}
	slices.SortFunc(all, netip.AddrPort.Compare)
	return slices.Compact(all)
}
