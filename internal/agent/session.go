package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/controllers/member"
	"github.com/atoll-mcs/atoll/internal/controllers/memory"
	"github.com/atoll-mcs/atoll/internal/controllers/token"
	"github.com/atoll-mcs/atoll/internal/credential"
	"github.com/atoll-mcs/atoll/internal/lifecycle"
	"github.com/atoll-mcs/atoll/internal/local"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/metrics"
	"github.com/atoll-mcs/atoll/internal/urgency"
	"github.com/atoll-mcs/atoll/internal/version"
)

// process is a running agent.
type process struct {
	options Options
	log     *slog.Logger
	logger  logr.Logger
	local   *rest.Config
	health  *lifecycle.Health
	traffic *metrics.Traffic // with the broker
	gate    *urgency.Gate    // of all writes
}

// session is what lasts as long as the cluster's membership is the same one: its heartbeat
// and its token go on whatever becomes of the controllers, of the lease by which their leader
// is elected and of the cluster's own API server.
type session struct {
	*process
	membership credential.Membership
	broker     client.WithWatch
	facts      brokerv1alpha1.MemberClusterSpec
	network    local.ServiceNetwork
	member     *member.Controller
	epoch      *broker.Epoch
	placed     func()                      // called when the cluster id is known to be this cluster's own
	nodes      atomic.Pointer[local.Hosts] // by which ranges of pods are told, where no option says them; nil before they are known
	leads      atomic.Bool                 // whether this replica is the leader
	saidTaken  time.Time                   // when it was last said that the id is another cluster's
}

// run is one membership after the other, until ctx is done.
func (p *process) run(ctx context.Context) error {
	if static := p.options.Broker != nil || p.options.BrokerKubeconfig != ""; static {
		config, err := lifecycle.Config(p.options.Broker, p.options.BrokerKubeconfig)
		if err != nil {
			return fmt.Errorf("configuring the client for the broker: %w", err)
		}
		m := credential.Membership{
			ClusterID: names.ClusterID(p.options.ClusterID), Clusterset: p.options.BrokerNamespace, Server: config.Host,
		}
		return p.serve(ctx, m, config, func() {})
	}
	kube, err := kubernetes.NewForConfig(p.local)
	if err != nil {
		return fmt.Errorf("making a client for this cluster: %w", err)
	}
	tokens := token.NewController(kube, p.options.BrokerTokenLifetime, p.log)
	go tokens.Watch(ctx)
	for {
		m, err := tokens.Await(ctx)
		if err != nil {
			return nil // ctx is done
		}
		switch err := p.joined(ctx, m, tokens); {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, token.ErrChanged):
			p.log.Warn("starting anew", "reason", err)
		default:
			return err
		}
	}
}

// joined serves a membership for as long as it is the one in the cluster's Secret.
func (p *process) joined(ctx context.Context, m credential.Membership, tokens *token.Controller) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	bearer := tokens.Token(m)
	config := bearer.Config(m)
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client for the broker: %w", err)
	}
	member, placed := make(chan struct{}), make(chan struct{})
	known, inPlace := sync.OnceFunc(func() { close(member) }), sync.OnceFunc(func() { close(placed) })
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		cancel(tokens.Keep(ctx, m, bearer, kube, known, placed))
	}()
	defer func() { <-kept }()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-member:
	}
	if err := p.serve(ctx, m, config, inPlace); err != nil {
		cancel(err)
		return err
	}
	return context.Cause(ctx)
}

// ownShare is how much of what other clusters take of one this one writes itself, so that they do not cut it off.
const ownShare = 0.8

// serve does an agent's work for a membership, until ctx is done. It calls placed when the
// cluster id is known to be this cluster's own.
func (p *process) serve(ctx context.Context, m credential.Membership, config *rest.Config, placed func()) error {
	s := &session{process: p, membership: m, placed: placed}
	log := p.log.With("cluster", m.ClusterID)
	var err error
	config = p.traffic.Count(config)
	if p.options.Core == coreNew {
		return s.serveNew(ctx, config, log)
	}
	config.Wrap(p.gate.Transport(urgency.Broker))
	throttle := broker.NewThrottle(p.options.budget().Share(ownShare), func() {
		log.Warn(throttledText)
		s.warn(ctx, "WritesThrottled", "Export", throttledText)
	})
	if s.broker, err = broker.Connect(config, throttle); err != nil {
		return err
	}
	if !lifecycle.Retry(ctx, log, "reading what this cluster is", s.describe) {
		return nil
	}
	hostname, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("reading this replica's host name: %w", err)
	}
	for ctx.Err() == nil {
		if err := s.belong(ctx, hostname, log); err != nil {
			return err
		}
	}
	return nil
}

// belong is what a member does, until ctx is done or it turns out that its id is another
// cluster's. Then it has to take its place anew, which it can't as long as that is so.
func (s *session) belong(ctx context.Context, hostname string, log *slog.Logger) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var remembered memory.Memory
	if !lifecycle.Retry(ctx, log, "reading what is known of the broker", func(ctx context.Context) (err error) {
		remembered, err = s.remember(ctx)
		return err
	}) {
		return nil
	}
	m := s.membership
	s.epoch = broker.NewEpoch(s.broker, m.Clusterset, m.ClusterID, remembered.Epoch, log)
	s.epoch.Permissions.Remember(remembered.Permissions)
	s.epoch.Limit(s.options.budget(), s.options.now(), s.sayOver(ctx))
	s.member = member.NewController(s.broker, m.Clusterset, s.facts, hostname, s.options.LeaseTimeout, s.epoch, log)
	s.member.Registered = s.placed
	s.member.Pods = s.podRanges
	s.member.OverBudget = s.namedOverBudget
	s.member.Now = s.options.now()
	if !lifecycle.Retry(ctx, log, "taking the place in the clusterset", s.place) {
		return nil
	}
	log.Info("starting", "version", version.String(), "broker", m.Server, "clusterset", m.Clusterset)
	var group errgroup.Group
	group.Go(func() error {
		s.epoch.Start(ctx)
		return nil
	})
	group.Go(func() error {
		defer cancel()
		return s.member.Start(ctx)
	})
	lifecycle.Terms(ctx, log, "waiting for the Multi-Cluster Services API", s.served, func(ctx context.Context) error { return s.term(ctx, log) })
	if err := group.Wait(); err != nil {
		log.Error("this cluster does not take part in the clusterset any more", "error", err)
		s.sayTaken(context.WithoutCancel(ctx), err)
	}
	return nil
}

// podRanges are the ranges of pods to publish where these are published.
func (s *session) podRanges(published []string) []string {
	return podRanges(s.options.PodCIDRs, s.nodes.Load(), published)
}

// remember reads what was known of the broker when an agent ran here last.
func (s *session) remember(ctx context.Context) (memory.Memory, error) {
	reader, err := client.New(s.local, client.Options{Scheme: scheme()})
	if err != nil {
		return memory.Memory{}, fmt.Errorf("making a client for this cluster: %w", err)
	}
	return memory.Load(ctx, reader, s.clusterset())
}

// clusterset tells the clusterset from others: many have the same name, each on a broker of its own.
func (s *session) clusterset() string {
	return s.membership.Clusterset + " on " + s.membership.Server
}

// served returns nil when the cluster's API server serves what the controllers watch.
func (s *session) served(ctx context.Context) error {
	c, err := client.New(s.local, client.Options{Scheme: scheme()})
	if err != nil {
		return fmt.Errorf("making a client for this cluster: %w", err)
	}
	for _, list := range []client.ObjectList{&mcsv1beta1.ServiceExportList{}, &mcsv1beta1.ServiceImportList{}} {
		if err := c.List(ctx, list, client.Limit(1)); err != nil {
			return fmt.Errorf("listing %T: %w", list, err)
		}
	}
	return nil
}

// describe reads what the agent tells the other members of its cluster.
func (s *session) describe(ctx context.Context) error {
	reader, err := client.New(s.local, client.Options{Scheme: scheme()})
	if err != nil {
		return fmt.Errorf("making a client for this cluster: %w", err)
	}
	if s.network, err = local.ReadServiceNetwork(ctx, reader); err != nil {
		return err
	}
	kubeSystem := &corev1.Namespace{}
	if err := reader.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, kubeSystem); err != nil {
		return fmt.Errorf("reading the cluster's UID: %w", err)
	}
	discoveryClient, err := discovery.NewDiscoveryClientForConfig(s.local)
	if err != nil {
		return fmt.Errorf("making a discovery client: %w", err)
	}
	server, err := discoveryClient.ServerVersion()
	if err != nil {
		return fmt.Errorf("reading the API server's version: %w", err)
	}
	s.facts = brokerv1alpha1.MemberClusterSpec{
		ClusterID:         s.membership.ClusterID.String(),
		ClusterUID:        string(kubeSystem.UID),
		KubernetesVersion: server.GitVersion,
		AgentVersion:      version.String(),
		Region:            s.options.Region,
		ServiceCIDRs:      s.network.CIDRs,
		IPFamilies:        s.network.Families,
		AdvertiseMode:     s.options.mode(),
	}
	return nil
}
