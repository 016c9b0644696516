package view

import (
	"context"
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/belief"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Policies are the hub's believed policies. The hub counts as an owner that is never lost: while it is away, a missing
// policy still applies. Policies outlive connections, and live one term of leadership: a standby replica believes nothing.
// Reads do not block, write or fail. Create with NewPolicies.
type Policies struct {
	clusterset string
	changed    func(types.NamespacedName)
	reads      kit.Changes[types.NamespacedName]

	mu      sync.Mutex // guards memory only
	objects *Objects[types.NamespacedName, *brokerv1alpha1.ServicePolicy]
}

// NewPolicies returns no policies, all of which are unknown. changed is called with services whose policy has changed.
func NewPolicies(clusterset string, changed func(types.NamespacedName)) *Policies {
	return &Policies{
		clusterset: clusterset, changed: changed,
		objects: New(func(types.NamespacedName) names.ClusterID { return names.HubOwner }, func(names.ClusterID, *brokerv1alpha1.ServicePolicy) belief.Owner { return belief.Owner{} }),
	}
}

// Get returns the believed policy of a service, or nil, and whether it is known. Callers must not change it.
func (p *Policies) Get(service types.NamespacedName) (policy *brokerv1alpha1.ServicePolicy, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	answer := p.objects.Get(service)
	if answer.Object == nil {
		return nil, answer.State != Unknown
	}
	return answer.Object.Value, true
}

// Applied records the policy that this cluster follows, which this process has not seen on the broker yet. Call it
// before Follow.
func (p *Policies) Applied(policy *brokerv1alpha1.ServicePolicy) {
	p.mu.Lock()
	defer p.mu.Unlock()
	service := policy.Spec.Service()
	policy.Name = names.Aggregate(service.Namespace, service.Name)
	p.objects.Put(service, objectOf(policy, service), time.Now())
}

// Replace records all policies that the cache of a connection shows. Do not change them.
func (p *Policies) Replace(all []brokerv1alpha1.ServicePolicy) { p.publish(p.replace(all)) }

func (p *Policies) replace(all []brokerv1alpha1.ServicePolicy) (changed []types.NamespacedName) {
	objects := make(map[types.NamespacedName]*Object[*brokerv1alpha1.ServicePolicy], len(all))
	for i := range all {
		service := all[i].Spec.Service()
		if object := objectOf(&all[i], service); object != nil {
			objects[service] = object
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.objects.Replace(objects, time.Now())
}

func (p *Policies) publish(changed []types.NamespacedName) {
	for _, service := range changed {
		p.changed(service)
	}
}

// Follow records the policies in the cache of a new connection, and their changes until ctx is done. It returns when all
// are known.
func (p *Policies) Follow(ctx context.Context, from cache.Cache) error {
	var mu sync.Mutex
	complete := false
	err := kit.Follow(ctx, from, &brokerv1alpha1.ServicePolicy{}, func(_ context.Context, e kit.Event[*brokerv1alpha1.ServicePolicy]) {
		mu.Lock()
		defer mu.Unlock()
		if complete {
			for _, policy := range e.Versions() { // somebody may have edited the service
				p.put(policy.Spec.Service(), e.New)
			}
		}
	})
	if err != nil {
		return err
	}
	list := &brokerv1alpha1.ServicePolicyList{}
	mu.Lock() // events wait; those that are older than the list are followed by newer ones
	err = from.List(ctx, list, client.InNamespace(p.clusterset), client.UnsafeDisableDeepCopy)
	var changed []types.NamespacedName
	if err == nil {
		changed, complete = p.replace(list.Items), true
	}
	mu.Unlock()
	if err != nil {
		return fmt.Errorf("listing the ServicePolicies: %w", err)
	}
	p.publish(changed)
	return nil
}

func (p *Policies) put(service types.NamespacedName, policy *brokerv1alpha1.ServicePolicy) {
	p.mu.Lock()
	changed := p.objects.Put(service, objectOf(policy, service), time.Now())
	p.mu.Unlock()
	if changed {
		p.changed(service)
	}
}

// objectOf returns the policy of a service, or nil if it is missing or names another service than its own name does.
func objectOf(policy *brokerv1alpha1.ServicePolicy, service types.NamespacedName) *Object[*brokerv1alpha1.ServicePolicy] {
	if policy == nil || policy.Spec.Service() != service || policy.Name != names.Aggregate(service.Namespace, service.Name) {
		return nil
	}
	return &Object[*brokerv1alpha1.ServicePolicy]{Value: policy, Revision: layout.Revision(policy), Withdrawn: layout.Withdrawn(policy)}
}

// Observe records the owners' counters from a read that began at began.
func (p *Policies) Observe(began time.Time, counters map[names.ClusterID]belief.Counter) {
	p.mu.Lock()
	read := p.objects.Observe(began, counters)
	p.mu.Unlock()
	p.reads.Publish(read...)
}

// Confirmer returns the controller of a connection that reads suspicious policies, whose state the hub has confirmed,
// from the broker without a cache.
func (p *Policies) Confirmer(live client.Reader) (controller.Controller, error) {
	return kit.New("confirmpolicy", reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		return reconcile.Result{}, p.confirm(ctx, live, req.NamespacedName)
	}), kit.On(&p.reads, func(_ context.Context, service types.NamespacedName) (requests []reconcile.Request) {
		services := []types.NamespacedName{service}
		if service.Name == "" { // the start: some may have been confirmed just before
			p.mu.Lock()
			services = p.objects.Reading()
			p.mu.Unlock()
		}
		for _, service := range services {
			requests = append(requests, reconcile.Request{NamespacedName: service})
		}
		return requests
	}))
}

func (p *Policies) confirm(ctx context.Context, live client.Reader, service types.NamespacedName) error {
	policy, err := kit.Get(ctx, live, client.ObjectKey{Namespace: p.clusterset, Name: names.Aggregate(service.Namespace, service.Name)}, &brokerv1alpha1.ServicePolicy{})
	if err != nil {
		return fmt.Errorf("reading the ServicePolicy of %s, which the hub has confirmed: %w", service, err)
	}
	lease, err := kit.Get(ctx, live, client.ObjectKey{Namespace: p.clusterset, Name: names.HubOwner.String()}, &coordinationv1.Lease{})
	if err != nil {
		return fmt.Errorf("reading the hub's comparison counter: %w", err)
	}
	counter := belief.Counter{}
	if lease != nil {
		counter = layout.Counter(lease)
	}
	p.mu.Lock()
	changed := p.objects.Confirm(service, objectOf(policy, service), counter, time.Now())
	p.mu.Unlock()
	if changed {
		p.changed(service)
	}
	return nil
}
