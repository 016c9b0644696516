// Package core runs the controllers of a member cluster. What needs the member cluster alone runs in a manager; what needs the broker runs in a session
// (session.go), so that a broker that is down at the start holds up nothing else. All controllers are listed in controllers.go.
package core

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/agent/imports/hints"
	"github.com/atoll-mcs/atoll/internal/agent/inputs"
	"github.com/atoll-mcs/atoll/internal/agent/local"
	"github.com/atoll-mcs/atoll/internal/agent/lost"
	"github.com/atoll-mcs/atoll/internal/agent/pace"
	"github.com/atoll-mcs/atoll/internal/agent/publish/vouch"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/broker/border"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/kit/metrics"
	"github.com/atoll-mcs/atoll/internal/kit/status"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/ranges"
	"github.com/atoll-mcs/atoll/internal/mcs/refusal"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
)

// Config is what an agent's controllers are to do.
type Config struct {
	ClusterID  names.ClusterID
	Clusterset string
	// Broker is how the broker is reached.
	Broker  *rest.Config
	Network local.ServiceNetwork
	// PodCIDRs are the ranges of the cluster's pods; none where the nodes tell them.
	PodCIDRs    []string
	Mode        brokerv1alpha1.AdvertiseMode
	Refuses     refusal.Clusters
	Region      string
	SharedZones bool
	// Grace is how long imports of a deleted Service stay while its ServiceExport stands.
	Grace time.Duration
	// Pace spaces the writes of each of the cluster's own slices.
	Pace pace.Limits
	// Heartbeats are those of all members; a member is suspected when its has been missing for LeaseTimeout, and Renew renews the own one at once.
	Heartbeats   *lost.Heartbeats
	LeaseTimeout time.Duration
	Renew        func()
	// Lease is the own heartbeat, and Restored has a value when it is found to be older than it was.
	Lease    vouch.Lease
	Restored <-chan struct{}
	// Dial opens connections to endpoints of members that may be lost.
	Dial lost.Dial
	// Budget is how many bytes of each other member's slices are held, 0 for any number.
	Budget  int64
	Metrics *metrics.Metrics
	Log     *slog.Logger
}

// core is what all controllers have in common.
type core struct {
	Config
	mgr      manager.Manager
	cluster  *inputs.Cluster
	hosts    *local.Hosts
	network  validation.Network
	hints    *hints.Hints
	recorder events.EventRecorder
	// exports and imports are what cannot be done for exports and for imports.
	exports, imports *status.Problems
	// permissions outlive sessions, so that they hold where the broker has lost them.
	permissions *broker.Permissions
	// lost are the members whose endpoints are withdrawn.
	lost    *lost.Set
	process processControllers
	// nodesRead is set when hosts has the addresses of all nodes.
	nodesRead atomic.Bool
	// pace delays what members change too fast.
	pace *border.Pace
	// named has a value when a MemberCluster has changed.
	named chan struct{}
	// budget is that of the current session, and says what is over it.
	budget atomic.Pointer[border.Budget]
	// current are the parts of the current session that are to be told of what no cache says; nil without one.
	current atomic.Pointer[toTell]
}

// CacheOptions are those of the manager's cache.
func CacheOptions() cache.Options {
	return cache.Options{ByObject: map[client.Object]cache.ByObject{
		&corev1.Node{}:      {Transform: local.StripNode},
		&corev1.Namespace{}: {Transform: kit.StripNamespace},
		&corev1.Service{}:   {Transform: kit.StripService},
	}}
}

// Agent is what others ask of the controllers of one term.
type Agent struct {
	// Lost are the members whose endpoints are withdrawn.
	Lost *lost.Set
	core *core
}

// Hosts are the addresses of the cluster's nodes, as they change, nil before these are known.
func (a *Agent) Hosts() *local.Hosts {
	if a.core.nodesRead.Load() {
		return a.core.hosts
	}
	return nil
}

// OverBudget returns how many objects of each other member arrive late: EndpointSlices that are not held because the member is over its budget, and what
// waits because it changes more than is written in time.
func (a *Agent) OverBudget() map[string]int {
	over := a.core.pace.Late(time.Now())
	if budget := a.core.budget.Load(); budget != nil {
		for member, usage := range budget.Usage() {
			over[member] += usage.Waiting
		}
	}
	return over
}

// OverBudgetOf returns which other members say that this one exceeds their budget, sorted.
func (a *Agent) OverBudgetOf() (by []string) {
	b := a.core.cluster.Broker()
	if b == nil {
		return nil
	}
	members := &brokerv1alpha1.MemberClusterList{}
	if err := b.List(context.Background(), members, client.InNamespace(a.core.Clusterset), client.UnsafeDisableDeepCopy); err != nil {
		return nil // the cache has ended
	}
	for i := range members.Items {
		m := &members.Items[i]
		if self := a.core.ClusterID.String(); m.Name != self && !m.Removed() && slices.Contains(m.Spec.OverBudget, self) {
			by = append(by, m.Name)
		}
	}
	slices.Sort(by)
	return by
}

// Named has a value when OverBudgetOf may have changed.
func (a *Agent) Named() <-chan struct{} { return a.core.named }

// Leads tells whether this replica is the leader.
func (a *Agent) Leads() bool {
	select {
	case <-a.core.mgr.Elected():
		return true
	default:
		return false
	}
}

// Add adds an agent's controllers to a manager of its cluster, whose cache has CacheOptions.
func Add(ctx context.Context, mgr manager.Manager, config Config) (*Agent, error) {
	if err := inputs.Index(ctx, mgr.GetFieldIndexer()); err != nil {
		return nil, err
	}
	recorder := status.NewBounded(mgr.GetEventRecorder("atoll-agent"), time.Now)
	config.Metrics.Events(recorder.LeftOut)
	c := &core{
		Config: config, mgr: mgr, named: make(chan struct{}, 1), exports: &status.Problems{}, imports: &status.Problems{}, lost: lost.NewSet(),
		recorder: recorder, pace: border.NewPace(pacePerSecond, paceBurst), permissions: broker.NewPermissions(nil, config.Clusterset),
		cluster: &inputs.Cluster{
			ID: config.ClusterID, Clusterset: config.Clusterset, Network: config.Network, Refuses: config.Refuses,
			PublishesPods: config.Mode != brokerv1alpha1.AdvertiseClusterIP, Client: mgr.GetClient(), Live: mgr.GetAPIReader(),
		},
		hints: hints.New(config.ClusterID, config.Region, config.SharedZones, mgr.GetClient()),
	}
	c.cluster.Beliefs = inputs.NewBeliefs(config.Clusterset, config.Heartbeats.Suspicions, func(id names.ClusterID) bool { return c.lost.Has(id.String()) }, c.believed)
	if err := c.readNetwork(ctx); err != nil {
		return nil, err
	}
	if err := c.addProcessControllers(); err != nil {
		return nil, err
	}
	c.connect(ctx)
	return &Agent{c.lost, c}, errors.Join(mgr.Add(manager.RunnableFunc(func(ctx context.Context) error { return c.hints.Follow(ctx, mgr.GetCache()) })), mgr.Add(sessions{c}))
}

// readNetwork reads what addresses mean in this cluster.
func (c *core) readNetwork(ctx context.Context) (err error) {
	if c.network, err = validation.ParseNetwork(c.Network.CIDRs, c.PodCIDRs); err != nil {
		return fmt.Errorf("reading this cluster's ranges of addresses: %w", err)
	}
	if c.hosts, err = local.ReadHosts(ctx, c.mgr.GetAPIReader()); err != nil {
		return fmt.Errorf("reading which addresses are this cluster's nodes': %w", err)
	}
	c.network.IsHost = c.hosts.Has
	if len(c.PodCIDRs) == 0 {
		c.network.Learned = c.hosts.Pods()
	}
	c.network.Allowed = func(id names.ClusterID) (ranges.Set, bool) {
		if b := c.cluster.Broker(); b != nil {
			return b.Permissions().RangesOf(id)
		}
		return ranges.Set{}, false
	}
	return nil
}

// needs tells whether this cluster has a namespace.
func (c *core) needs(namespace string) bool {
	return c.mgr.GetCache().Get(context.Background(), client.ObjectKey{Name: namespace}, &corev1.Namespace{}, client.UnsafeDisableDeepCopy) == nil
}
