package core

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/agent/catalogue"
	"github.com/atoll-mcs/atoll/internal/agent/imports/imported"
	"github.com/atoll-mcs/atoll/internal/agent/inputs"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/broker/border"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/broker/view"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/kit/lifecycle"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// reconnectPause is the wait before the next connection after one has failed.
const reconnectPause = 5 * time.Second

// After a restore, connections restart at random times within restoreSpread per member, at most maxRestoreSpread.
const (
	restoreSpread    = 100 * time.Millisecond
	maxRestoreSpread = time.Minute
)

// connections run one after another, on every replica: a standby fills its caches too, without starting controllers.
type connections struct{ *core }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (connections) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (s connections) Start(ctx context.Context) error {
	if err := kit.Follow(ctx, s.mgr.GetCache(), &corev1.Node{}, s.hosts.Node); err != nil { // no endpoint may have a node's address
		return err
	}
	s.nodesRead.Store(true)
	if err := kit.Follow(ctx, s.mgr.GetCache(), &corev1.Namespace{}, func(_ context.Context, e kit.Event[*corev1.Namespace]) {
		s.cluster.View.Want(types.NamespacedName{Namespace: e.Latest().Name}, !e.Deleted())
	}); err != nil {
		return err
	}
	if err := kit.Follow(ctx, s.mgr.GetCache(), &mcsv1beta1.ServiceExport{}, s.cluster.Export); err != nil {
		return err
	}
	for ctx.Err() == nil {
		switch err := s.connect(ctx); {
		case errors.Is(err, errRestored), ctx.Err() != nil:
		case err != nil:
			s.Log.Error("The connection to the broker failed. The agent connects again", "error", err)
			select {
			case <-ctx.Done():
			case <-time.After(wait.Jitter(reconnectPause, 0.5)):
			}
		}
	}
	return nil
}

// errRestored ends a connection because its caches may be from before the broker was restored. A watch on a restored
// server can stay silent forever.
var errRestored = errors.New("the broker was restored")

// awaitRestore returns errRestored some time after the broker was restored. The delay spreads the members' restarts, to
// protect the API server.
func (c *core) awaitRestore(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-c.Restored:
	}
	spread := min(restoreSpread*time.Duration(len(c.Heartbeats.Members())), maxRestoreSpread)
	select {
	case <-ctx.Done():
	case <-time.After(rand.N(spread)):
	}
	return errRestored
}

// connect runs everything that needs the broker, until ctx is done or something fails.
func (c *core) connect(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	budget := border.NewBudget(c.Budget, c.cluster.View.Room)
	c.budget.Store(budget)
	if err := c.reserve(ctx, budget); err != nil {
		return err
	}
	borders := border.New(c.ClusterID, c.cluster.View.Wants, budget)
	brokers, err := c.newBroker(ctx, borders)
	if err != nil {
		return err
	}
	b := &inputs.Broker{Client: brokers.GetClient(), Live: brokers.GetAPIReader()}
	from := view.Connection{Cache: brokers.GetCache(), Live: brokers.GetAPIReader(), Border: borders}
	controllers, published, err := c.connectionControllers(b, from)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return brokers.Start(ctx) })
	group.Go(func() error { return c.awaitRestore(ctx) })
	if err = c.followMembers(ctx, brokers.GetCache()); err != nil {
		cancel()
		_ = group.Wait() // ends with ctx
		return err
	}
	defer c.exports.Clear() // its controllers miss later deletions
	defer c.published.Store(nil)
	followed := make(chan struct{}) // closed when the caches have synced, or ctx is done
	group.Go(func() error {
		defer close(followed)
		if err := c.followObjects(ctx, brokers.GetCache(), borders); err != nil {
			return err
		}
		budget.Settle()
		return nil
	})
	group.Go(func() error {
		select {
		case <-ctx.Done():
			return nil
		case <-c.mgr.Elected():
		}
		if err := c.cluster.Follow(ctx, from); err != nil { // while the caches fill
			return err
		}
		if <-followed; ctx.Err() != nil {
			return nil
		}
		c.cluster.SetBroker(b)
		c.notifyNamed()
		c.published.Store(published)
		c.cluster.Changes.Publish(kit.Scope{})
		for _, r := range controllers {
			group.Go(func() error { return r.Start(ctx) })
		}
		return nil
	})
	return group.Wait()
}

// reserve counts what is imported already, so that it stays whatever the broker shows first.
func (c *core) reserve(ctx context.Context, budget *border.Budget) error {
	all, err := c.cluster.AllImported(ctx)
	if err != nil {
		return fmt.Errorf("listing the imported EndpointSlices: %w", err)
	}
	for _, s := range all {
		if id, source := imported.Source(s); id != c.ClusterID {
			budget.Reserve(kit.Scope{Member: id, Slice: source}, names.BrokerSlice(id, source.Namespace, source.Name), border.SizeOf(s))
		}
	}
	return nil
}

// followMembers records the members' state, and publishes its changes.
func (c *core) followMembers(ctx context.Context, from cache.Cache) error {
	return kit.Follow(ctx, from, &brokerv1alpha1.MemberCluster{}, func(ctx context.Context, e kit.Event[*brokerv1alpha1.MemberCluster]) {
		id := names.ClusterID(e.Latest().Name)
		if e.New == nil {
			return // the object may have been deleted by hand
		}
		c.hints.Region(ctx, id, e.New.Spec.Region)
		c.notifyNamed()
		if !c.cluster.View.Known() { // else the view says more: see removed
			c.Heartbeats.Remove(id, e.New.Removed())
		}
	})
}

// followObjects waits for the broker's caches to sync, and publishes later changes that are not the view's.
func (c *core) followObjects(ctx context.Context, from cache.Cache, borders *border.Border) error {
	changes := &c.cluster.Changes
	if err := kit.Follow(ctx, from, &discoveryv1.EndpointSlice{}, func(ctx context.Context, e kit.Event[*discoveryv1.EndpointSlice]) {
		borders.ForgetDeleted(ctx, e)
		if e.Old == nil && !e.Initial && layout.Cluster(e.New) == c.ClusterID {
			service := layout.Service(e.New)
			changes.Publish(kit.Scope{Service: service, Member: c.ClusterID, Slice: types.NamespacedName{Namespace: service.Namespace, Name: layout.Source(e.New)}})
		}
	}); err != nil {
		return err
	}
	c.drained.clear()
	if err := kit.Follow(ctx, from, &brokerv1alpha1.ExportedService{}, func(_ context.Context, e kit.Event[*brokerv1alpha1.ExportedService]) {
		c.drained.note(e, c.ClusterID)
		for _, record := range e.Versions() { // somebody may have edited the service
			if record.Spec.ClusterID == c.ClusterID.String() && !e.Initial {
				changes.Publish(kit.Scope{Service: record.Spec.Service(), Member: c.ClusterID})
			}
		}
	}); err != nil {
		return err
	}
	for _, kind := range []client.Object{&brokerv1alpha1.ServicePolicy{}, &corev1.ConfigMap{}} {
		if _, err := from.GetInformer(ctx, kind); err != nil {
			return fmt.Errorf("listing the broker's %T: %w", kind, err)
		}
	}
	return nil
}

// notifyNamed reports that OverBudgetOf may have changed.
func (c *core) notifyNamed() {
	select {
	case c.named <- struct{}{}:
	default: // already queued
	}
}

// newBroker returns the broker, with a cache of the clusterset's namespace.
func (c *core) newBroker(ctx context.Context, b *border.Border) (cluster.Cluster, error) {
	scheme := broker.Scheme()
	// A selector, unlike DefaultNamespaces, gives a cache of one namespace. A cache of several namespaces leaks
	// goroutines if it ends before it has synced (controller-runtime v0.25.2).
	inClusterset := fields.OneTermEqualSelector("metadata.namespace", c.Clusterset)
	brokers, err := cluster.New(c.Broker, func(o *cluster.Options) {
		o.Scheme = scheme
		o.MapperProvider = func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return mapper(scheme), nil }
		o.Cache = cache.Options{
			NewInformer:                  lifecycle.NewInformerOf(func() int { return len(c.Heartbeats.Members()) }),
			DefaultFieldSelector:         inClusterset,
			DefaultTransform:             kit.Trim,
			DefaultUnsafeDisableDeepCopy: ptr.To(true),
			ByObject: map[client.Object]cache.ByObject{
				&discoveryv1.EndpointSlice{}:      {Transform: b.Transform},
				&brokerv1alpha1.ExportedService{}: {Transform: b.Transform},
				&brokerv1alpha1.MemberCluster{}:   {Transform: b.Transform},
				&mcsv1beta1.ServiceImport{}:       {Transform: catalogue.Strip},
				&corev1.ConfigMap{}:               {Field: fields.AndSelectors(inClusterset, fields.OneTermEqualSelector(metav1.ObjectNameField, names.MemberPermissions))},
			},
		}
	})
	if err != nil {
		return nil, fmt.Errorf("creating a client for the broker at %s: %w", c.Broker.Host, err)
	}
	if err := layout.Index(ctx, brokers.GetFieldIndexer(), c.ClusterID); err != nil {
		return nil, err
	}
	return brokers, nil
}

// mapper lists the broker's kinds without discovery, so a connection can start while the broker is unreachable.
func mapper(scheme *runtime.Scheme) meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	for kind := range scheme.AllKnownTypes() {
		scope := meta.RESTScopeNamespace
		if kind.Kind == "Namespace" {
			scope = meta.RESTScopeRoot
		}
		m.Add(kind, scope)
	}
	return m
}
