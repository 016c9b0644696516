package cloudprovider

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
)

// Config is the input of a Factory.
type Config struct {
	// Backends lists ports and backends of each Service.
	Backends Lister
	// Addresses may be used by load balancers, from the hub's flag --lb-addresses: single addresses, prefixes, or
	// ranges with a hyphen. Providers with their own addresses need none.
	Addresses []string
	// Existing are MultiClusterServices of this provider, present or past, whose status has addresses. The provider
	// reserves these addresses before the first call for their owners. The objects are read only.
	Existing []*networkingv1alpha1.MultiClusterService
	// Options are the provider's own, from the hub's flag --lb-option.
	Options map[string]string
	// Report is called with the name of a MultiClusterService whose set of unreachable backends changed. It returns at
	// once and does not call the provider. It is never nil.
	Report func(types.NamespacedName)
	// Log is never nil.
	Log *slog.Logger
}

// Factory creates a provider. It fails only for a wrong configuration. Problems that can pass, such as a server that
// does not answer, are errors of later calls.
type Factory func(Config) (MCSLoadBalancer, error)

// factories is only changed by init functions.
var factories = map[string]Factory{}

// Register adds a provider to the registry. Call it from an init function; it panics when the name is taken.
func Register(name string, factory Factory) {
	if _, taken := factories[name]; taken || name == "" || factory == nil {
		panic(fmt.Sprintf("registering load-balancer provider %q: a provider needs a unique name and a factory", name))
	}
	factories[name] = factory
}

// Names returns the names of the registered providers, sorted.
func Names() []string { return slices.Sorted(maps.Keys(factories)) }

// New creates the provider with that name.
func New(name string, config Config) (MCSLoadBalancer, error) {
	factory := factories[name]
	if factory == nil {
		return nil, fmt.Errorf("unknown load-balancer provider %q: this program supports %s", name, strings.Join(Names(), ", "))
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	if config.Report == nil {
		config.Report = func(types.NamespacedName) {}
	}
	provider, err := factory(config)
	if err != nil {
		return nil, fmt.Errorf("creating load-balancer provider %s: %w", name, err)
	}
	return provider, nil
}

// CheckOptions returns an error for options that a provider does not know.
func CheckOptions(options map[string]string, known ...string) error {
	for name := range options {
		if !slices.Contains(known, name) {
			return fmt.Errorf("unknown option %q: the provider's options are %s", name, strings.Join(known, ", "))
		}
	}
	return nil
}
