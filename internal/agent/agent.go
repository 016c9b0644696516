package agent

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/controllers"
	"github.com/atoll-mcs/atoll/internal/controllers/aggregate"
	"github.com/atoll-mcs/atoll/internal/controllers/conflict"
	"github.com/atoll-mcs/atoll/internal/controllers/derivedservice"
	"github.com/atoll-mcs/atoll/internal/controllers/exportedslice"
	"github.com/atoll-mcs/atoll/internal/controllers/importedslice"
	"github.com/atoll-mcs/atoll/internal/controllers/interest"
	"github.com/atoll-mcs/atoll/internal/controllers/member"
	"github.com/atoll-mcs/atoll/internal/controllers/serviceexport"
	"github.com/atoll-mcs/atoll/internal/controllers/serviceimport"
	"github.com/atoll-mcs/atoll/internal/local"
	"github.com/atoll-mcs/atoll/internal/names"
	"github.com/atoll-mcs/atoll/internal/sliceplan"
	"github.com/atoll-mcs/atoll/internal/status"
	"github.com/atoll-mcs/atoll/internal/version"
)

// leaderElectionID names the Lease by which the replicas elect a leader.
const leaderElectionID = "atoll-agent.atoll.dev"

// Run runs an agent until ctx is done.
func Run(ctx context.Context, options Options, log *slog.Logger) error {
	if err := options.Validate(); err != nil {
		return err
	}
	cluster := names.ClusterID(options.ClusterID)
	log = log.With("cluster", options.ClusterID)
	logger := logr.FromSlogHandler(log.Handler())
	ctrl.SetLogger(logger)
	if options.Local == nil {
		klog.SetLogger(logger) // client-go's messages; a process of several agents decides about them itself
	}

	localConfig, err := loadConfig(options.Local, options.Kubeconfig)
	if err != nil {
		return fmt.Errorf("configuring the client for this cluster: %w", err)
	}
	brokerConfig, err := loadConfig(options.Broker, options.BrokerKubeconfig)
	if err != nil {
		return fmt.Errorf("configuring the client for the broker: %w", err)
	}
	mgr, err := newManager(ctx, localConfig, options, logger)
	if err != nil {
		return err
	}
	brokerClient, err := broker.Connect(brokerConfig)
	if err != nil {
		return err
	}
	facts, network, err := describe(ctx, mgr, options)
	if err != nil {
		return err
	}
	view := broker.NewView(brokerClient, options.BrokerNamespace, cluster)
	heartbeats := broker.NewHeartbeats(brokerClient, options.BrokerNamespace, cluster, options.LeaseTimeout)
	hostname, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("reading this replica's host name: %w", err)
	}
	membership := member.NewController(brokerClient, options.BrokerNamespace, facts, hostname, options.LeaseTimeout, log)
	if err := membership.Refused(ctx); err != nil {
		return err
	}
	for _, runnable := range []manager.Runnable{
		view,
		heartbeats,
		interest.NewController(mgr.GetCache(), view),
		membership,
	} {
		if err := mgr.Add(runnable); err != nil {
			return fmt.Errorf("adding to the manager: %w", err)
		}
	}
	own, err := sliceplan.ParseNetwork(network.CIDRs, options.PodCIDRs)
	if err != nil {
		return fmt.Errorf("reading this cluster's ranges of addresses: %w", err)
	}
	for _, c := range controllerList(mgr, view, heartbeats, network, own, options) {
		if err := c.Register(mgr); err != nil {
			return fmt.Errorf("registering controller %s: %w", c.Name(), err)
		}
	}
	log.Info("starting", "version", version.String(), "broker", brokerConfig.Host, "clusterset", options.BrokerNamespace)
	return mgr.Start(ctx)
}

// controller is what all controllers have in common.
type controller interface {
	Name() string
	Register(ctrl.Manager) error
}

// controllerList is the list of all controllers that only the leader runs, each with the
// one output that it owns.
func controllerList(mgr ctrl.Manager, view *broker.View, heartbeats *broker.Heartbeats, network local.ServiceNetwork, own sliceplan.Network, options Options) []controller {
	c := mgr.GetClient()
	writer := controllers.Writer{Client: c, Reader: mgr.GetAPIReader()}
	recorder := mgr.GetEventRecorder("atoll-agent")
	self := local.Cluster{ID: view.Self, Network: network}
	// What the controllers of endpoints tell those that own the condition Ready.
	published, imported := &status.Outcomes[types.NamespacedName]{}, &status.Outcomes[local.Part]{}
	return []controller{
		serviceexport.NewController(c, mgr.GetAPIReader(), view, self, recorder, published),
		exportedslice.NewController(c, view, self, published, options.mode(), options.MaxEndpointsPerSlice),
		conflict.NewController(c, view, self, recorder),
		serviceimport.NewController(writer, view, self, recorder),
		derivedservice.NewController(writer, self, recorder, imported),
		importedslice.NewController(writer, view, self, recorder, imported, options.MaxEndpointsPerSlice,
			importedslice.Locality{Region: options.Region, SharedZones: options.SharedZones}, own),
		aggregate.NewController(view, heartbeats),
	}
}

func loadConfig(given *rest.Config, kubeconfig string) (*rest.Config, error) {
	if given != nil {
		return given, nil
	}
	if kubeconfig == "" {
		return rest.InClusterConfig()
	}
	return clientcmd.BuildConfigFromFlags("", kubeconfig)
}

func newManager(ctx context.Context, localConfig *rest.Config, options Options, logger logr.Logger) (manager.Manager, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, mcsv1beta1.Install} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("registering kinds: %w", err)
		}
	}
	localConfig = rest.CopyConfig(localConfig)
	localConfig.QPS = -1 // the API server's priority and fairness limits, not the client
	mgr, err := ctrl.NewManager(localConfig, ctrl.Options{
		Scheme:                        scheme,
		Logger:                        logger,
		LeaderElection:                options.LeaderElect,
		LeaderElectionID:              leaderElectionID,
		LeaderElectionNamespace:       Namespace,
		LeaderElectionReleaseOnCancel: true,
		Metrics:                       metricsserver.Options{BindAddress: options.MetricsAddress},
		HealthProbeBindAddress:        options.HealthAddress,
		PprofBindAddress:              options.PprofAddress,
		Cache: cache.Options{
			DefaultTransform: cache.TransformStripManagedFields(),
			ByObject:         map[client.Object]cache.ByObject{&corev1.Node{}: {Transform: local.StripNode}},
		},
		// Several agents in one process, as in tests, have controllers of the same names.
		Controller: config.Controller{SkipNameValidation: new(options.Local != nil)},
	})
	if err != nil {
		return nil, fmt.Errorf("making the manager for this cluster: %w", err)
	}
	if err := mgr.GetFieldIndexer().IndexField(ctx, &discoveryv1.EndpointSlice{}, local.SliceIndex, local.IndexSlice); err != nil {
		return nil, fmt.Errorf("indexing EndpointSlices: %w", err)
	}
	for name, check := range map[string]func(string, healthz.Checker) error{"healthz": mgr.AddHealthzCheck, "readyz": mgr.AddReadyzCheck} {
		if err := check("ping", healthz.Ping); err != nil {
			return nil, fmt.Errorf("adding the %s check: %w", name, err)
		}
	}
	return mgr, nil
}

// describe reads what the agent tells the other members of its cluster.
func describe(ctx context.Context, mgr manager.Manager, options Options) (brokerv1alpha1.MemberClusterSpec, local.ServiceNetwork, error) {
	reader := mgr.GetAPIReader()
	network, err := local.ReadServiceNetwork(ctx, reader)
	if err != nil {
		return brokerv1alpha1.MemberClusterSpec{}, network, err
	}
	kubeSystem := &corev1.Namespace{}
	if err := reader.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, kubeSystem); err != nil {
		return brokerv1alpha1.MemberClusterSpec{}, network, fmt.Errorf("reading the cluster's UID: %w", err)
	}
	discoveryClient, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return brokerv1alpha1.MemberClusterSpec{}, network, fmt.Errorf("making a discovery client: %w", err)
	}
	server, err := discoveryClient.ServerVersion()
	if err != nil {
		return brokerv1alpha1.MemberClusterSpec{}, network, fmt.Errorf("reading the API server's version: %w", err)
	}
	return brokerv1alpha1.MemberClusterSpec{
		ClusterID:         options.ClusterID,
		ClusterUID:        string(kubeSystem.UID),
		KubernetesVersion: server.GitVersion,
		AgentVersion:      version.String(),
		Region:            options.Region,
		PodCIDRs:          options.PodCIDRs,
		ServiceCIDRs:      network.CIDRs,
		IPFamilies:        network.Families,
		AdvertiseMode:     options.mode(),
	}, network, nil
}
