package broker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/informers"
)

// policies is the copy of the hub's ServicePolicies. One that has gone from the broker still
// holds until the hub says that it is withdrawn: the broker may have been made anew.
type policies struct {
	informer cache.SharedIndexInformer
	hub      cache.SharedIndexInformer
	seen     []cache.ResourceEventHandlerRegistration // by the handlers below, which follow the informers

	mu       sync.Mutex
	known    map[types.NamespacedName]*brokerv1alpha1.ServicePolicy
	doubtful map[types.NamespacedName]bool // those of them that are not on the broker any more
	present  PolicySet                     // the names of those that are
	word     *brokerv1alpha1.HubSpec       // the hub's last one
	handlers []informers.Handler[types.NamespacedName]
	settled  []func()
}

func newPolicies(c client.WithWatch, e *Epoch) *policies {
	namespace, tap := e.namespace, e.taps.other
	c = withoutPolicies(c)
	p := &policies{
		informer: informers.NewTapped(c, tap, &brokerv1alpha1.ServicePolicyList{}, &brokerv1alpha1.ServicePolicy{}, nil, client.InNamespace(namespace)),
		hub:      informers.NewTapped(c, tap, &brokerv1alpha1.HubList{}, &brokerv1alpha1.Hub{}, nil, client.InNamespace(namespace)),
		known:    map[types.NamespacedName]*brokerv1alpha1.ServicePolicy{},
		doubtful: map[types.NamespacedName]bool{},
	}
	// Both fail only when the informers have stopped.
	policies, _ := p.informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(object any, initial bool) { p.appeared(nil, object.(*brokerv1alpha1.ServicePolicy), initial) },
		UpdateFunc: func(old, new any) {
			p.appeared(old.(*brokerv1alpha1.ServicePolicy), new.(*brokerv1alpha1.ServicePolicy), false)
		},
		DeleteFunc: func(object any) {
			if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = gone.Obj
			}
			if policy, ok := object.(*brokerv1alpha1.ServicePolicy); ok {
				p.vanished(policy)
			}
		},
	})
	hub, _ := p.hub.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { p.said(object.(*brokerv1alpha1.Hub)) },
		UpdateFunc: func(_, object any) { p.said(object.(*brokerv1alpha1.Hub)) },
		DeleteFunc: func(any) { p.said(nil) },
	})
	p.seen = []cache.ResourceEventHandlerRegistration{policies, hub}
	return p
}

// withoutPolicies returns a client for which a broker that was deployed before there were
// policies has none. One that had some is not believed that it has lost them.
func withoutPolicies(c client.WithWatch) client.WithWatch {
	return interceptor.NewClient(c, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			err := c.List(ctx, list, opts...)
			if unknown(err) {
				return nil
			}
			return err
		},
		// Informers wait for a kind that is not found yet, and list what they can't watch.
		Watch: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) (watch.Interface, error) {
			w, err := c.Watch(ctx, list, opts...)
			if unknown(err) {
				return nil, &meta.NoKindMatchError{GroupKind: brokerv1alpha1.GroupVersion.WithKind("ServicePolicy").GroupKind()}
			}
			return w, err
		},
	})
}

// unknown tells whether the broker does not know of policies.
func unknown(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || meta.IsNoMatchError(err)
}

func (p *policies) appeared(old, policy *brokerv1alpha1.ServicePolicy, initial bool) {
	if old != nil && informers.Same(old, policy) {
		return // a broken watch was replaced by a list
	}
	service := policy.Spec.Service()
	p.mu.Lock()
	if old == nil {
		p.present.Add(policy.Name)
	}
	p.known[service] = policy
	delete(p.doubtful, service)
	p.mu.Unlock()
	p.tell(initial, service)
	p.settle()
}

func (p *policies) vanished(policy *brokerv1alpha1.ServicePolicy) {
	p.mu.Lock()
	p.present.Remove(policy.Name)
	p.doubtful[policy.Spec.Service()] = true
	p.mu.Unlock()
	p.settle()
}

func (p *policies) said(hub *brokerv1alpha1.Hub) {
	p.mu.Lock()
	p.word = nil
	if hub != nil {
		p.word = &hub.Spec
	}
	p.mu.Unlock()
	p.settle()
}

// settle forgets the policies that are not on the broker any more, if the hub's word is that
// they are withdrawn.
func (p *policies) settle() {
	if !p.complete() {
		return
	}
	p.mu.Lock()
	withdrawn := slices.Collect(maps.Keys(p.doubtful))
	for _, service := range withdrawn {
		delete(p.known, service)
	}
	clear(p.doubtful)
	settled := p.settled
	p.mu.Unlock()
	p.tell(false, withdrawn...)
	for _, f := range settled {
		f()
	}
}

// complete tells whether the policies on the broker are those that the hub says there are.
func (p *policies) complete() bool {
	if !p.synced() {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.word != nil && *p.word == p.present.Word()
}

func (p *policies) synced() bool { return p.seen[0].HasSynced() && p.seen[1].HasSynced() }

// await returns when it is known what the hub says, or with ctx's error.
func (p *policies) await(ctx context.Context) error {
	for _, seen := range p.seen {
		if err := informers.Await(ctx, seen.HasSyncedChecker()); err != nil {
			return err
		}
	}
	return nil
}

// run keeps the copy current until ctx is done.
func (p *policies) run(ctx context.Context) {
	go p.hub.RunWithContext(ctx)
	p.informer.RunWithContext(ctx)
}

func (p *policies) tell(initial bool, services ...types.NamespacedName) {
	p.mu.Lock()
	handlers := p.handlers
	p.mu.Unlock()
	for _, service := range services {
		for _, handler := range handlers {
			handler(service, initial)
		}
	}
}

func (p *policies) services() []types.NamespacedName {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Collect(maps.Keys(p.known))
}

// Policy returns what the hub says of a service, or nil.
func (v *View) Policy(service types.NamespacedName) *brokerv1alpha1.ServicePolicySpec {
	v.policies.mu.Lock()
	defer v.policies.mu.Unlock()
	if policy := v.policies.known[service]; policy != nil {
		return &policy.Spec
	}
	return nil
}

// PoliciesComplete tells whether a policy that the view does not have is one that there is
// not, by the hub's own word.
func (v *View) PoliciesComplete() bool { return v.policies.complete() }

// OnPoliciesComplete has f called whenever PoliciesComplete has become true, and perhaps when it
// was so before.
func (v *View) OnPoliciesComplete(f func()) {
	v.policies.mu.Lock()
	defer v.policies.mu.Unlock()
	v.policies.settled = append(v.policies.settled, f)
}

// PolicyServices returns the services of which the hub says anything.
func (v *View) PolicyServices() []types.NamespacedName { return v.policies.services() }

// OnPolicy has f called with every service of which the hub says something else.
func (v *View) OnPolicy(f informers.Handler[types.NamespacedName]) {
	v.policies.mu.Lock()
	defer v.policies.mu.Unlock()
	v.policies.handlers = append(v.policies.handlers, f)
}

// PolicySet is a set of the names of ServicePolicies, of which only the number and the digest
// are kept. The zero value is empty.
type PolicySet struct {
	count  int
	digest [sha256.Size]byte
}

// Add adds a name that is not in the set.
func (s *PolicySet) Add(name string) { s.count++; s.mix(name) }

// Remove removes a name that is in the set.
func (s *PolicySet) Remove(name string) { s.count--; s.mix(name) }

// mix is its own inverse, whatever is done in between.
func (s *PolicySet) mix(name string) {
	for i, b := range sha256.Sum256([]byte(name)) {
		s.digest[i] ^= b
	}
}

// Word is what a hub says that has the policies of the set.
func (s *PolicySet) Word() brokerv1alpha1.HubSpec {
	return brokerv1alpha1.HubSpec{Policies: int32(s.count), Digest: hex.EncodeToString(s.digest[:])}
}
