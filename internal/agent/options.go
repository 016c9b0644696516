package agent

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/agent/lost"
	"github.com/atoll-mcs/atoll/internal/agent/pace"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/broker/border"
	"github.com/atoll-mcs/atoll/internal/broker/rights"
	"github.com/atoll-mcs/atoll/internal/mcs/metadata"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/refusal"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
)

const (
	// defaultWriteInterval lets a change of a slice reach other clusters within tens of milliseconds, even in a series.
	defaultWriteInterval = 50 * time.Millisecond
	// writeBurst is how many changes of a slice in a row are written at once. Changes come in groups: a pod that ends
	// is first not ready, then gone, and another pod starts.
	writeBurst = 5
	// maxWithdrawalDelay is the longest wait of a change that removes an endpoint from use.
	maxWithdrawalDelay = 50 * time.Millisecond
	// maxWriteInterval guards against a typing error that would stop the clusterset.
	maxWriteInterval = time.Minute

	// defaultServiceGrace exceeds the time in which GitOps tools delete and re-create a Service.
	defaultServiceGrace = 30 * time.Second
	// maxServiceGrace limits how long an import outlives its Service.
	maxServiceGrace = time.Hour

	defaultLeaseTimeout = 40 * time.Second
	// minLeaseTimeout keeps heartbeats from dominating the broker's load.
	minLeaseTimeout = 2 * time.Second
)

// minTokenLifetime is the API's limit.
const minTokenLifetime = 10 * time.Minute

// Options are the settings of an agent.
type Options struct {
	// ClusterID is the cluster's id in the clusterset, if the membership does not contain it.
	ClusterID string
	// Kubeconfig is the file for the agent's own cluster; empty means in-cluster.
	Kubeconfig string
	// BrokerKubeconfig is the file for the broker; empty means the membership in the cluster's Secret.
	BrokerKubeconfig string
	// BrokerNamespace is the clusterset's namespace on the broker, if the membership does not contain it.
	BrokerNamespace string
	// BrokerTokenLifetime is the lifetime of the tokens that the agent requests from the broker.
	BrokerTokenLifetime time.Duration
	// Region is the cluster's region.
	Region string
	// SharedZones is set if zones of the same name are one zone in all member clusters.
	SharedZones bool
	// OmitStandby leaves out endpoints on standby, for node proxies that use them like ready ones.
	OmitStandby bool
	// RefuseImportsFrom are the ids of clusters whose exports no namespace imports, or "*".
	RefuseImportsFrom []string
	// ClosedNamespaces are patterns of more namespaces that are closed to imports.
	ClosedNamespaces []string
	// ServiceMetadata are the keys of exported labels and annotations that derived Services get, as metadata.ParseKeys reads them.
	ServiceMetadata []string
	// PodCIDRs are the cluster's pod ranges.
	PodCIDRs []string
	// ServiceCIDRs are the ranges of the cluster's Services, for API servers without ServiceCIDR objects.
	ServiceCIDRs []string
	// AdvertiseMode selects which addresses the cluster publishes as endpoints; empty means pods.
	AdvertiseMode string
	// MemberBudget is a factor of the default budget for each member's EndpointSlices; 0 means no limit.
	MemberBudget float64
	// WriteInterval is the minimum mean time between writes of one of the cluster's EndpointSlices. The first writes of
	// a series are immediate, and changes that remove an endpoint from use wait only briefly.
	WriteInterval time.Duration
	// ServiceGrace is how long imports of a deleted Service remain while its ServiceExport exists.
	ServiceGrace time.Duration
	// LeaseTimeout is how long a member's heartbeat may be missing before others consider the member lost.
	LeaseTimeout time.Duration
	// LeaderElect lets one of several replicas do the work.
	LeaderElect bool
	// MetricsAddress and HealthAddress are the listen addresses; "0" disables them.
	MetricsAddress, HealthAddress string
	// MetricsTLS serves the metrics by TLS, with a self-signed certificate.
	MetricsTLS bool
	// PprofAddress is the listen address for profiles; "0" or empty disables it.
	PprofAddress string
	// Verbose enables debug logs.
	Verbose bool

	// Local and Broker replace the kubeconfigs if set.
	Local, Broker *rest.Config
	// Dial replaces the network for probes of lost members if set.
	Dial lost.Dial
	// Now replaces this host's clock in data for other members if set.
	Now func() time.Time
}

// AddFlags adds the options to a flag set, with their defaults.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.ClusterID, "cluster-id", "", "id of this cluster, for use with --broker-kubeconfig: one or two DNS labels, at most 63 characters in total")
	flags.StringVar(&o.Kubeconfig, "kubeconfig", "", "kubeconfig file for this cluster; the default is the pod's ServiceAccount")
	flags.StringVar(&o.BrokerKubeconfig, "broker-kubeconfig", "", "kubeconfig file for the broker; the default is the Secret that atoll join stored in the cluster")
	flags.StringVar(&o.BrokerNamespace, "broker-namespace", broker.DefaultNamespace, "the clusterset's namespace on the broker, for use with --broker-kubeconfig")
	flags.DurationVar(&o.BrokerTokenLifetime, "broker-token-lifetime", rights.MaxTokenLifetime, "lifetime of the agent's broker tokens, which the agent renews; a cluster must join again if its token expires before the agent can renew it")
	flags.StringVar(&o.Region, "region", "", "region of this cluster; a Service's trafficDistribution prefers clusters in the same region")
	flags.BoolVar(&o.SharedZones, "shared-zones", false, "for a Service's trafficDistribution, treat zones with the same name in different clusters as the same zone")
	flags.BoolVar(&o.OmitStandby, "omit-standby-endpoints", false, "do not write endpoints on standby. Set this flag for node proxies that treat them as ready endpoints, such as kube-router. A failover then takes longer, because the agent must first write the endpoints")
	flags.StringSliceVar(&o.RefuseImportsFrom, refusal.Flag, nil, "ids of clusters whose exports no namespace imports, or * for all clusters; the annotation "+names.AnnotationRefuseImports+" does the same for one namespace")
	flags.StringSliceVar(&o.ClosedNamespaces, refusal.ClosedFlag, nil, "more namespaces that are closed to imports, besides default, kube-*, atoll-system, atoll-hub and openshift-*: names, in which * stands for any text, for example *-system. The label "+names.LabelExports+"="+names.ExportsAllowed+" opens a namespace for imports")
	flags.StringSliceVar(&o.ServiceMetadata, "derived-service-metadata", nil, "keys of exported labels and annotations that derived Services get, for example app.kubernetes.io/name or example.org/*; * for all keys. Controllers of this cluster may act on these labels and annotations. The annotation "+names.AnnotationServiceMetadata+" adds keys for one namespace")
	flags.StringSliceVar(&o.PodCIDRs, "pod-cidr", nil, "pod CIDR of this cluster; may be repeated; the default is the nodes' spec.podCIDRs")
	flags.StringSliceVar(&o.ServiceCIDRs, "service-cidr", nil, "Service CIDR of this cluster, as in the API server's --service-cluster-ip-range; may be repeated, once per IP family. Kubernetes 1.33 and later publish the ranges, so the flag is not used there")
	flags.StringVar(&o.AdvertiseMode, "advertise-mode", string(brokerv1alpha1.AdvertisePods), "addresses that other clusters send traffic to: \"pods\", or \"cluster-ip\" if other clusters can reach only this cluster's Service addresses")
	flags.Float64Var(&o.MemberBudget, "member-budget", 1, fmt.Sprintf("limit on the EndpointSlices of one member that the agent keeps in memory, as a multiple of %d endpoints, %d per namespace, and %d MiB of memory; the agent does not import slices beyond the budget; 0 for no limit",
		border.DefaultLimits.Endpoints, border.DefaultLimits.InNamespace, border.DefaultLimits.Bytes>>20))
	flags.DurationVar(&o.WriteInterval, "slice-write-interval", defaultWriteInterval, fmt.Sprintf("average interval between writes of one exported EndpointSlice. Up to %d changes in a burst are written without delay, and the removal of an endpoint waits at most %v. 0 disables this rate limit", writeBurst, maxWithdrawalDelay))
	flags.DurationVar(&o.ServiceGrace, "service-grace", defaultServiceGrace, "time for which an import is kept, without endpoints, after its Service was deleted but its ServiceExport was not. If the Service is created again within this time, the clusterset IP does not change")
	flags.DurationVar(&o.LeaseTimeout, "lease-timeout", defaultLeaseTimeout, "time after which the heartbeat of a member is missing. Other members then probe its endpoints, and withdraw them if none answers. The value must be the same on all members")
	flags.BoolVar(&o.LeaderElect, "leader-elect", true, "elect one active replica; the other replicas are on standby")
	flags.StringVar(&o.MetricsAddress, "metrics-bind-address", ":8080", "address for /metrics; 0 disables the endpoint")
	flags.BoolVar(&o.MetricsTLS, "metrics-tls", false, "serve /metrics over TLS with a self-signed certificate that changes at each start")
	flags.StringVar(&o.HealthAddress, "health-probe-bind-address", ":8081", "address for /healthz and /readyz; 0 disables the endpoints")
	flags.StringVar(&o.PprofAddress, "pprof-bind-address", "0", "address for CPU and memory profiles at /debug/pprof, without authentication; 0 disables the endpoint")
	flags.BoolVarP(&o.Verbose, "verbose", "v", false, "log more details")
}

// Validate returns the first invalid option as an error that names the fix.
func (o *Options) Validate() error {
	if err := o.validateBroker(); err != nil {
		return err
	}
	if _, err := validation.ParseNetwork(o.ServiceCIDRs, nil); err != nil {
		return fmt.Errorf("--service-cidr: %w", err)
	}
	if _, err := validation.ParseNetwork(nil, o.PodCIDRs); err != nil {
		return fmt.Errorf("--pod-cidr: %w", err)
	}
	if _, err := o.refuses(); err != nil {
		return fmt.Errorf("--%s: %w", refusal.Flag, err)
	}
	if err := refusal.ParseClosed(o.ClosedNamespaces); err != nil {
		return fmt.Errorf("--%s: %w", refusal.ClosedFlag, err)
	}
	if _, err := o.serviceMetadata(); err != nil {
		return fmt.Errorf("--derived-service-metadata: %w", err)
	}
	switch o.mode() {
	case brokerv1alpha1.AdvertisePods, brokerv1alpha1.AdvertiseClusterIP:
	default:
		return fmt.Errorf("--advertise-mode: %q is neither %q nor %q: choose %[2]q if pods of other clusters can reach this cluster's pods, or %[3]q if they can reach only this cluster's Service addresses",
			o.AdvertiseMode, brokerv1alpha1.AdvertisePods, brokerv1alpha1.AdvertiseClusterIP)
	}
	if o.MemberBudget < 0 {
		return fmt.Errorf("--member-budget: %g is negative; use 0 for no limit", o.MemberBudget)
	}
	if o.WriteInterval < 0 || o.WriteInterval > maxWriteInterval {
		return fmt.Errorf("--slice-write-interval: %v is not between 0 and %v", o.WriteInterval, maxWriteInterval)
	}
	if o.ServiceGrace < 0 || o.ServiceGrace > maxServiceGrace {
		return fmt.Errorf("--service-grace: %v is not between 0 and %v", o.ServiceGrace, maxServiceGrace)
	}
	if o.LeaseTimeout < minLeaseTimeout {
		return fmt.Errorf("--lease-timeout: %v is less than %v", o.LeaseTimeout, minLeaseTimeout)
	}
	return nil
}

// validateBroker checks the options that select the broker and the membership.
func (o *Options) validateBroker() error {
	if o.BrokerKubeconfig == "" && o.Broker == nil {
		if o.ClusterID != "" {
			return errors.New("--cluster-id: set this flag only together with --broker-kubeconfig; otherwise the agent uses the cluster id that atoll join stored in the cluster")
		}
		if o.BrokerTokenLifetime < minTokenLifetime || o.BrokerTokenLifetime > rights.MaxTokenLifetime {
			return fmt.Errorf("--broker-token-lifetime: %v is not between %v and %v", o.BrokerTokenLifetime, minTokenLifetime, rights.MaxTokenLifetime)
		}
		return nil
	}
	if _, err := names.ParseClusterID(o.ClusterID); err != nil {
		return fmt.Errorf("--cluster-id: %w", err)
	}
	if o.BrokerNamespace == "" {
		return errors.New("--broker-namespace: set the clusterset's namespace on the broker")
	}
	return nil
}

func (o *Options) mode() brokerv1alpha1.AdvertiseMode {
	return cmp.Or(brokerv1alpha1.AdvertiseMode(o.AdvertiseMode), brokerv1alpha1.AdvertisePods)
}

func (o *Options) refuses() (refusal.Clusters, error) {
	if len(o.RefuseImportsFrom) == 0 {
		return refusal.Clusters{}, nil
	}
	return refusal.Parse(strings.Join(o.RefuseImportsFrom, ","))
}

func (o *Options) serviceMetadata() (metadata.Keys, error) {
	return metadata.ParseKeys(strings.Join(o.ServiceMetadata, ","))
}

func (o *Options) now() func() time.Time {
	if o.Now != nil {
		return o.Now
	}
	return time.Now
}

// budget returns the limit in bytes for one member's EndpointSlices, 0 for none.
func (o *Options) budget() border.Limits { return border.LimitsOf(o.MemberBudget) }

func (o *Options) pace() pace.Limits {
	return pace.Limits{Interval: o.WriteInterval, Burst: writeBurst, Withdrawals: maxWithdrawalDelay}
}
