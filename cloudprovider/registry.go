package cloudprovider

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
)

// Config is what a provider is made of.
type Config struct {
	// Backends tells what to forward, and to whom.
	Backends Lister
	// Addresses are those that load balancers may have, as the hub's flag --lb-addresses gives
	// them: single ones, prefixes, or ranges with a hyphen. Providers that get theirs from
	// elsewhere need none.
	Addresses []string
	// Existing are MultiClusterServices whose status has addresses already, and that this provider
	// is asked for, or was. It gives these addresses to no other, also before it is called for those
	// that have them. They are read only.
	Existing []*networkingv1alpha1.MultiClusterService
	// Options are the provider's own, from the hub's flag --lb-option.
	Options map[string]string
	// Report is called with the name of a MultiClusterService of which other backends than before can't be reached. It returns at once,
	// and calls nothing of the provider's. It is never nil.
	Report func(types.NamespacedName)
	// Log is never nil.
	Log *slog.Logger
}

// Factory makes a provider. An error says what is wrong with the configuration; what may be
// right later, as a server that does not answer, is an error of the calls to the provider.
type Factory func(Config) (MCSLoadBalancer, error)

var registry struct {
	sync.Mutex
	factories map[string]Factory
}

// Register makes a provider be known by a name. It is for init functions, and panics when there
// is one of that name already.
func Register(name string, factory Factory) {
	registry.Lock()
	defer registry.Unlock()
	if _, taken := registry.factories[name]; taken || name == "" || factory == nil {
		panic(fmt.Sprintf("registering load-balancer provider %q: each needs a name of its own and a factory", name))
	}
	if registry.factories == nil {
		registry.factories = map[string]Factory{}
	}
	registry.factories[name] = factory
}

// Names returns the names of the registered providers, sorted.
func Names() []string {
	registry.Lock()
	defer registry.Unlock()
	return slices.Sorted(maps.Keys(registry.factories))
}

// New makes the provider of that name.
func New(name string, config Config) (MCSLoadBalancer, error) {
	registry.Lock()
	factory := registry.factories[name]
	registry.Unlock()
	if factory == nil {
		return nil, fmt.Errorf("there is no load-balancer provider %q: this program has %s", name, strings.Join(Names(), ", "))
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	if config.Report == nil {
		config.Report = func(types.NamespacedName) {}
	}
	provider, err := factory(config)
	if err != nil {
		return nil, fmt.Errorf("making load-balancer provider %s: %w", name, err)
	}
	return provider, nil
}

// CheckOptions returns an error for options that a provider does not know.
func CheckOptions(options map[string]string, known ...string) error {
	for name := range options {
		if !slices.Contains(known, name) {
			return fmt.Errorf("there is no option %q: there are %s", name, strings.Join(known, ", "))
		}
	}
	return nil
}
