package view

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
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
	rules   Rules[kit.Scope, O]
	objects *Objects[kit.Scope, O] // guarded by view.mu
	empty   func() O               // an object to read into
	// key returns an object's key, or the zero key if it is this process's own, or if its name belongs to another key.
	key func(O) kit.Scope
	// name returns the name on the broker of the object of a key.
	name func(kit.Scope) string
	// state returns what a connection's border has found.
	state func(*border.Border, O) (border.State, string)
	// without returns an object without its content; nil for kinds that are always wanted. keep counts one that is kept; nil for
	// kinds that have no budget.
	without func(O) O
	keep    func(b *border.Border, key kit.Scope, name string, kept O)
}

// sameVersion reports whether two objects are one version of one object.
func sameVersion[O client.Object](a, b O) bool {
	return a.GetUID() == b.GetUID() && a.GetResourceVersion() == b.GetResourceVersion() && a.GetResourceVersion() != ""
}

func compareScopes(a, b kit.Scope) int {
	return cmp.Or(strings.Compare(a.Member.String(), b.Member.String()), strings.Compare(a.Slice.Name, b.Slice.Name))
}

func newPolicies(v *View) *kind[*brokerv1alpha1.ServicePolicy] {
	k := &kind[*brokerv1alpha1.ServicePolicy]{
		view: v,
		rules: Rules[kit.Scope, *brokerv1alpha1.ServicePolicy]{
			Owner: func(kit.Scope) names.ClusterID { return names.HubOwner },
			OwnerState: func(kit.Scope, types.NamespacedName, *brokerv1alpha1.ServicePolicy) belief.Owner {
				return belief.Owner{}
			},
			Service: func(key kit.Scope, _ *brokerv1alpha1.ServicePolicy) types.NamespacedName { return key.Service },
		},
		empty: func() *brokerv1alpha1.ServicePolicy { return &brokerv1alpha1.ServicePolicy{} },
		name:  func(key kit.Scope) string { return names.ServicePolicy(key.Service.Namespace, key.Service.Name) },
		state: func(_ *border.Border, p *brokerv1alpha1.ServicePolicy) (border.State, string) { // the border lets the hub's objects pass
			if layout.Withdrawn(p) {
				return border.Withdrawn, ""
			}
			return border.Full, ""
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
		rules: Rules[kit.Scope, *brokerv1alpha1.ExportedService]{
			Owner: func(key kit.Scope) names.ClusterID { return key.Member },
			OwnerState: func(key kit.Scope, _ types.NamespacedName, last *brokerv1alpha1.ExportedService) belief.Owner {
				return belief.Owner{Removed: v.isRemoved(key.Member), Lost: v.isLost(key.Member, last)}
			},
			Service: func(key kit.Scope, _ *brokerv1alpha1.ExportedService) types.NamespacedName { return key.Service },
			Wants: func(r *brokerv1alpha1.ExportedService) bool {
				return v.self == names.HubOwner || v.wants(r.Spec.Service())
			},
		},
		empty: func() *brokerv1alpha1.ExportedService { return &brokerv1alpha1.ExportedService{} },
		key: func(r *brokerv1alpha1.ExportedService) kit.Scope {
			if id := names.ClusterID(r.Spec.ClusterID); id != v.self && id != "" { // the border empties a malformed one
				return kit.Scope{Service: r.Spec.Service(), Member: id}
			}
			return kit.Scope{}
		},
		name:  func(key kit.Scope) string { return names.Export(key.Member, key.Service.Namespace, key.Service.Name) },
		state: atBorder[*brokerv1alpha1.ExportedService],
		without: func(r *brokerv1alpha1.ExportedService) *brokerv1alpha1.ExportedService {
			return &brokerv1alpha1.ExportedService{ObjectMeta: r.ObjectMeta, Spec: border.StubOf(r.Spec)}
		},
	}
}

func newSlices(v *View) *kind[*discoveryv1.EndpointSlice] {
	return &kind[*discoveryv1.EndpointSlice]{
		view: v,
		rules: Rules[kit.Scope, *discoveryv1.EndpointSlice]{
			Owner: func(key kit.Scope) names.ClusterID { return key.Member },
			OwnerState: func(key kit.Scope, service types.NamespacedName, _ *discoveryv1.EndpointSlice) belief.Owner {
				// Nothing is suspicious about what is not wanted, so that its owner's confirmation is not read.
				return belief.Owner{Removed: v.isRemoved(key.Member), Lost: v.lost(key.Member) || !v.wants(service), Ended: v.hasEnded(key.Member, service)}
			},
			Service: func(_ kit.Scope, s *discoveryv1.EndpointSlice) types.NamespacedName { return layout.Service(s) },
			Wants:   func(s *discoveryv1.EndpointSlice) bool { return v.wants(layout.Service(s)) },
			Waits:   func(s *discoveryv1.EndpointSlice) bool { return v.border.Waits(s.Name) },
		},
		empty: func() *discoveryv1.EndpointSlice { return &discoveryv1.EndpointSlice{} },
		key: func(s *discoveryv1.EndpointSlice) kit.Scope {
			id, source := layout.Cluster(s), layout.Source(s)
			if id == v.self || id == "" || source == "" { // the border empties one with another's name
				return kit.Scope{}
			}
			return kit.Scope{Member: id, Slice: types.NamespacedName{Namespace: layout.Service(s).Namespace, Name: source}}
		},
		name: func(key kit.Scope) string {
			return names.BrokerSlice(key.Member, key.Slice.Namespace, key.Slice.Name)
		},
		state: atBorder[*discoveryv1.EndpointSlice],
		without: func(s *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
			return &discoveryv1.EndpointSlice{ObjectMeta: s.ObjectMeta, AddressType: s.AddressType}
		},
		keep: (*border.Border).Keep,
	}
}

func atBorder[O client.Object](b *border.Border, o O) (border.State, string) { return b.State(o) }

// reset forgets everything.
func (k *kind[O]) reset() {
	k.rules.Same, k.rules.Compare = sameVersion[O], compareScopes
	k.objects = NewObjects(k.rules)
}

func (k *kind[O]) object(b *border.Border, o O) *Object[O] {
	state, detail := k.state(b, o)
	return &Object[O]{Value: o, Revision: layout.Revision(o), State: state, Detail: detail}
}

// at returns an object if it has the given key, else nil.
func (k *kind[O]) at(key kit.Scope, b *border.Border, o O) *Object[O] {
	if k.key(o) != key {
		return nil
	}
	return k.object(b, o)
}

// follow records the objects in the cache of a connection, and their changes until ctx is done. It returns when all are
// known. Until then it only collects them, because objects that have not been shown yet would seem to be missing.
func (k *kind[O]) follow(ctx context.Context, c Connection) error {
	var mu sync.Mutex
	first := map[kit.Scope]*Object[O]{} // nil when all are known
	err := kit.Follow(ctx, c.Cache, k.empty(), func(_ context.Context, e kit.Event[O]) {
		mu.Lock()
		if first == nil {
			mu.Unlock() // its subscribers may wait for another cache
			k.event(c.Border, e)
			return
		}
		defer mu.Unlock()
		if key, object := k.changed(c.Border, e); object != nil {
			first[key] = object
		} else {
			delete(first, key)
		}
	})
	if err != nil {
		return err
	}
	k.view.change(func(now time.Time) {
		mu.Lock() // later events change the view after this
		defer mu.Unlock()
		k.objects.Replace(first, now)
		first = nil
	})
	return nil
}

// all returns objects by their keys.
func (k *kind[O]) all(b *border.Border, items []O) map[kit.Scope]*Object[O] {
	all := make(map[kit.Scope]*Object[O], len(items))
	for _, o := range items {
		if key := k.key(o); key != (kit.Scope{}) {
			all[key] = k.object(b, o)
		}
	}
	return all
}

func (k *kind[O]) replace(all map[kit.Scope]*Object[O]) {
	k.view.change(func(now time.Time) { k.objects.Replace(all, now) })
}

// changed returns the key of a changed object, or the zero key, and the object if it still has this key, else nil.
func (k *kind[O]) changed(b *border.Border, e kit.Event[O]) (key kit.Scope, object *Object[O]) {
	for _, version := range e.Versions() { // they have the same key, but somebody may have edited one such that it has none
		if found := k.key(version); found == (kit.Scope{}) {
			object = nil
		} else {
			key, object = found, k.object(b, version)
		}
	}
	if e.Deleted() {
		object = nil
	}
	return key, object
}

// event records a change of an object in the cache.
func (k *kind[O]) event(b *border.Border, e kit.Event[O]) {
	key, object := k.changed(b, e)
	if key == (kit.Scope{}) {
		return
	}
	k.view.Events.Publish(key)
	k.view.change(func(now time.Time) { k.objects.Put(key, object, now) })
}

// read reads an object for which Objects has asked, without a cache, and records the result. counter reads its owner's
// comparison counter.
func (k *kind[O]) read(ctx context.Context, c Connection, key kit.Scope, counter func() (belief.Counter, error)) error {
	for {
		if current, err := k.readOnce(ctx, c, key, counter); current || err != nil {
			return err
		}
	}
}

// readOnce is read, but returns false if the cache has got another version meanwhile.
func (k *kind[O]) readOnce(ctx context.Context, c Connection, key kit.Scope, counter func() (belief.Counter, error)) (current bool, err error) {
	k.view.mu.RLock()
	number, stub := k.objects.Read(key)
	k.view.mu.RUnlock()
	if number == 0 && stub == nil {
		return true, nil // an event has made it unnecessary
	}
	name := k.name(key)
	if k.keep != nil {
		defer c.Border.Begin(name)()
	}
	o := k.empty()
	err = c.Live.Get(ctx, client.ObjectKey{Namespace: k.view.clusterset, Name: name}, o)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("reading %s from the broker: %w", name, err)
	}
	var object *Object[O]
	if err == nil {
		if !c.Border.Read(o) {
			return false, nil
		}
		object = k.at(key, c.Border, o)
	}
	if stub != nil {
		k.view.change(func(now time.Time) { k.objects.Content(key, stub, object, now) })
		return true, nil
	}
	by, err := counter()
	if err != nil {
		return false, err
	}
	k.view.change(func(now time.Time) { k.objects.Confirm(key, number, object, by, now) })
	return true, nil
}

// want decides again about the objects of a service, or of all in a namespace if its name is empty, because they are wanted,
// or are not any more. It returns the names of those that are not.
func (k *kind[O]) want(service types.NamespacedName, now time.Time) (dropped []string) {
	services := []types.NamespacedName{service}
	if service.Name == "" {
		services = k.objects.services.in(service.Namespace)
	}
	for _, service := range services {
		for _, key := range slices.Clone(k.objects.services.of(service)) {
			if k.objects.Want(key, k.without, now); !k.view.wants(service) {
				dropped = append(dropped, k.name(key))
			}
		}
	}
	return dropped
}

// again decides again about the suspicious objects of a service and an owner, after a change of the owner's record.
func (k *kind[O]) again(record kit.Scope, now time.Time) {
	for _, key := range slices.Clone(k.objects.services.of(record.Service)) {
		if key.Member == record.Member {
			k.objects.Again(key, now)
		}
	}
}

// take returns the keys to publish, and those to read, and what counts the contents that are kept.
func (k *kind[O]) take() (changed, reads []kit.Scope, count []func()) {
	all, reads := k.objects.Take()
	for _, one := range all {
		one.Key.Service = one.Service
		changed = append(changed, one.Key)
	}
	for key, content := range k.objects.TakeKept() {
		if k.keep == nil {
			continue
		}
		from, name := k.view.border, k.name(key)
		if content == nil {
			count = append(count, func() { from.Release(name) })
		} else {
			count = append(count, func() { k.keep(from, key, name, content.Value) })
		}
	}
	return changed, reads, count
}

func (k *kind[O]) observe(began time.Time, counters map[names.ClusterID]belief.Counter) {
	k.objects.Observe(began, counters)
}

func (k *kind[O]) owner(id names.ClusterID, joined bool, now time.Time) {
	k.objects.Owner(id, joined, now)
}

func (k *kind[O]) suspicious() int      { return k.objects.Suspicious() }
func (k *kind[O]) reading() []kit.Scope { return k.objects.Reading() }
