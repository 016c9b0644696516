package loadbalancer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/cloudprovider"
)

// Providers are the hub's providers, created on first use. They live until another replica leads or the process ends.
// Controllers restart when the API server is away for long; meanwhile traffic continues with the last known backends.
type Providers struct {
	standard string
	log      *slog.Logger
	configs  map[string]cloudprovider.Config
	metrics  *metrics

	mu       sync.Mutex
	made     map[string]cloudprovider.MCSLoadBalancer
	closed   bool
	ending   sync.WaitGroup                                            // providers closed by StandDown
	service  func(types.NamespacedName) (cloudprovider.Service, error) // set by the current or the last controller
	existing func(ctx context.Context, provider string) ([]*networkingv1alpha1.MultiClusterService, error)
	// known are the last seen Services of MultiClusterServices with load balancers.
	known map[types.NamespacedName]*corev1.Service

	// report belongs to the controller. It is atomic, because providers call it while they hold their own locks.
	report atomic.Pointer[func(types.NamespacedName)]
}

// NewProviders parses the hub's flags: the default provider, addresses as "[NAME=]ADDRESSES" and options as
// "[NAME.]KEY=VALUE". NAME is a provider; without it the value is for the default one.
func NewProviders(standard string, addresses, options []string, log *slog.Logger) (*Providers, error) {
	p := &Providers{standard: standard, log: log, metrics: newMetrics(), configs: map[string]cloudprovider.Config{}, made: map[string]cloudprovider.MCSLoadBalancer{}, known: map[types.NamespacedName]*corev1.Service{}}
	configOf := func(name string) cloudprovider.Config {
		c, there := p.configs[name]
		if !there {
			c = cloudprovider.Config{Backends: p, Options: map[string]string{}, Log: log.With("provider", name)}
		}
		return c
	}
	p.configs[standard] = configOf(standard)
	for _, text := range addresses {
		name, list, others := strings.Cut(text, "=")
		if !others {
			name, list = standard, text
		}
		c := configOf(name)
		c.Addresses = append(c.Addresses, list)
		p.configs[name] = c
	}
	for _, text := range options {
		key, value, found := strings.Cut(text, "=")
		if !found {
			return nil, fmt.Errorf("--lb-option: %q has no value: write [PROVIDER.]OPTION=VALUE", text)
		}
		name, option, others := strings.Cut(key, ".")
		if !others {
			name, option = standard, key
		}
		c := configOf(name)
		c.Options[option] = value
		p.configs[name] = c
	}
	for name := range p.configs {
		if !slices.Contains(cloudprovider.Names(), name) {
			return nil, fmt.Errorf("unknown load-balancer provider %q: this program supports %s", name, strings.Join(cloudprovider.Names(), ", "))
		}
	}
	return p, nil
}

var errNotYet = errors.New("the hub has not read the backends yet")

// Service implements cloudprovider.Lister.
func (p *Providers) Service(name types.NamespacedName) (cloudprovider.Service, error) {
	p.mu.Lock()
	service := p.service
	p.mu.Unlock()
	if service == nil {
		return cloudprovider.Service{}, errNotYet
	}
	return service(name)
}

// serve connects the providers to a controller, in place of the previous one.
func (p *Providers) serve(service func(types.NamespacedName) (cloudprovider.Service, error),
	existing func(context.Context, string) ([]*networkingv1alpha1.MultiClusterService, error), report func(types.NamespacedName)) {
	p.report.Store(&report)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.service, p.existing = service, existing
}

// remember stores the Service of a MultiClusterService with a load balancer. If the Service is deleted, the load
// balancer keeps these settings. They are only in memory.
func (p *Providers) remember(name types.NamespacedName, service *corev1.Service) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known[name] = service
}

func (p *Providers) forget(name types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.known, name)
}

// lastKnown returns the remembered Service, or nil.
func (p *Providers) lastKnown(name types.NamespacedName) *corev1.Service {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.known[name]
}

// get returns a provider and creates it on first use.
func (p *Providers) get(ctx context.Context, name string) (cloudprovider.MCSLoadBalancer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if provider := p.made[name]; provider != nil {
		return provider, nil
	}
	config, there := p.configs[name]
	if !there {
		return nil, &cloudprovider.Error{Reason: reasonNoProvider, Err: fmt.Errorf(
			"this hub has no provider %q: its providers are %s. To add a provider, set the provider's addresses: --lb-addresses=NAME=…", name, strings.Join(slices.Sorted(maps.Keys(p.configs)), ", "))}
	}
	if p.closed {
		return nil, errors.New("this hub is shutting down")
	}
	if p.existing != nil {
		var err error
		if config.Existing, err = p.existing(ctx, name); err != nil {
			return nil, err
		}
	}
	config.Report = func(name types.NamespacedName) {
		if report := p.report.Load(); report != nil {
			(*report)(name)
		}
	}
	var provider cloudprovider.MCSLoadBalancer
	err := p.guard(func() (err error) {
		provider, err = cloudprovider.New(name, config)
		return err
	})
	if err != nil {
		return nil, err
	}
	p.made[name] = provider
	return provider, nil
}

// guard calls a provider, and turns its panic into an error: it must not end the hub, and concerns only one object.
func (p *Providers) guard(call func() error) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			p.log.Error("A load-balancer provider panicked", "reason", reason, "stack", string(debug.Stack()))
			err = fmt.Errorf("the provider panicked: %v", reason)
		}
	}()
	return call()
}

// of returns the provider's name for a MultiClusterService.
func (p *Providers) of(mcs *networkingv1alpha1.MultiClusterService) string {
	options, _ := cloudprovider.OptionsOf(mcs) // the provider reports invalid options
	return cmp.Or(options.Provider, p.standard)
}

// configured returns the names of the configured providers.
func (p *Providers) configured() []string { return slices.Sorted(maps.Keys(p.configs)) }

// StandDown closes the providers, because the new leader's load balancers carry the traffic now. No controller uses
// them at that time; later ones create them again. It returns at once.
func (p *Providers) StandDown() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.made) == 0 || p.closed {
		return
	}
	made := p.made
	p.metrics.forgetAll()
	clear(p.known) // the new leader's state is newer
	p.made = map[string]cloudprovider.MCSLoadBalancer{}
	p.log.Info("Stopping this replica's load balancers, because another replica is the leader", "providers", slices.Sorted(maps.Keys(made)))
	p.ending.Go(func() {
		if err := p.closeAll(made); err != nil {
			p.log.Error("Failed to stop the load balancers", "error", err)
		}
	})
}

// Close closes the providers.
func (p *Providers) Close() error {
	p.mu.Lock()
	p.closed = true
	made := maps.Clone(p.made)
	p.mu.Unlock()
	defer p.ending.Wait()
	return p.closeAll(made)
}

func (p *Providers) closeAll(made map[string]cloudprovider.MCSLoadBalancer) error {
	var failed []error
	for _, provider := range made {
		if closer, ok := provider.(io.Closer); ok {
			failed = append(failed, p.guard(closer.Close))
		}
	}
	return errors.Join(failed...)
}
