package view

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/belief"
	"github.com/atoll-mcs/atoll/internal/broker/border"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// kind connects the objects of one kind with connections.
type kind[O client.Object] struct {
	view    *View
	objects *Objects[kit.Scope, O] // guarded by view.mu
	none    func() *Objects[kit.Scope, O]
	empty   func() O // an object to read into
	// list returns an empty list, and what returns its items.
	list func() (client.ObjectList, func() []O)
	// key returns an object's key, or the zero key if it is this process's own, or if its name belongs to another key.
	key func(O) kit.Scope
	// name returns the name on the broker of the object of a key.
	name func(kit.Scope) string
	// object returns an object with what a connection's border has found.
	object func(*border.Border, O) *Object[O]
}

func newPolicies(v *View) *kind[*brokerv1alpha1.ServicePolicy] {
	k := &kind[*brokerv1alpha1.ServicePolicy]{
		view: v,
		none: func() *Objects[kit.Scope, *brokerv1alpha1.ServicePolicy] {
			hub := func(kit.Scope) names.ClusterID { return names.HubOwner }
			return NewObjects(hub, func(names.ClusterID, *brokerv1alpha1.ServicePolicy) belief.Owner { return belief.Owner{} })
		},
		empty: func() *brokerv1alpha1.ServicePolicy { return &brokerv1alpha1.ServicePolicy{} },
		list: func() (client.ObjectList, func() []*brokerv1alpha1.ServicePolicy) {
			list := &brokerv1alpha1.ServicePolicyList{}
			return list, func() []*brokerv1alpha1.ServicePolicy { return pointers(list.Items) }
		},
		name: func(key kit.Scope) string { return names.Aggregate(key.Service.Namespace, key.Service.Name) },
		object: func(_ *border.Border, p *brokerv1alpha1.ServicePolicy) *Object[*brokerv1alpha1.ServicePolicy] {
			return &Object[*brokerv1alpha1.ServicePolicy]{Value: p, Revision: layout.Revision(p), Withdrawn: layout.Withdrawn(p)}
		},
	}
	k.key = func(p *brokerv1alpha1.ServicePolicy) kit.Scope {
		if key := (kit.Scope{Service: p.Spec.Service()}); p.Name == k.name(key) {
			return key
		}
		return kit.Scope{} // somebody has edited the service
	}
	return k
}

func newRecords(v *View) *kind[*brokerv1alpha1.ExportedService] {
	return &kind[*brokerv1alpha1.ExportedService]{
		view: v,
		none: func() *Objects[kit.Scope, *brokerv1alpha1.ExportedService] {
			objects := NewObjects(func(key kit.Scope) names.ClusterID { return key.Member }, func(id names.ClusterID, last *brokerv1alpha1.ExportedService) belief.Owner {
				return belief.Owner{Removed: v.removed[id], Lost: v.isLost(id, last)}
			})
			objects.index = v.indexRecord
			return objects
		},
		empty: func() *brokerv1alpha1.ExportedService { return &brokerv1alpha1.ExportedService{} },
		list: func() (client.ObjectList, func() []*brokerv1alpha1.ExportedService) {
			list := &brokerv1alpha1.ExportedServiceList{}
			return list, func() []*brokerv1alpha1.ExportedService { return pointers(list.Items) }
		},
		key: func(r *brokerv1alpha1.ExportedService) kit.Scope {
			if id := names.ClusterID(r.Spec.ClusterID); id != v.self && id != "" { // the border empties a malformed one
				return kit.Scope{Service: r.Spec.Service(), Member: id}
			}
			return kit.Scope{}
		},
		name: func(key kit.Scope) string { return names.Export(key.Member, key.Service.Namespace, key.Service.Name) },
		object: func(b *border.Border, r *brokerv1alpha1.ExportedService) *Object[*brokerv1alpha1.ExportedService] {
			state, _ := b.State(r)
			return &Object[*brokerv1alpha1.ExportedService]{
				Value: r, Revision: layout.Revision(r), Withdrawn: state == border.Withdrawn, Refused: state == border.Refused,
			}
		},
	}
}

func pointers[T any](items []T) []*T {
	all := make([]*T, len(items))
	for i := range items {
		all[i] = &items[i]
	}
	return all
}

// at returns an object if it has the given key, else nil.
func (k *kind[O]) at(key kit.Scope, b *border.Border, o O) *Object[O] {
	if k.key(o) != key {
		return nil
	}
	return k.object(b, o)
}

// follow records the objects in the cache of a connection, and their changes until ctx is done. It returns when all are
// known.
func (k *kind[O]) follow(ctx context.Context, c Connection) error {
	var mu sync.Mutex
	complete := false
	err := kit.Follow(ctx, c.Cache, k.empty(), func(_ context.Context, e kit.Event[O]) {
		mu.Lock()
		defer mu.Unlock()
		if complete {
			k.event(c.Border, e)
		}
	})
	if err != nil {
		return err
	}
	list, items := k.list()
	mu.Lock() // events wait; those that are older than the list are followed by newer ones
	err = c.Cache.List(ctx, list, client.InNamespace(k.view.clusterset), client.UnsafeDisableDeepCopy)
	var changed []kit.Scope
	if err == nil {
		changed, complete = k.replace(c.Border, items()), true
	}
	mu.Unlock()
	if err != nil {
		return fmt.Errorf("listing objects of the type %T: %w", k.empty(), err)
	}
	k.view.changes.Publish(changed...)
	return nil
}

func (k *kind[O]) replace(b *border.Border, items []O) (changed []kit.Scope) {
	all := make(map[kit.Scope]*Object[O], len(items))
	for _, o := range items {
		if key := k.key(o); key != (kit.Scope{}) {
			all[key] = k.object(b, o)
		}
	}
	k.view.mu.Lock()
	defer k.view.mu.Unlock()
	return k.objects.Replace(all, time.Now())
}

// event records a change of an object in the cache.
func (k *kind[O]) event(b *border.Border, e kit.Event[O]) {
	var key kit.Scope
	for _, version := range e.Versions() { // they have the same key, but somebody may have edited one such that it has none
		key = cmp.Or(key, k.key(version))
	}
	if key == (kit.Scope{}) {
		return
	}
	var object *Object[O]
	if !e.Deleted() {
		object = k.at(key, b, e.New)
	}
	k.view.mu.Lock()
	changed := k.objects.Put(key, object, time.Now())
	k.view.mu.Unlock()
	if changed {
		k.view.changes.Publish(key)
	}
}

// read reads an object without a cache, and returns how to decide about it.
func (k *kind[O]) read(ctx context.Context, c Connection, key kit.Scope) (verdict, error) {
	k.view.mu.RLock()
	number := k.objects.Read(key)
	k.view.mu.RUnlock()
	o := k.empty()
	err := c.Live.Get(ctx, client.ObjectKey{Namespace: k.view.clusterset, Name: k.name(key)}, o)
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	var object *Object[O]
	if err == nil {
		_, _ = c.Border.Transform(o) // cannot fail
		object = k.at(key, c.Border, o)
	}
	return func(counter belief.Counter, now time.Time) bool {
		return k.objects.Confirm(key, number, object, counter, now)
	}, nil
}
