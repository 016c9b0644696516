package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/agent/core"
	"github.com/atoll-mcs/atoll/internal/agent/local"
	"github.com/atoll-mcs/atoll/internal/agent/lost"
	"github.com/atoll-mcs/atoll/internal/agent/membership"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/kit/lifecycle"
	"github.com/atoll-mcs/atoll/internal/kit/metrics"
	"github.com/atoll-mcs/atoll/internal/kit/version"
	"github.com/atoll-mcs/atoll/internal/mcs/drain"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/ranges"
	"github.com/atoll-mcs/atoll/internal/mcs/refusal"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
)

func (m *member) serve(ctx context.Context, config *rest.Config, log *slog.Logger) error {
	config.QPS = -1 // the API server's priority and fairness limits requests, not the client
	c, err := broker.Connect(config)
	if err != nil {
		return err
	}
	if !lifecycle.Retry(ctx, log, "reading this cluster's properties", m.describe) {
		return nil
	}
	hostname, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("reading this replica's hostname: %w", err)
	}
	var running atomic.Pointer[core.Agent]
	var isolation isolated
	heartbeats := lost.NewHeartbeats(m.membership.ClusterID, m.options.LeaseTimeout)
	entry := membership.New()
	entry.Broker, entry.Namespace, entry.Facts, entry.Holder = c, m.membership.Clusterset, m.facts, hostname
	entry.Timeout, entry.Placed, entry.Now, entry.Log, entry.Heartbeats = m.options.LeaseTimeout, m.placed, m.options.now(), log, heartbeats.Observe
	restored := make(chan struct{}, 1)
	entry.Restored = func() {
		select {
		case restored <- struct{}{}:
		default: // already notified
		}
	}
	entry.Pods = func(published []string) []string {
		if a := running.Load(); a != nil {
			return podRanges(m.options.PodCIDRs, a.Hosts(), published)
		}
		return podRanges(m.options.PodCIDRs, nil, published)
	}
	entry.Properties = func(published map[string]brokerv1alpha1.PropertyValue) map[string]brokerv1alpha1.PropertyValue {
		if a := running.Load(); a != nil {
			return a.Properties(published)
		}
		return published
	}
	entry.OverBudget = m.namesOverBudget(ctx, &running)
	entry.FollowsDrains = m.followsDrains(ctx, &running)
	entry.Isolation = isolation.known
	for ctx.Err() == nil {
		err := entry.Check(ctx)
		if err == nil {
			log.Info("Starting", "version", version.String(), "broker", m.membership.Server, "clusterset", m.membership.Clusterset)
			err = m.take(ctx, entry, heartbeats, restored, config, &running, &isolation, log)
		}
		if taken := (*membership.TakenError)(nil); errors.As(err, &taken) {
			log.Error("This cluster does not take part in the clusterset", "error", err)
			m.warn(context.WithoutCancel(ctx), "ClusterIDTaken", "Join", taken.Error())
			if !lifecycle.Retry(ctx, log, "checking this cluster's membership", entry.Check) {
				return nil
			}
		} else if err != nil {
			return err
		}
	}
	return nil
}

// take runs the controllers while the cluster id belongs to this cluster.
func (m *member) take(ctx context.Context, entry *membership.Membership, heartbeats *lost.Heartbeats, restored <-chan struct{}, config *rest.Config, running *atomic.Pointer[core.Agent], isolation *isolated, log *slog.Logger) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var group errgroup.Group
	group.Go(func() error {
		defer cancel()
		return entry.Run(ctx)
	})
	lifecycle.Terms(ctx, log, "checking for the Multi-Cluster Services API", m.served, func(ctx context.Context) error {
		mgr, err := m.newManager(ctx, core.CacheOptions())
		if err != nil {
			return err
		}
		refuses, _ := m.options.refuses() // Validate has read it
		keys, _ := m.options.serviceMetadata()
		measured := metrics.New(m.traffic)
		agent, err := core.Add(ctx, mgr, core.Config{
			ClusterID: m.membership.ClusterID, Clusterset: m.membership.Clusterset, Broker: config, Network: m.network, PodCIDRs: m.options.PodCIDRs,
			Mode: m.options.mode(), Refuses: refusal.Agent{Clusters: refuses, Closed: m.options.ClosedNamespaces}, ServiceMetadata: keys, Region: m.options.Region, SharedZones: m.options.SharedZones, OmitStandby: m.options.OmitStandby,
			Heartbeats: heartbeats, LeaseTimeout: m.options.LeaseTimeout, Renew: entry.Renew, Lease: entry, Restored: restored, Dial: m.options.Dial, Node: os.Getenv(names.NodeNameVariable),
			Grace: m.options.ServiceGrace, Pace: m.options.pace(), Budget: m.options.budget(), Metrics: measured, Log: log, Warn: m.warn,
		})
		if err != nil {
			return err
		}
		running.Store(agent)
		go m.sayOverBudgetOf(ctx, agent)
		go isolation.watch(ctx, mgr.Elected(), m, entry.Broker, entry.Renew)
		measured.LeftOut(agent.OverBudget)
		measured.Addresses(agent.Addresses())
		measured.Remotes(func() map[string]metrics.Remote { return remotes(heartbeats, agent.Lost, agent.OverBudgetOf()) })
		measured.Objects(conflictReasons, func() ([]metrics.Export, []metrics.Import, error) { return measuredObjects(ctx, mgr.GetClient()) })
		measured.Roles(agent.Roles, func() ([]metrics.Drain, error) { return drains(ctx, mgr.GetClient(), agent.DrainedByBroker()) })
		measured.Connection(func() bool { return time.Since(heartbeats.Own()) < m.options.LeaseTimeout })
		measured.Isolation(func() brokerv1alpha1.Isolation { return isolation.known("") })
		defer measured.Serve(ctrlmetrics.Registry)()
		if err := mgr.Add(m.health.Started()); err != nil {
			return fmt.Errorf("adding to the manager: %w", err)
		}
		if m.options.LeaderElect {
			lifecycle.NoteElection(ctx, log, mgr)
		}
		return mgr.Start(ctx)
	})
	return group.Wait()
}

// namesOverBudget returns a function that computes which members the MemberCluster lists as over budget, and logs new
// ones. Only the leader decides: the replicas' budgets differ, so they would overwrite each other's entries.
func (m *member) namesOverBudget(ctx context.Context, running *atomic.Pointer[core.Agent]) func([]string) []string {
	var logged []string // also if the broker has not stored them
	return func(published []string) (named []string) {
		agent := running.Load()
		if agent == nil || !agent.Leads() {
			return published
		}
		over := agent.OverBudget()
		for _, id := range slices.Sorted(maps.Keys(over)) {
			if over[id] == 0 {
				continue
			}
			named = append(named, id)
			if !slices.Contains(published, id) && !slices.Contains(logged, id) {
				text := fmt.Sprintf("Cluster %q exceeds this cluster's per-member budget: %d of its objects arrive late or not at all. "+
					"Export fewer services or endpoints in that cluster, or raise --member-budget of this cluster's agent.", id, over[id])
				m.log.Warn(text)
				m.warn(ctx, "MemberOverBudget", "Import", text)
			}
		}
		logged = named
		return validation.OverBudget(named)
	}
}

// followsDrains returns a function that says in the heartbeat which drains this cluster follows. Only the leader knows.
func (m *member) followsDrains(ctx context.Context, running *atomic.Pointer[core.Agent]) func(string) string {
	return func(published string) string {
		agent := running.Load()
		if agent == nil || !agent.Leads() {
			return published
		}
		digests, err := agent.FollowsDrains(ctx)
		if err != nil {
			m.log.Error("Failed to read which drains this cluster has applied. The agent retries with the next heartbeat", "error", err)
			return published
		}
		return drain.FormatFollowed(digests)
	}
}

// podRanges returns the pod ranges that this cluster publishes.
func podRanges(options []string, nodes *local.Hosts, published []string) []string {
	if len(options) > 0 {
		return options
	}
	if nodes != nil {
		return ranges.Settled(published, nodes.Pods().All())
	}
	return published
}
