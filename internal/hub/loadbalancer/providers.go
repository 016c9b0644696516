package loadbalancer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/cloudprovider"
)

// Providers are those that this hub has, made when they are needed first. They live until another replica leads or the process
// ends, while controllers end and begin anew when the API server is away for long:
// the traffic goes on meanwhile, with the backends known last.
type Providers struct {
	standard string
	log      *slog.Logger
	configs  map[string]cloudprovider.Config
	metrics  *metrics

	mu       sync.Mutex
	made     map[string]cloudprovider.MCSLoadBalancer
	closed   bool
	ending   sync.WaitGroup                                            // those that have stood down
	service  func(types.NamespacedName) (cloudprovider.Service, error) // of the controller that is running, or did last
	existing func(ctx context.Context, provider string) ([]*networkingv1alpha1.MultiClusterService, error)
	// known are Services as they were last, of MultiClusterServices that have load balancers.
	known map[types.NamespacedName]*corev1.Service

	// report is the controller's, which providers call with locks of their own held.
	report atomic.Pointer[func(types.NamespacedName)]
}

// NewProviders reads what a hub's flags say: the provider for MultiClusterServices that name
// none, the addresses, each with "NAME=" in front where it is another provider's, and options as
// "[NAME.]KEY=VALUE".
func NewProviders(standard string, addresses, options []string, log *slog.Logger) (*Providers, error) {
	p := &Providers{standard: standard, log: log, metrics: newMetrics(), configs: map[string]cloudprovider.Config{}, made: map[string]cloudprovider.MCSLoadBalancer{}, known: map[types.NamespacedName]*corev1.Service{}}
	configOf := func(name string) cloudprovider.Config {
		c, there := p.configs[name]
		if !there {
			c = cloudprovider.Config{Backends: lister{p}, Options: map[string]string{}, Log: log.With("provider", name)}
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
			return nil, fmt.Errorf("--lb-option: %q has no value: it is [PROVIDER.]OPTION=VALUE", text)
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
			return nil, fmt.Errorf("there is no load-balancer provider %q: this program has %s", name, strings.Join(cloudprovider.Names(), ", "))
		}
	}
	return p, nil
}

// lister is what the providers are handed.
type lister struct{ *Providers }

var errNotYet = errors.New("the hub has not read its backends yet")

// Service implements cloudprovider.Lister.
func (l lister) Service(name types.NamespacedName) (cloudprovider.Service, error) {
	l.mu.Lock()
	service := l.service
	l.mu.Unlock()
	if service == nil {
		return cloudprovider.Service{}, errNotYet
	}
	return service(name)
}

// serve has the providers ask this controller, in place of a former one, and tell it of backends.
func (p *Providers) serve(service func(types.NamespacedName) (cloudprovider.Service, error),
	existing func(context.Context, string) ([]*networkingv1alpha1.MultiClusterService, error), report func(types.NamespacedName)) {
	p.report.Store(&report)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.service, p.existing = service, existing
}

// remember notes what a Service is like, as long as its MultiClusterService has a load balancer: should the Service go, that follows
// everything else. It is known for as long as the providers live, and not written down anywhere.
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

// lastKnown returns what was remembered of a Service, or nil.
func (p *Providers) lastKnown(name types.NamespacedName) *corev1.Service {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.known[name]
}

// get returns a provider, which it makes the first time.
func (p *Providers) get(ctx context.Context, name string) (cloudprovider.MCSLoadBalancer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if provider := p.made[name]; provider != nil {
		return provider, nil
	}
	config, there := p.configs[name]
	if !there {
		return nil, &cloudprovider.Error{Reason: reasonNoProvider, Err: fmt.Errorf(
			"there is no such provider %q: this hub has %s; more are added by addresses for them, --lb-addresses=NAME=…", name, strings.Join(slices.Sorted(maps.Keys(p.configs)), ", "))}
	}
	if p.closed {
		return nil, errors.New("this hub is ending")
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
	provider, err := cloudprovider.New(name, config)
	if err != nil {
		return nil, err
	}
	p.made[name] = provider
	return provider, nil
}

// of returns the name of the provider that a MultiClusterService is to have.
func (p *Providers) of(mcs *networkingv1alpha1.MultiClusterService) string {
	options, _ := cloudprovider.OptionsOf(mcs) // the provider tells what is wrong with them
	return cmp.Or(options.Provider, p.standard)
}

// configured are the names of the providers that there may be.
func (p *Providers) configured() []string { return slices.Sorted(maps.Keys(p.configs)) }

// StandDown ends the providers because another replica is the leader, which has load balancers carry the traffic now. No
// controller uses them any more; they are made again for the next one. It returns at once.
func (p *Providers) StandDown() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.made) == 0 || p.closed {
		return
	}
	made := p.made
	p.metrics.forgetAll()
	clear(p.known) // the other one knows better from now on
	p.made = map[string]cloudprovider.MCSLoadBalancer{}
	p.log.Info("Another replica is the leader. This replica stops its load balancers.", "providers", slices.Sorted(maps.Keys(made)))
	p.ending.Go(func() {
		if err := closeAll(made); err != nil {
			p.log.Error("ending the load balancers", "error", err)
		}
	})
}

// Close ends the providers.
func (p *Providers) Close() error {
	p.mu.Lock()
	p.closed = true
	made := maps.Clone(p.made)
	p.mu.Unlock()
	defer p.ending.Wait()
	return closeAll(made)
}

func closeAll(made map[string]cloudprovider.MCSLoadBalancer) error {
	var failed []error
	for _, provider := range made {
		if closer, ok := provider.(io.Closer); ok {
			failed = append(failed, closer.Close())
		}
	}
	return errors.Join(failed...)
}
