package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/agent/local"
	"github.com/atoll-mcs/atoll/internal/agent/token"
	"github.com/atoll-mcs/atoll/internal/broker/credential"
	"github.com/atoll-mcs/atoll/internal/kit/lifecycle"
	"github.com/atoll-mcs/atoll/internal/kit/metrics"
	"github.com/atoll-mcs/atoll/internal/kit/version"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

type process struct {
	options Options
	log     *slog.Logger
	logger  logr.Logger
	local   *rest.Config
	health  *lifecycle.Health
	traffic *metrics.Traffic // with the broker
}

// member lives as long as the cluster's membership. Its heartbeat and token continue even if the controllers, the
// leader election or the cluster's own API server fail.
type member struct {
	*process
	membership credential.Membership
	facts      brokerv1alpha1.MemberClusterSpec
	network    local.ServiceNetwork
	placed     func() // called when the cluster id is known to belong to this cluster
}

// run serves one membership after another, until ctx is done.
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
		return fmt.Errorf("creating a client for this cluster: %w", err)
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
			p.log.Warn("Restarting with the new membership", "reason", err)
		default:
			return err
		}
	}
}

// joined serves a membership while the cluster's Secret contains it.
func (p *process) joined(ctx context.Context, m credential.Membership, tokens *token.Controller) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	bearer := tokens.Token(m)
	config := bearer.Config(m)
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("creating a client for the broker: %w", err)
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

// serve does an agent's work for a membership, until ctx is done. It calls placed when the cluster id is known to
// belong to this cluster.
func (p *process) serve(ctx context.Context, m credential.Membership, config *rest.Config, placed func()) error {
	run := &member{process: p, membership: m, placed: placed}
	log := p.log.With("cluster", m.ClusterID)
	config = p.traffic.Count(config)
	return run.serve(ctx, config, log)
}

// served returns nil when the cluster's API server serves the kinds that the controllers watch.
func (m *member) served(ctx context.Context) error {
	c, err := client.New(m.local, client.Options{Scheme: scheme()})
	if err != nil {
		return fmt.Errorf("creating a client for this cluster: %w", err)
	}
	for _, list := range []client.ObjectList{&mcsv1beta1.ServiceExportList{}, &mcsv1beta1.ServiceImportList{}} {
		if err := c.List(ctx, list, client.Limit(1)); err != nil {
			return fmt.Errorf("listing %T: %w", list, err)
		}
	}
	return nil
}

// describe reads the facts that the agent publishes about its cluster.
func (m *member) describe(ctx context.Context) error {
	reader, err := client.New(m.local, client.Options{Scheme: scheme()})
	if err != nil {
		return fmt.Errorf("creating a client for this cluster: %w", err)
	}
	if m.network, err = local.ReadServiceNetwork(ctx, reader, m.options.ServiceCIDRs); err != nil {
		return err
	}
	kubeSystem := &corev1.Namespace{}
	if err := reader.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, kubeSystem); err != nil {
		return fmt.Errorf("reading the cluster's UID: %w", err)
	}
	discoveryClient, err := discovery.NewDiscoveryClientForConfig(m.local)
	if err != nil {
		return fmt.Errorf("creating a discovery client: %w", err)
	}
	server, err := discoveryClient.ServerVersion()
	if err != nil {
		return fmt.Errorf("reading the API server's version: %w", err)
	}
	m.facts = brokerv1alpha1.MemberClusterSpec{
		ClusterID:         m.membership.ClusterID.String(),
		ClusterUID:        string(kubeSystem.UID),
		KubernetesVersion: server.GitVersion,
		AgentVersion:      version.String(),
		Region:            m.options.Region,
		ServiceCIDRs:      m.network.CIDRs,
		IPFamilies:        m.network.Families,
		AdvertiseMode:     m.options.mode(),
	}
	return nil
}
