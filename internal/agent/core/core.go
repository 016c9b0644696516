// Package core runs the controllers of a member cluster. controllers.go lists them. Controllers that need only that
// cluster and the view run in a manager, those that write to the broker in a connection (connection.go): an unreachable broker
// delays only them.
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
	"github.com/atoll-mcs/atoll/internal/agent/imports/importedslice"
	"github.com/atoll-mcs/atoll/internal/agent/inputs"
	"github.com/atoll-mcs/atoll/internal/agent/local"
	"github.com/atoll-mcs/atoll/internal/agent/lost"
	"github.com/atoll-mcs/atoll/internal/agent/pace"
	"github.com/atoll-mcs/atoll/internal/agent/properties"
	"github.com/atoll-mcs/atoll/internal/agent/publish/compare"
	"github.com/atoll-mcs/atoll/internal/agent/publish/exportedslice"
	"github.com/atoll-mcs/atoll/internal/agent/remembered"
	"github.com/atoll-mcs/atoll/internal/broker/border"
	"github.com/atoll-mcs/atoll/internal/broker/view"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/kit/metrics"
	"github.com/atoll-mcs/atoll/internal/kit/status"
	"github.com/atoll-mcs/atoll/internal/mcs/metadata"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/ranges"
	"github.com/atoll-mcs/atoll/internal/mcs/refusal"
	"github.com/atoll-mcs/atoll/internal/mcs/share"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
)

// Config configures an agent's controllers.
type Config struct {
	ClusterID  names.ClusterID
	Clusterset string
	// Broker is the connection to the broker.
	Broker  *rest.Config
	Network local.ServiceNetwork
	// PodCIDRs are the cluster's pod ranges. If empty, the Nodes' pod ranges apply.
	PodCIDRs []string
	Mode     brokerv1alpha1.AdvertiseMode
	Refuses  refusal.Agent
	// ServiceMetadata are the exported labels and annotations that derived Services get.
	ServiceMetadata metadata.Keys
	Region          string
	SharedZones     bool
	// OmitStandby leaves out endpoints on standby.
	OmitStandby bool
	// Grace is how long imports of a deleted Service remain while its ServiceExport exists.
	Grace time.Duration
	// Pace limits the writes of each of this cluster's slices.
	Pace pace.Limits
	// Heartbeats are those of all members. LeaseTimeout is when to suspect a member; Renew renews this cluster's, and its
	// MemberCluster.
	Heartbeats   *lost.Heartbeats
	LeaseTimeout time.Duration
	Renew        func()
	// Lease is this cluster's heartbeat. Restored receives a value when the broker's copy of it is older than before.
	Lease    compare.Lease
	Restored <-chan struct{}
	// Dial connects to endpoints of other members, to learn whether they answer. Node is the name of this process's node.
	Dial lost.Dial
	Node string
	// Budget limits what is held of the other members' slices.
	Budget  border.Limits
	Metrics *metrics.Metrics
	Log     *slog.Logger
	// Warn reports what people should know about this agent.
	Warn remembered.Warn
}

type core struct {
	Config
	mgr      manager.Manager
	cluster  *inputs.Cluster
	hosts    *local.Hosts
	network  validation.Network
	hints    *hints.Hints
	recorder events.EventRecorder
	// exports and imports collect the problems of exports and of imports.
	exports, imports *status.Problems
	// lost are the members whose endpoints are withdrawn.
	lost *lost.Set
	// nodesRead is set when hosts has the addresses of all nodes.
	nodesRead atomic.Bool
	// properties are this cluster's ClusterProperties.
	properties *properties.Properties
	// pace delays the changes of members that change too much.
	pace *border.Pace
	// addresses limits the Service addresses that imports use.
	addresses *share.Addresses
	// named receives a value when a MemberCluster has changed.
	named chan struct{}
	// budget is the current connection's budget; it lists the members that exceed theirs.
	budget atomic.Pointer[border.Budget]
	// drained are this cluster's drained records on the broker.
	drained drained
	// published is the current connection's controller of published slices; nil without a connection.
	published atomic.Pointer[exportedslice.Reconciler]
}

// CacheOptions returns the options of the manager's cache.
func CacheOptions() cache.Options {
	return cache.Options{ByObject: map[client.Object]cache.ByObject{
		&corev1.Node{}:      {Transform: local.StripNode},
		&corev1.Namespace{}: {Transform: kit.StripNamespace},
		&corev1.Service{}:   {Transform: kit.StripService},
	}}
}

// Agent gives access to the controllers of one term of leadership.
type Agent struct {
	// Lost are the members that are lost or silent.
	Lost *lost.Set
	// Roles counts the services by the roles of clusters.
	Roles   func() map[metrics.Role]int
	imports *importedslice.Reconciler
	core    *core
}

// Hosts returns the addresses of the cluster's nodes, which it keeps current; nil until they are known.
func (a *Agent) Hosts() *local.Hosts {
	if a.core.nodesRead.Load() {
		return a.core.hosts
	}
	return nil
}

// OverBudget returns the number of objects per other member that are not imported or late: records of which the member has too
// many, imports that get no Service address, EndpointSlices that exceed its budget, and changes that wait for the rate limit.
func (a *Agent) OverBudget() map[string]int {
	over := a.core.pace.Late(time.Now())
	for member, records := range a.core.cluster.View.TooMany() {
		over[member.String()] += records
	}
	for member, imports := range a.core.addresses.Waiting() {
		over[member.String()] += imports
	}
	if budget := a.core.budget.Load(); budget != nil {
		for member, usage := range budget.Usage() {
			over[member.String()] += usage.Waiting
		}
	}
	return over
}

// Addresses returns how many Service addresses are in use.
func (a *Agent) Addresses() *share.Addresses { return a.core.addresses }

// OverBudgetOf returns the members that report this cluster as over their budget, sorted.
func (a *Agent) OverBudgetOf() (by []string) {
	b := a.core.cluster.Broker()
	if b == nil {
		return nil
	}
	members := &brokerv1alpha1.MemberClusterList{}
	if err := b.List(context.Background(), members, client.InNamespace(a.core.Clusterset), client.UnsafeDisableDeepCopy); err != nil {
		return nil // the cache has stopped
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

// Named receives a value when OverBudgetOf may have changed.
func (a *Agent) Named() <-chan struct{} { return a.core.named }

// Properties returns the properties for this cluster's MemberCluster, given the published ones. Only the leader changes
// them.
func (a *Agent) Properties(published map[string]brokerv1alpha1.PropertyValue) map[string]brokerv1alpha1.PropertyValue {
	return a.core.properties.Publish(published)
}

// DrainedByBroker reports whether the broker's administrator drains this cluster.
func (a *Agent) DrainedByBroker() bool {
	return a.core.cluster.View.Permissions().Drains(a.core.ClusterID)
}

// FollowsDrains returns the digests of the drains that this cluster's imported endpoints follow, by the drained cluster.
func (a *Agent) FollowsDrains(ctx context.Context) (map[names.ClusterID]string, error) {
	return a.imports.FollowsDrains(ctx, a.core.drained.all())
}

// Leads reports whether this replica is the leader.
func (a *Agent) Leads() bool {
	select {
	case <-a.core.mgr.Elected():
		return true
	default:
		return false
	}
}

// Add adds an agent's controllers to a manager of its cluster. The manager's cache must use CacheOptions.
func Add(ctx context.Context, mgr manager.Manager, config Config) (*Agent, error) {
	if err := inputs.Index(ctx, mgr.GetFieldIndexer()); err != nil {
		return nil, err
	}
	recorder := status.NewBounded(mgr.GetEventRecorder("atoll-agent"), time.Now)
	config.Metrics.Events(recorder.LeftOut)
	c := &core{
		Config: config, mgr: mgr, named: make(chan struct{}, 1), exports: &status.Problems{}, imports: &status.Problems{},
		recorder: recorder, properties: properties.New(config.Renew, config.Log), pace: border.NewPace(pacePerSecond, paceBurst),
		addresses: share.NewAddresses(config.Network.CIDRs),
		cluster: &inputs.Cluster{
			ID: config.ClusterID, Clusterset: config.Clusterset, BrokerName: config.Broker.Host, Network: config.Network, Refuses: config.Refuses, ServiceMetadata: config.ServiceMetadata,
			PublishesPods: config.Mode != brokerv1alpha1.AdvertiseClusterIP, Client: mgr.GetClient(), Live: mgr.GetAPIReader(),
		},
		hints: hints.New(config.ClusterID, config.Region, config.SharedZones, mgr.GetClient()),
	}
	changes := &c.cluster.Changes
	c.cluster.View = view.New(config.Clusterset, config.ClusterID, func(id names.ClusterID) bool { return c.lost.Has(id) }, changes)
	c.lost = lost.NewSet(changes, c.cluster.View.Lost)
	context.AfterFunc(ctx, changes.Subscribe(c.removed))
	context.AfterFunc(ctx, config.Heartbeats.Counters.Subscribe(func(o lost.Observation) { c.cluster.View.Observe(o.Began, o.Counters) }))
	if err := c.readNetwork(ctx); err != nil {
		return nil, err
	}
	imports, err := c.addProcessControllers()
	if err != nil {
		return nil, err
	}
	followProperties := func(ctx context.Context) error {
		c.properties.Follow(ctx, mgr.GetCache())
		return nil
	}
	return &Agent{c.lost, imports.Roles, imports, c}, errors.Join(
		mgr.Add(manager.RunnableFunc(func(ctx context.Context) error { return c.hints.Follow(ctx, mgr.GetCache()) })),
		mgr.Add(manager.RunnableFunc(followProperties)),
		mgr.Add(connections{c}))
}

// removed excludes members that have left from the heartbeats that are missed.
func (c *core) removed(s kit.Scope) {
	switch {
	case s == kit.Scope{}:
		for id, m := range c.cluster.View.Memberships() {
			c.Heartbeats.Remove(id, m.Removed)
		}
	case s == kit.Scope{Member: s.Member}:
		c.Heartbeats.Remove(s.Member, c.cluster.View.Removed(s.Member))
	}
}

func (c *core) readNetwork(ctx context.Context) (err error) {
	if c.network, err = validation.ParseNetwork(c.Network.CIDRs, c.PodCIDRs); err != nil {
		return fmt.Errorf("reading this cluster's address ranges: %w", err)
	}
	if c.hosts, err = local.ReadHosts(ctx, c.mgr.GetAPIReader()); err != nil {
		return fmt.Errorf("reading the addresses of this cluster's nodes: %w", err)
	}
	c.network.IsHost = c.hosts.Has
	if len(c.PodCIDRs) == 0 {
		c.network.Learned = c.hosts.Pods()
	}
	c.network.Allowed = func(id names.ClusterID) (ranges.Set, bool) {
		return c.cluster.View.Permissions().RangesOf(id)
	}
	return nil
}
