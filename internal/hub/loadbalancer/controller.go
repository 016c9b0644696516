// Package loadbalancer configures load balancers for MultiClusterServices of the type LoadBalancer. It asks
// providers (package cloudprovider) for them, and owns status.loadBalancer and the conditions LoadBalancerReady,
// BackendsReachable and BackendsAccepted.
package loadbalancer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/cloudprovider"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/kit/status"
)

// callTimeout limits one call to a provider.
const callTimeout = time.Minute

// Controller is the load-balancer controller of a hub.
type Controller struct {
	client    client.Client
	published *Published
	hosts     *Hosts
	providers *Providers
	recorder  events.EventRecorder
	options   Options

	// ready is set once all caches are synced.
	ready atomic.Bool

	// leftovers runs queueLeftovers once. left are the names of a previous hub's load balancers.
	leftovers sync.Once
	left      sync.Map

	failing     kit.Since[types.NamespacedName] // whose load balancer cannot be deleted
	conflicting kit.Since[types.NamespacedName] // whose finalizers cannot be written because of conflicts
	add         func(reconcile.Request)         // with low priority
}

// Options are the settings of a Controller.
type Options struct {
	// Abandon is how long a failing deletion of a load balancer blocks the deletion of its object.
	Abandon time.Duration
	// AllowUnsetRanges allows backends of members for which the broker permits no address ranges.
	AllowUnsetRanges bool
}

// New returns the controller. It watches the given cache, and reads and writes with c, when published is known. It uses no
// endpoint with an address in hosts.
func New(c client.Client, from cache.Cache, published *Published, known <-chan struct{}, hosts *Hosts, providers *Providers, recorder events.EventRecorder, o Options) (controller.Controller, error) {
	r := &Controller{client: c, published: published, hosts: hosts, providers: providers, recorder: recorder, options: o}
	return kit.New("loadbalancer", r, r.sources(from, known)...)
}

// sources returns the events that queue MultiClusterServices.
func (c *Controller) sources(from cache.Cache, known <-chan struct{}) []source.TypedSource[reconcile.Request] {
	return []source.TypedSource[reconcile.Request]{
		kit.Watch(from, &networkingv1alpha1.MultiClusterService{}, matters),
		kit.Watch(from, &corev1.Service{}, func(ctx context.Context, e kit.Event[*corev1.Service]) []reconcile.Request {
			return c.concerned(ctx, client.ObjectKeyFromObject(e.Latest()))
		}),
		kit.WaitFor[reconcile.Request]("the first list of the members' objects on the broker", known),
		kit.On(&c.published.Changes, func(ctx context.Context, s kit.Scope) (requests []reconcile.Request) {
			if s == (kit.Scope{}) {
				return c.balanced(ctx)
			}
			services := []types.NamespacedName{s.Service}
			if s.Service.Name == "" && s.Slice.Name == "" {
				services = c.published.View.ServicesOf(s.Member)
			}
			for _, service := range services {
				requests = append(requests, c.concerned(ctx, service)...)
			}
			return requests
		}),
		source.Func(c.subscribe),
	}
}

// subscribe queues changes that do not come from the manager's caches.
func (c *Controller) subscribe(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	c.add = func(r reconcile.Request) { kit.Add(queue, true, r) }
	c.providers.serve(c.service, c.existing, func(name types.NamespacedName) { kit.Add(queue, false, reconcile.Request{NamespacedName: name}) })
	c.hosts.OnChange(func() { kit.Add(queue, false, c.balanced(context.Background())...) })
	return nil
}

// balanced returns the MultiClusterServices with load balancers.
func (c *Controller) balanced(ctx context.Context) (requests []reconcile.Request) {
	list := &networkingv1alpha1.MultiClusterServiceList{}
	if c.client.List(ctx, list, client.UnsafeDisableDeepCopy) != nil {
		return nil // a synced cache fails only when the hub stops
	}
	for i := range list.Items {
		if wanted(&list.Items[i]) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return requests
}

// existing returns the MultiClusterServices whose addresses belong to a provider: its current and its last ones.
func (c *Controller) existing(ctx context.Context, provider string) (found []*networkingv1alpha1.MultiClusterService, err error) {
	list := &networkingv1alpha1.MultiClusterServiceList{}
	if err := c.client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing MultiClusterServices: %w", err)
	}
	for i := range list.Items {
		mcs := &list.Items[i]
		if wanted(mcs) && len(mcs.Status.LoadBalancer.Ingress) > 0 && (c.providers.of(mcs) == provider || slices.Contains(holders(mcs), provider)) {
			found = append(found, mcs)
		}
	}
	return found, nil
}

// queueLeftovers queues the load balancers of a previous hub: their MultiClusterServices may be gone, or have another
// provider by now. It deletes nothing itself, so that a provider that is slow with one of them delays no other.
func (c *Controller) queueLeftovers(ctx context.Context) {
	for _, name := range c.providers.configured() {
		provider, err := c.providers.get(ctx, name)
		if err != nil {
			continue // reported by the MultiClusterServices that need it
		}
		inventory, ok := provider.(cloudprovider.Inventory)
		if !ok {
			continue
		}
		var lefts []types.NamespacedName
		_ = c.providers.guard(func() error { // which logs a panic
			lefts = inventory.LoadBalancers()
			return nil
		})
		for _, left := range lefts {
			c.left.Store(left, nil)
			c.add(reconcile.Request{NamespacedName: left})
		}
	}
}

// concerned maps a service to its MultiClusterService if that has a load balancer.
func (c *Controller) concerned(ctx context.Context, service types.NamespacedName) []reconcile.Request {
	mcs := &networkingv1alpha1.MultiClusterService{}
	if c.client.Get(ctx, service, mcs, client.UnsafeDisableDeepCopy) != nil || !wanted(mcs) {
		return nil // its creation is an event of its own
	}
	return []reconcile.Request{{NamespacedName: service}}
}

// matters maps a MultiClusterService to itself if this controller's input or output changed.
func matters(ctx context.Context, e kit.Event[*networkingv1alpha1.MultiClusterService]) []reconcile.Request {
	before, now := e.Old, e.New
	if before != nil && now != nil && before.Generation == now.Generation && before.UID == now.UID &&
		maps.Equal(before.Annotations, now.Annotations) && slices.Equal(before.Finalizers, now.Finalizers) &&
		slices.Equal(owned(before), owned(now)) && equality.Semantic.DeepEqual(before.Status.LoadBalancer, now.Status.LoadBalancer) {
		return nil
	}
	return kit.Same(ctx, e)
}

// errOutdated means that the cached object is outdated. The cache shows the newer version soon.
var errOutdated = errors.New("the MultiClusterService changed in the meantime")

func wanted(mcs *networkingv1alpha1.MultiClusterService) bool {
	return mcs.DeletionTimestamp == nil && mcs.Spec.Has(networkingv1alpha1.ExposureTypeLoadBalancer)
}

// Reconcile updates one load balancer and its status.
func (c *Controller) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	c.ready.Store(true) // controllers start with synced caches
	mcs := &networkingv1alpha1.MultiClusterService{}
	if err := c.client.Get(ctx, req.NamespacedName, mcs); err != nil {
		if client.IgnoreNotFound(err) != nil {
			return reconcile.Result{}, fmt.Errorf("reading MultiClusterService %s: %w", req, err)
		}
		c.providers.forget(req.NamespacedName)
		c.conflicting.Over(req.NamespacedName)
		c.published.View.Want(req.NamespacedName, false)
		gone := &networkingv1alpha1.MultiClusterService{ObjectMeta: metav1.ObjectMeta{Namespace: req.Namespace, Name: req.Name}}
		return reconcile.Result{}, c.removeExcept(ctx, gone, nil) // somebody may have removed the finalizer
	}
	c.leftovers.Do(func() { c.queueLeftovers(ctx) })
	stale := c.removeLeft(ctx, mcs)
	var err error
	if c.published.View.Want(req.NamespacedName, wanted(mcs)); wanted(mcs) {
		err = c.provide(ctx, mcs)
	} else {
		c.providers.forget(req.NamespacedName)
		err = c.withdraw(ctx, mcs)
	}
	switch { // not joined with another error
	case stale != nil:
		return reconcile.Result{}, errors.Join(stale, err)
	case err == errOutdated:
		return kit.Behind(), nil
	case err == errNotYet:
		return reconcile.Result{}, nil // it is queued when the backends are read
	}
	return reconcile.Result{}, err
}

// provide creates or updates the load balancer.
func (c *Controller) provide(ctx context.Context, mcs *networkingv1alpha1.MultiClusterService) error {
	name := client.ObjectKeyFromObject(mcs)
	f, err := c.gather(ctx, mcs)
	if err == errNotYet {
		return err
	}
	if err != nil {
		return fmt.Errorf("reading the ports and backends of MultiClusterService %s: %w", name, err)
	}
	out := outcome{provider: c.providers.of(mcs), forwarding: f}
	provider, err := c.providers.get(ctx, out.provider)
	switch {
	case err != nil:
		return join(err, c.keepServing(ctx, mcs, f, unknown(out.provider, err)))
	case f.missing != nil:
		return c.keepServing(ctx, mcs, f, unserved(f))
	case len(f.service.Ports) == 0:
		return c.keepServing(ctx, mcs, f, portless(f))
	}
	generation := mcs.Generation
	if err := c.hold(ctx, mcs, out.provider); isSetting(err) {
		return join(err, c.keepServing(ctx, mcs, f, unheld(out.provider, err)))
	} else if err != nil {
		return err
	}
	if mcs.Generation != generation {
		return errOutdated
	}
	c.call(ctx, mcs, provider, &out)
	return join(out.err, c.applyStatus(ctx, mcs, out.status, out.conditions()))
}

// call makes a provider create or update the load balancer.
func (c *Controller) call(ctx context.Context, mcs *networkingv1alpha1.MultiClusterService, provider cloudprovider.MCSLoadBalancer, out *outcome) {
	name := client.ObjectKeyFromObject(mcs)
	callCtx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	operation, call := opEnsure, provider.EnsureMCSLoadBalancer
	if len(mcs.Status.LoadBalancer.Ingress) > 0 {
		operation, call = opUpdate, provider.UpdateMCSLoadBalancer
	}
	began := time.Now()
	out.err = c.providers.guard(func() (err error) {
		out.status, err = call(callCtx, mcs)
		return err
	})
	c.providers.metrics.called(out.provider, operation, began, out.err)
	if out.err != nil && out.status == nil {
		out.status = c.remaining(ctx, provider, mcs)
	}
	if reporter, ok := provider.(cloudprovider.Reporter); ok {
		out.err = join(out.err, c.providers.guard(func() error {
			out.unreachable = reporter.Unreachable(name)
			out.reports = true
			return nil
		}))
	}
	if out.status != nil {
		c.providers.metrics.note(name, *out)
	}
}

// remaining returns the load balancer's status after a failed update: the provider's if it is known, or else the
// previous one.
func (c *Controller) remaining(ctx context.Context, provider cloudprovider.MCSLoadBalancer, mcs *networkingv1alpha1.MultiClusterService) *corev1.LoadBalancerStatus {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var status *corev1.LoadBalancerStatus
	var there bool
	err := c.providers.guard(func() (err error) {
		status, there, err = provider.GetMCSLoadBalancer(ctx, mcs)
		return err
	})
	switch {
	case err != nil:
		return &mcs.Status.LoadBalancer
	case !there:
		return nil
	}
	return status
}

// join joins a provider's error and a write error.
func join(err, writing error) error {
	if err == nil {
		return writing
	}
	return errors.Join(err, writing)
}

// removeLeft deletes a previous hub's load balancers of an object at providers that it no longer has, until that succeeds.
func (c *Controller) removeLeft(ctx context.Context, mcs *networkingv1alpha1.MultiClusterService) error {
	name := client.ObjectKeyFromObject(mcs)
	if _, left := c.left.Load(name); !left {
		return nil
	}
	kept := holders(mcs)
	if wanted(mcs) {
		kept = append(kept, c.providers.of(mcs))
	}
	err := c.removeExcept(ctx, mcs, kept)
	if err == nil {
		c.left.Delete(name)
	}
	return err
}

// removeExcept deletes the load balancers of an object at all providers that can be used, except at those to keep.
func (c *Controller) removeExcept(ctx context.Context, mcs *networkingv1alpha1.MultiClusterService, kept []string) error {
	var failed []error
	for _, each := range c.providers.configured() {
		if slices.Contains(kept, each) {
			continue
		}
		provider, err := c.providers.get(ctx, each)
		if err != nil {
			continue
		}
		failed = append(failed, c.remove(ctx, provider, each, mcs))
	}
	return errors.Join(failed...)
}

func (c *Controller) remove(ctx context.Context, provider cloudprovider.MCSLoadBalancer, name string, mcs *networkingv1alpha1.MultiClusterService) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	began := time.Now()
	err := c.providers.guard(func() error { return provider.EnsureMCSLoadBalancerDeleted(ctx, mcs) })
	c.providers.metrics.called(name, opDelete, began, err)
	if err == nil {
		c.providers.metrics.forget(client.ObjectKeyFromObject(mcs))
	}
	return err
}

func (c *Controller) event(mcs *networkingv1alpha1.MultiClusterService, kind, reason, text string) {
	status.Say(c.recorder, mcs, nil, kind, reason, "Expose", text)
}
