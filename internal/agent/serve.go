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

	"github.com/atoll-mcs/atoll/internal/agent/core"
	"github.com/atoll-mcs/atoll/internal/agent/local"
	"github.com/atoll-mcs/atoll/internal/agent/lost"
	"github.com/atoll-mcs/atoll/internal/agent/membership"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/kit/lifecycle"
	"github.com/atoll-mcs/atoll/internal/kit/metrics"
	"github.com/atoll-mcs/atoll/internal/kit/version"
	"github.com/atoll-mcs/atoll/internal/mcs/ranges"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
)

func (s *session) serve(ctx context.Context, config *rest.Config, log *slog.Logger) error {
	config.QPS = -1 // the API server's priority and fairness limits requests, not the client
	c, err := broker.Connect(config)
	if err != nil {
		return err
	}
	if !lifecycle.Retry(ctx, log, "reading this cluster's properties", s.describe) {
		return nil
	}
	hostname, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("reading this replica's hostname: %w", err)
	}
	var running atomic.Pointer[core.Agent]
	heartbeats := lost.NewHeartbeats(s.membership.ClusterID, s.options.LeaseTimeout)
	member := membership.New()
	member.Broker, member.Namespace, member.Facts, member.Holder = c, s.membership.Clusterset, s.facts, hostname
	member.Timeout, member.Placed, member.Now, member.Log, member.Heartbeats = s.options.LeaseTimeout, s.placed, s.options.now(), log, heartbeats.Observe
	restored := make(chan struct{}, 1)
	member.Restored = func() {
		select {
		case restored <- struct{}{}:
		default: // already notified
		}
	}
	member.Pods = func(published []string) []string {
		if a := running.Load(); a != nil {
			return podRanges(s.options.PodCIDRs, a.Hosts(), published)
		}
		return podRanges(s.options.PodCIDRs, nil, published)
	}
	member.OverBudget = s.namesOverBudget(ctx, &running)
	for ctx.Err() == nil {
		err := member.Check(ctx)
		if err == nil {
			log.Info("starting", "version", version.String(), "broker", s.membership.Server, "clusterset", s.membership.Clusterset)
			err = s.take(ctx, member, heartbeats, restored, config, &running, log)
		}
		if taken := (*membership.TakenError)(nil); errors.As(err, &taken) {
			log.Error("This cluster does not take part in the clusterset.", "error", err)
			s.warn(context.WithoutCancel(ctx), "ClusterIDTaken", "Join", taken.Error())
			if !lifecycle.Retry(ctx, log, "checking this cluster's membership", member.Check) {
				return nil
			}
		} else if err != nil {
			return err
		}
	}
	return nil
}

// take runs the controllers while the cluster id belongs to this cluster.
func (s *session) take(ctx context.Context, member *membership.Membership, heartbeats *lost.Heartbeats, restored <-chan struct{}, config *rest.Config, running *atomic.Pointer[core.Agent], log *slog.Logger) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var group errgroup.Group
	group.Go(func() error {
		defer cancel()
		return member.Run(ctx)
	})
	lifecycle.Terms(ctx, log, "checking for the Multi-Cluster Services API", s.served, func(ctx context.Context) error {
		mgr, err := s.newManager(ctx, core.CacheOptions())
		if err != nil {
			return err
		}
		refuses, _ := s.options.refuses() // Validate has read it
		measured := metrics.New(s.traffic)
		agent, err := core.Add(ctx, mgr, core.Config{
			ClusterID: s.membership.ClusterID, Clusterset: s.membership.Clusterset, Broker: config, Network: s.network, PodCIDRs: s.options.PodCIDRs,
			Mode: s.options.mode(), Refuses: refuses, Region: s.options.Region, SharedZones: s.options.SharedZones,
			Heartbeats: heartbeats, LeaseTimeout: s.options.LeaseTimeout, Renew: member.Renew, Lease: member, Restored: restored, Dial: s.options.Dial,
			Grace: s.options.ServiceGrace, Pace: s.options.pace(), Budget: s.options.budget(), Metrics: measured, Log: log,
		})
		if err != nil {
			return err
		}
		running.Store(agent)
		go s.sayOverBudgetOf(ctx, agent)
		measured.LeftOut(agent.OverBudget)
		measured.Remotes(func() map[string]metrics.Remote { return remotes(heartbeats, agent.Lost, agent.OverBudgetOf()) })
		measured.Objects(conflictReasons, func() ([]metrics.Export, []metrics.Import, error) { return measuredObjects(ctx, mgr.GetClient()) })
		measured.Connection(func() bool { return time.Since(heartbeats.Own()) < s.options.LeaseTimeout })
		defer measured.Serve(ctrlmetrics.Registry)()
		if err := mgr.Add(s.health.Started()); err != nil {
			return fmt.Errorf("adding to the manager: %w", err)
		}
		if s.options.LeaderElect {
			lifecycle.NoteElection(ctx, log, mgr)
		}
		return mgr.Start(ctx)
	})
	return group.Wait()
}

// namesOverBudget returns a function that computes which members the MemberCluster lists as over budget, and logs new
// ones. Only the leader decides: the replicas' budgets differ, so they would overwrite each other's entries.
func (s *session) namesOverBudget(ctx context.Context, running *atomic.Pointer[core.Agent]) func([]string) []string {
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
			if !slices.Contains(published, id) {
				text := fmt.Sprintf("Cluster %q exceeds this cluster's per-member budget: %d of its objects arrive late or not at all. "+
					"Export fewer services or endpoints in that cluster, or raise --member-budget of this cluster's agent.", id, over[id])
				s.log.Warn(text)
				s.warn(ctx, "MemberOverBudget", "Import", text)
			}
		}
		return validation.OverBudget(named)
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
