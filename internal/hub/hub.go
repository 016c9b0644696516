package hub

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/border"
	"github.com/atoll-mcs/atoll/internal/broker/view"
	"github.com/atoll-mcs/atoll/internal/hub/loadbalancer"
	"github.com/atoll-mcs/atoll/internal/hub/servicepolicy"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/kit/lifecycle"
	"github.com/atoll-mcs/atoll/internal/kit/metrics"
	"github.com/atoll-mcs/atoll/internal/kit/version"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
)

// leaderElectionID is the Lease of the leader election.
const leaderElectionID = "atoll-hub.atoll.dev"

// Run runs a hub until ctx is done. It waits for an API server that is away and for objects that are missing there.
func Run(ctx context.Context, options Options, log *slog.Logger) error {
	if err := options.Validate(); err != nil {
		return err
	}
	p := &process{options: options, log: log, logger: logr.FromSlogHandler(log.Handler()), health: &lifecycle.Health{
		Waiting: "the hub is waiting for the broker's API server or for the clusterset: see the hub's log",
	}}
	ctrl.SetLogger(p.logger)
	if options.Config == nil {
		klog.SetLogger(p.logger) // client-go's logs; with Config set, the process may have other programs and sets the logger itself
	}
	var err error
	if p.providers, err = loadbalancer.NewProviders(options.Provider, options.Addresses, options.ProviderOptions, log); err != nil {
		return err
	}
	if p.config, err = lifecycle.Config(options.Config, options.Kubeconfig); err != nil {
		return fmt.Errorf("configuring the client for the broker: %w", err)
	}
	if p.identity, err = lifecycle.NewIdentity(); err != nil {
		return err
	}
	p.published = loadbalancer.NewPublished(options.Clusterset, options.budget())
	p.config = rest.CopyConfig(p.config)
	p.config.QPS = -1 // rely on the API server's priority and fairness instead
	if err := p.health.Serve(ctx, options.HealthAddress); err != nil {
		return err
	}
	defer p.providers.Serve(ctrlmetrics.Registry)()
	metrics.ServeBuild(ctrlmetrics.Registry, "atoll-hub", version.String())
	log.Info("Starting the hub", "version", version.String(), "broker", p.config.Host, "clusterset", options.Clusterset)
	lifecycle.Terms(ctx, log, "checking for the clusterset and its CustomResourceDefinitions", p.served, p.term)
	if err := p.providers.Close(); err != nil {
		log.Error("Failed to stop the load balancers", "error", err)
	}
	return nil
}

// process is a running hub.
type process struct {
	options Options
	log     *slog.Logger
	logger  logr.Logger
	config  *rest.Config
	health  *lifecycle.Health
	// identity is this replica's name in the election.
	identity string
	leading  atomic.Bool
	failed   servicepolicy.Failed
	// published are the members' published objects. They outlive a term, as providers do.
	published *loadbalancer.Published
	// providers carry the load balancers' traffic across terms, until another replica leads.
	providers *loadbalancer.Providers
}

// term runs the controllers until they stop or ctx is done.
func (p *process) term(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	accepts := p.published.Border()
	mgr, err := p.newManager(ctx, accepts)
	if err != nil {
		return err
	}
	// On each replica, so that the budget is right when it leads.
	free := unelected(func(ctx context.Context) error {
		return kit.Follow(ctx, mgr.GetCache(), &discoveryv1.EndpointSlice{}, accepts.ForgetDeleted)
	})
	own, nodes, err := p.readOwnCluster(ctx)
	if err != nil {
		return err
	}
	hosts, err := loadbalancer.ReadHosts(ctx, mgr.GetAPIReader(), p.config, p.options.nodes(), own, p.log)
	if err != nil {
		return err
	}
	comparer := &servicepolicy.Comparer{Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Clusterset: p.options.Clusterset, Failed: &p.failed, Log: p.log}
	known := p.published.Read(accepts, mgr.GetAPIReader())
	follow := func(ctx context.Context) error {
		if nodes != nil { // before the backends are known
			if err := own.Follow(ctx, nodes); err != nil {
				return err
			}
		}
		return p.published.Follow(ctx, mgr.GetCache())
	}
	runnables := []manager.Runnable{p.health.Started(), manager.RunnableFunc(p.lead), manager.RunnableFunc(follow), free, hosts, comparer}
	if nodes != nil {
		runnables = append(runnables, nodes)
	}
	for _, runnable := range runnables {
		if err := mgr.Add(runnable); err != nil {
			return fmt.Errorf("adding to the manager: %w", err)
		}
	}
	list, err := p.controllers(mgr, accepts, hosts, known)
	if err != nil {
		return err
	}
	for _, each := range list {
		if err := mgr.Add(each); err != nil {
			return fmt.Errorf("adding a controller to the manager: %w", err)
		}
	}
	if p.options.LeaderElect {
		lifecycle.NoteElection(ctx, p.log, mgr)
	}
	return mgr.Start(ctx)
}

// readOwnCluster returns the hub's cluster, and a cache with its nodes; nil outside a cluster.
func (p *process) readOwnCluster(ctx context.Context) (own *loadbalancer.OwnCluster, nodes cache.Cache, err error) {
	flags, err := validation.ParseNetwork(p.options.ServiceCIDRs, p.options.PodCIDRs)
	if err != nil {
		return nil, nil, err
	}
	config, err := rest.InClusterConfig()
	var reader client.Reader
	switch {
	case p.options.Config != nil || errors.Is(err, rest.ErrNotInCluster):
	case err != nil:
		return nil, nil, fmt.Errorf("configuring the client for the hub's cluster: %w", err)
	default:
		if reader, err = client.New(config, client.Options{Scheme: scheme()}); err != nil {
			return nil, nil, fmt.Errorf("creating a client for the hub's cluster: %w", err)
		}
		options := cache.Options{Scheme: scheme(), ByObject: map[client.Object]cache.ByObject{&corev1.Node{}: {Transform: loadbalancer.StripNode}}}
		if nodes, err = cache.New(config, options); err != nil {
			return nil, nil, fmt.Errorf("creating a cache of the nodes of the hub's cluster: %w", err)
		}
	}
	own, err = loadbalancer.ReadOwnCluster(ctx, reader, flags, p.log)
	return own, nodes, err
}

// unelected runs on each replica.
type unelected func(context.Context) error

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (unelected) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (f unelected) Start(ctx context.Context) error { return f(ctx) }

// lead runs while this replica leads. It reads the members' counters, which are in their Leases, every 10 s. By default,
// members write them every 5 s.
func (p *process) lead(ctx context.Context) error {
	p.leading.Store(true)
	defer p.leading.Store(false)
	wait.JitterUntilWithContext(ctx, func(ctx context.Context) {
		if err := p.published.Observe(ctx); err != nil {
			p.log.Warn("Failed to read the members' Leases. The hub retries", "error", err)
		}
	}, 10*time.Second, 0.1, true)
	return nil
}

// otherLeads closes the load balancers when another replica leads. It does nothing while this replica still considers
// itself the leader, because it may get the lease back.
func (p *process) otherLeads() {
	if !p.leading.Load() {
		p.published.View.Forget()
		p.providers.StandDown()
	}
}

// controllers creates all controllers. Only the leader runs them.
func (p *process) controllers(mgr ctrl.Manager, accepts *border.Border, hosts *loadbalancer.Hosts, known <-chan struct{}) (all []manager.Runnable, err error) {
	c, live, cache, clusterset := mgr.GetClient(), mgr.GetAPIReader(), mgr.GetCache(), p.options.Clusterset
	recorder := mgr.GetEventRecorder("atoll-hub")
	add := func(one manager.Runnable, e error) { all, err = append(all, one), errors.Join(err, e) }
	add(servicepolicy.New(c, live, cache, clusterset, accepts, p.published.View, known, &p.published.Changes, &p.failed, recorder))
	add(loadbalancer.New(c, cache, p.published, known, hosts, p.providers, recorder,
		loadbalancer.Options{Abandon: p.options.AbandonAfter, AllowUnsetRanges: p.options.AllowUnsetRanges}))
	add(p.published.View.Reader(view.Connection{Live: live, Border: accepts}))
	return all, err
}

// served checks that the API server serves the kinds that the controllers watch.
func (p *process) served(ctx context.Context) error {
	c, err := client.New(p.config, client.Options{Scheme: scheme()})
	if err != nil {
		return fmt.Errorf("creating a client for the broker: %w", err)
	}
	if err := c.List(ctx, &networkingv1alpha1.MultiClusterServiceList{}, client.Limit(1)); err != nil {
		return fmt.Errorf("listing MultiClusterServices: %w", err)
	}
	if err := c.List(ctx, &brokerv1alpha1.MemberClusterList{}, client.InNamespace(p.options.Clusterset), client.Limit(1)); err != nil {
		return fmt.Errorf("listing the members: %w", err)
	}
	return nil
}

// scheme has the API types that a hub uses.
func scheme() *runtime.Scheme {
	return lifecycle.Scheme(clientgoscheme.AddToScheme, brokerv1alpha1.AddToScheme, networkingv1alpha1.AddToScheme)
}

// newManager returns a manager with the caches of Caches.
func (p *process) newManager(ctx context.Context, accepts *border.Border) (manager.Manager, error) {
	lease, err := lifecycle.ObservedLock(p.config, names.HubNamespace, leaderElectionID, p.identity, p.otherLeads)
	if err != nil {
		return nil, err
	}
	options := lifecycle.Options(ctx, ctrl.Options{
		Scheme:                              scheme(),
		Logger:                              p.logger,
		LeaderElection:                      p.options.LeaderElect,
		LeaderElectionResourceLockInterface: lease,
		Metrics:                             metricsserver.Options{BindAddress: p.options.MetricsAddress, SecureServing: p.options.MetricsTLS},
		PprofBindAddress:                    p.options.PprofAddress,
		Cache:                               cache.Options{ByObject: Caches(p.options.Clusterset, accepts)},
	})
	mgr, err := ctrl.NewManager(p.config, options)
	if err != nil {
		return nil, fmt.Errorf("creating the manager for the broker: %w", err)
	}
	return mgr, nil
}

// Caches configures a hub's cache: MultiClusterServices and Services of all namespaces, and the members' objects in
// the clusterset that the border accepts.
func Caches(clusterset string, accepts *border.Border) map[client.Object]cache.ByObject {
	// Selectors, because a cache of namespaces leaks goroutines if it ends before it has synced (controller-runtime v0.25.2).
	in := fields.OneTermEqualSelector("metadata.namespace", clusterset)
	members := cache.ByObject{Field: in, Transform: accepts.Transform}
	return map[client.Object]cache.ByObject{
		&corev1.Service{}:                 {Transform: kit.StripService},
		&brokerv1alpha1.ExportedService{}: members,
		&brokerv1alpha1.MemberCluster{}:   members,
		&discoveryv1.EndpointSlice{}: {
			Field: in, Transform: accepts.Transform, Label: labels.SelectorFromSet(labels.Set{discoveryv1.LabelManagedBy: names.AgentManager}),
		},
		&brokerv1alpha1.ServicePolicy{}: {Field: in},
		&corev1.ConfigMap{}:             {Field: fields.AndSelectors(in, fields.OneTermEqualSelector("metadata.name", names.MemberPermissions))},
	}
}
