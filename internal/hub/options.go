package hub

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"github.com/atoll-mcs/atoll/cloudprovider"
	"github.com/atoll-mcs/atoll/cloudprovider/embedded"
	_ "github.com/atoll-mcs/atoll/cloudprovider/haproxy" // registers itself
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/broker/border"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
)

// Options are the settings of a hub.
type Options struct {
	// Kubeconfig is the file for the broker's API server, which also has the MultiClusterServices; empty inside that
	// cluster.
	Kubeconfig string
	// Clusterset is the namespace of the clusterset on the broker.
	Clusterset string
	// LeaderElect makes only one of several replicas active.
	LeaderElect bool
	// MetricsAddress and HealthAddress are listening addresses; "0" disables them.
	MetricsAddress, HealthAddress string
	// MetricsTLS serves the metrics over TLS with a self-signed certificate.
	MetricsTLS bool
	// PprofAddress serves profiles of the running hub; "0" or empty disables it.
	PprofAddress string
	// Provider is the default provider of load balancers.
	Provider string
	// Addresses and ProviderOptions configure the providers, in the form of loadbalancer.NewProviders.
	Addresses, ProviderOptions []string
	// NodeAddresses are the addresses of the hub pod's node. No backend may have one.
	NodeAddresses []string
	// PodCIDRs and ServiceCIDRs are address ranges of the hub's cluster. Other members' backends may not
	// have addresses there.
	PodCIDRs, ServiceCIDRs []string
	// AllowUnsetRanges allows backends of members for which the broker permits no address ranges.
	AllowUnsetRanges bool
	// AbandonAfter is how long a failing deletion of a load balancer blocks the deletion of its MultiClusterService.
	AbandonAfter time.Duration
	// MemberBudget is a factor on the default budget for one member's EndpointSlices; 0 is unlimited.
	MemberBudget float64
	// Verbose enables detailed logs.
	Verbose bool

	// Config replaces the kubeconfig if it is set.
	Config *rest.Config
}

// AddFlags adds the options as flags with their defaults.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Kubeconfig, "kubeconfig", "", "kubeconfig file for the broker's API server; the default is the pod's ServiceAccount")
	flags.StringVar(&o.Clusterset, "clusterset", broker.DefaultNamespace, "namespace of the clusterset on the broker")
	flags.BoolVar(&o.LeaderElect, "leader-elect", true, "elect one active replica; the other replicas are on standby")
	flags.StringVar(&o.MetricsAddress, "metrics-bind-address", ":8080", "address for /metrics; 0 disables the endpoint")
	flags.BoolVar(&o.MetricsTLS, "metrics-tls", false, "serve /metrics over TLS with a self-signed certificate that changes at each start")
	flags.StringVar(&o.HealthAddress, "health-probe-bind-address", ":8081", "address for /healthz and /readyz; 0 disables the endpoints")
	flags.StringVar(&o.PprofAddress, "pprof-bind-address", "0", "address for CPU and memory profiles at /debug/pprof, without authentication; 0 disables the endpoint")
	flags.StringVar(&o.Provider, "lb-provider", embedded.Name, "default provider of load balancers: "+strings.Join(cloudprovider.Names(), ", "))
	flags.StringArrayVar(&o.Addresses, "lb-addresses", nil, "addresses for load balancers, such as 192.0.2.10, 192.0.2.0/28 or 192.0.2.10-192.0.2.20; the prefix PROVIDER= selects a provider other than the default; may be repeated")
	flags.StringArrayVar(&o.ProviderOptions, "lb-option", nil, "option of a provider, in the form [PROVIDER.]NAME=VALUE; may be repeated")
	flags.StringSliceVar(&o.NodeAddresses, "node-addresses", nil, "addresses of this pod's node, which load balancers refuse as backends; load balancers always refuse the addresses of this machine's interfaces and of the API server")
	flags.StringSliceVar(&o.PodCIDRs, "pod-cidr", nil, "pod CIDR of the hub's cluster; load balancers refuse other clusters' backends in this range; may be repeated; the default is the nodes' spec.podCIDRs")
	flags.StringSliceVar(&o.ServiceCIDRs, "service-cidr", nil, "Service CIDR of the hub's cluster; load balancers refuse other clusters' backends in this range; may be repeated; Kubernetes 1.33 and later publish the ranges")
	flags.BoolVar(&o.AllowUnsetRanges, "lb-allow-unset-ranges", false, "let load balancers use endpoints of clusters without address ranges on the broker (atoll broker members set CLUSTER --ranges); such a cluster can publish any address that the hub reaches")
	flags.DurationVar(&o.AbandonAfter, "lb-abandon-after", 5*time.Minute, "time after which a MultiClusterService is deleted even if its load balancer cannot be deleted")
	flags.Float64Var(&o.MemberBudget, "member-budget", 1, fmt.Sprintf("limit on the EndpointSlices of one member that the hub keeps in memory, as a multiple of %d endpoints, %d per namespace, and %d MiB of memory; the hub ignores slices beyond the budget; 0 for no limit",
		border.DefaultLimits.Endpoints, border.DefaultLimits.InNamespace, border.DefaultLimits.Bytes>>20))
	flags.BoolVarP(&o.Verbose, "verbose", "v", false, "log more details")
}

// Validate checks the options. Its error describes the first invalid one and the fix.
func (o *Options) Validate() error {
	if o.Clusterset == "" {
		return errors.New("--clusterset: set the clusterset's namespace on the broker")
	}
	if o.MemberBudget < 0 {
		return fmt.Errorf("--member-budget: %g is negative; use 0 for no limit", o.MemberBudget)
	}
	for _, text := range o.NodeAddresses {
		if _, err := netip.ParseAddr(text); err != nil {
			return fmt.Errorf("--node-addresses: %q is not an IP address: %w", text, err)
		}
	}
	if _, err := validation.ParseNetwork(o.ServiceCIDRs, nil); err != nil {
		return fmt.Errorf("--service-cidr: %w", err)
	}
	if _, err := validation.ParseNetwork(nil, o.PodCIDRs); err != nil {
		return fmt.Errorf("--pod-cidr: %w", err)
	}
	return nil
}

// nodes returns the NodeAddresses. Validate must have checked them.
func (o *Options) nodes() (addresses []netip.Addr) {
	for _, text := range o.NodeAddresses {
		addresses = append(addresses, netip.MustParseAddr(text))
	}
	return addresses
}

func (o *Options) budget() border.Limits { return border.LimitsOf(o.MemberBudget) }
