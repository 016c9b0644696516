package agent

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/go-logr/logr"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/agent/core"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/controllers"
	"github.com/atoll-mcs/atoll/internal/controllers/aggregate"
	"github.com/atoll-mcs/atoll/internal/controllers/derivedservice"
	"github.com/atoll-mcs/atoll/internal/controllers/exportedslice"
	"github.com/atoll-mcs/atoll/internal/controllers/exportstatus"
	"github.com/atoll-mcs/atoll/internal/controllers/hosts"
	"github.com/atoll-mcs/atoll/internal/controllers/importedslice"
	"github.com/atoll-mcs/atoll/internal/controllers/importstatus"
	"github.com/atoll-mcs/atoll/internal/controllers/interest"
	"github.com/atoll-mcs/atoll/internal/controllers/memory"
	"github.com/atoll-mcs/atoll/internal/controllers/policyexport"
	"github.com/atoll-mcs/atoll/internal/controllers/publication"
	"github.com/atoll-mcs/atoll/internal/controllers/serviceexport"
	"github.com/atoll-mcs/atoll/internal/controllers/serviceimport"
	"github.com/atoll-mcs/atoll/internal/controllers/withdrawal"
	"github.com/atoll-mcs/atoll/internal/lifecycle"
	"github.com/atoll-mcs/atoll/internal/local"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
	"github.com/atoll-mcs/atoll/internal/metrics"
	"github.com/atoll-mcs/atoll/internal/staleness"
	"github.com/atoll-mcs/atoll/internal/status"
	"github.com/atoll-mcs/atoll/internal/urgency"
	"github.com/atoll-mcs/atoll/internal/version"
)

// leaderElectionID names the Lease by which the replicas elect a leader.
const leaderElectionID = "atoll-agent.atoll.dev"

// waiting is what a probe is told of an agent that is not ready.
const waiting = "the agent waits for its cluster or to be joined: see its log"

// Run runs an agent until ctx is done. What it can't do just now, because an API server is
// away or something is missing there, it waits for.
func Run(ctx context.Context, options Options, log *slog.Logger) error {
	if err := options.Validate(); err != nil {
		return err
	}
	metrics.ServeBuild(ctrlmetrics.Registry, "atoll-agent", version.String())
	p := &process{options: options, log: log, logger: logr.FromSlogHandler(log.Handler()), health: &lifecycle.Health{Waiting: waiting}, traffic: metrics.NewTraffic(), gate: &urgency.Gate{}}
	ctrl.SetLogger(p.logger)
	if options.Local == nil {
		klog.SetLogger(p.logger) // client-go's messages; a process of several agents decides about them itself
	}
	var err error
	if p.local, err = lifecycle.Config(options.Local, options.Kubeconfig); err != nil {
		return fmt.Errorf("configuring the client for this cluster: %w", err)
	}
	p.local = rest.CopyConfig(p.local)
	p.local.QPS = -1 // the API server's priority and fairness limits, not the client
	p.local.Wrap(p.gate.Transport(urgency.Local))
	if err := p.health.Serve(ctx, options.HealthAddress); err != nil {
		return err
	}
	return p.run(ctx)
}

// term runs the controllers until they end by themselves, or ctx is done.
func (s *session) term(ctx context.Context, log *slog.Logger) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	caches := core.CacheOptions()
	caches.ByObject[&discoveryv1.EndpointSlice{}] = cache.ByObject{Label: local.Imported()} // local.Sources has the own ones
	mgr, err := s.newManager(ctx, caches)
	if err != nil {
		return err
	}
	if err := mgr.GetFieldIndexer().IndexField(ctx, &discoveryv1.EndpointSlice{}, local.SliceIndex, local.IndexSlice); err != nil {
		return fmt.Errorf("indexing EndpointSlices: %w", err)
	}
	localClient, err := client.NewWithWatch(mgr.GetConfig(), client.Options{HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return fmt.Errorf("making a client for this cluster: %w", err)
	}
	sources := local.NewSources(localClient)
	view := broker.NewView(s.broker, s.epoch)
	view.Limit(s.options.MaxServicesPerMember, func() map[names.ClusterID][]types.NamespacedName {
		imported, _ := local.ImportedServices(ctx, mgr.GetClient()) // fails when ctx is done
		return imported
	})
	heartbeats := broker.NewHeartbeats(s.broker, s.epoch, s.options.LeaseTimeout)
	withdrawn := staleness.NewSet()
	s.epoch.SetWithdrawn(func(id names.ClusterID) bool { return withdrawn.Has(id.String()) })
	withdrawn.OnChange(func(string) { s.epoch.WithdrawnChanged() })
	for _, runnable := range []manager.Runnable{
		view,
		heartbeats,
		sources,
		interest.NewController(mgr.GetCache(), view),
		interest.NewExports(mgr.GetCache(), sources),
		s.health.Started(),
		manager.RunnableFunc(s.lead),
		manager.RunnableFunc(s.sayOverBudgetOf(view)),
	} {
		if err := mgr.Add(runnable); err != nil {
			return fmt.Errorf("adding to the manager: %w", err)
		}
	}
	own, err := validation.ParseNetwork(s.network.CIDRs, s.options.PodCIDRs)
	if err != nil {
		return fmt.Errorf("reading this cluster's ranges of addresses: %w", err)
	}
	nodes, err := local.ReadHosts(ctx, mgr.GetAPIReader())
	if err != nil {
		return fmt.Errorf("reading which addresses are this cluster's nodes': %w", err)
	}
	own.IsHost, own.Allowed = nodes.Has, view.Allowed
	if len(s.options.PodCIDRs) == 0 {
		own.Learned = nodes.Pods()
		s.nodes.Store(nodes)
	}
	p := parts{view: view, heartbeats: heartbeats, withdrawn: withdrawn, sources: sources, nodes: nodes, own: own}
	p.measured = s.measured(ctx, mgr.GetClient(), p)
	defer p.measured.Serve(ctrlmetrics.Registry)()
	if err := controllers.Register(mgr, s.controllers(mgr, p, log)); err != nil {
		return err
	}
	if s.options.LeaderElect {
		lifecycle.NoteElection(ctx, log, mgr)
	}
	return mgr.Start(ctx)
}

// parts are what controllers of one term have in common.
type parts struct {
	view       *broker.View
	heartbeats *broker.Heartbeats
	withdrawn  *staleness.Set
	sources    *local.Sources
	nodes      *local.Hosts
	own        validation.Network // what is this cluster's
	measured   *metrics.Metrics
}

// controllers is the list of all controllers, each with the one output that it owns. The leader runs them, and every replica
// the one of hosts; what else every replica runs is in term, and what goes on from term to term in belong.
func (s *session) controllers(mgr ctrl.Manager, p parts, log *slog.Logger) []controllers.Controller {
	c, reader, view, options := mgr.GetClient(), mgr.GetAPIReader(), p.view, s.options
	writer := controllers.Writer{Client: c, Reader: reader}
	recorder := status.NewBounded(mgr.GetEventRecorder("atoll-agent"), time.Now)
	p.measured.Events(recorder.LeftOut)
	refuses, _ := options.refuses() // Validate has read it
	self := local.Cluster{
		ID: view.Self, Network: s.network, Policy: view.Policy, Refuses: refuses, Clusterset: view.Namespace, Record: view.OwnRecord,
		MayExport: func(namespace string) bool { return view.MayExport(view.Self, namespace) },
	}
	progress := &status.Progress{}
	// What others tell the controllers of status.
	records, published, derived := &status.Outcomes[types.NamespacedName]{}, &status.Outcomes[types.NamespacedName]{}, &status.Outcomes[types.NamespacedName]{}
	imported := &status.Outcomes[local.Part]{}
	return []controllers.Controller{
		serviceexport.NewController(c, reader, view, self, options.ServiceGrace, records, progress),
		exportedslice.NewController(c, p.sources, view, self, published, progress, p.measured, exportedslice.Options{
			Mode: options.mode(), Pace: options.pace(),
		}),
		policyexport.NewController(c, reader, view, recorder),
		exportstatus.NewController(c, reader, view, self, recorder, records, published),
		serviceimport.NewController(writer, view, self, recorder),
		derivedservice.NewController(writer, recorder, derived),
		importedslice.NewController(writer, p.sources, view, self, recorder, imported, p.measured, importedslice.Options{
			Pace: options.pace(), Network: p.own, Hosts: p.nodes, MaxPerMember: options.MaxEndpointsPerMember, Withdrawn: p.withdrawn,
			Locality: importedslice.Locality{Region: options.Region, SharedZones: options.SharedZones},
		}),
		importstatus.NewController(c, view, self, recorder, derived, imported),
		aggregate.NewController(view, p.heartbeats),
		hosts.NewController(c, reader, p.nodes),
		withdrawal.NewController(reader, c, view.Self, view, p.heartbeats, withdrawal.NewProber(options.Dial, s.network.Families, p.own), options.LeaseTimeout, p.withdrawn, s.member.Renew, log),
		publication.NewController(c, view, progress, s.member.State, log),
		memory.NewController(reader, c, s.epoch, s.clusterset(), log),
	}
}

// scheme has the kinds that an agent knows of its own cluster.
func scheme() *runtime.Scheme {
	return lifecycle.Scheme(clientgoscheme.AddToScheme, mcsv1beta1.Install)
}

func (s *session) newManager(ctx context.Context, caches cache.Options) (manager.Manager, error) {
	mgr, err := ctrl.NewManager(s.local, lifecycle.Options(ctx, ctrl.Options{
		Scheme:                  scheme(),
		Logger:                  s.logger.WithValues("cluster", s.membership.ClusterID),
		LeaderElection:          s.options.LeaderElect,
		LeaderElectionID:        leaderElectionID,
		LeaderElectionNamespace: names.SystemNamespace,
		Metrics:                 metricsserver.Options{BindAddress: s.options.MetricsAddress, SecureServing: s.options.MetricsTLS},
		PprofBindAddress:        s.options.PprofAddress,
		Cache:                   caches,
	}))
	if err != nil {
		return nil, fmt.Errorf("making the manager for this cluster: %w", err)
	}
	return mgr, nil
}
