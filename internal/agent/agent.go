package agent

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	aboutv1beta1 "github.com/atoll-mcs/atoll/api/about/v1beta1"
	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/kit/lifecycle"
	"github.com/atoll-mcs/atoll/internal/kit/metrics"
	"github.com/atoll-mcs/atoll/internal/kit/version"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

const leaderElectionID = "atoll-agent.atoll.dev"

// waiting is the readiness probe's message until the agent is ready.
const waiting = "the agent is waiting for the cluster's API server, or for the cluster to join a clusterset: see the agent's log"

// Run runs an agent until ctx is done. It waits for an API server or an object that is not available yet.
func Run(ctx context.Context, options Options, log *slog.Logger) error {
	if err := options.Validate(); err != nil {
		return err
	}
	metrics.ServeBuild(ctrlmetrics.Registry, "atoll-agent", version.String())
	p := &process{options: options, log: log, logger: logr.FromSlogHandler(log.Handler()), health: &lifecycle.Health{Waiting: waiting}, traffic: metrics.NewTraffic()}
	ctrl.SetLogger(p.logger)
	if options.Local == nil {
		klog.SetLogger(p.logger) // client-go's log is global: a process with several agents sets it itself
	}
	var err error
	if p.local, err = lifecycle.Config(options.Local, options.Kubeconfig); err != nil {
		return fmt.Errorf("configuring the client for this cluster: %w", err)
	}
	p.local = rest.CopyConfig(p.local)
	p.local.QPS = -1 // the API server's priority and fairness limits requests, not the client
	if err := p.health.Serve(ctx, options.HealthAddress); err != nil {
		return err
	}
	return p.run(ctx)
}

func scheme() *runtime.Scheme {
	return lifecycle.Scheme(clientgoscheme.AddToScheme, mcsv1beta1.Install, aboutv1beta1.AddToScheme, trafficv1alpha1.AddToScheme)
}

func (m *member) newManager(ctx context.Context, caches cache.Options) (manager.Manager, error) {
	mgr, err := ctrl.NewManager(m.local, lifecycle.Options(ctx, ctrl.Options{
		Scheme:                  scheme(),
		Logger:                  m.logger.WithValues("cluster", m.membership.ClusterID),
		LeaderElection:          m.options.LeaderElect,
		LeaderElectionID:        leaderElectionID,
		LeaderElectionNamespace: names.SystemNamespace,
		Metrics:                 metricsserver.Options{BindAddress: m.options.MetricsAddress, SecureServing: m.options.MetricsTLS},
		PprofBindAddress:        m.options.PprofAddress,
		Cache:                   caches,
	}))
	if err != nil {
		return nil, fmt.Errorf("creating the manager for this cluster: %w", err)
	}
	return mgr, nil
}
