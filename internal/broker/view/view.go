package view

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/belief"
	"github.com/atoll-mcs/atoll/internal/broker/border"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/broker/permissions"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// View is what this process believes about other members' records and the hub's policies. It outlives connections, and
// lives one term of leadership: a standby replica believes nothing. Its own objects on the broker are not part of it.
// Reads do not block, write or fail. Each change of an answer is published. Create with New.
type View struct {
	self       names.ClusterID
	clusterset string
	lost       func(names.ClusterID) bool
	changes    *kit.Changes[kit.Scope]
	reads      kit.Changes[kit.Scope]

	mu       sync.RWMutex // guards memory only: no read, write, callback or publication
	policies *kind[*brokerv1alpha1.ServicePolicy]
	records  *kind[*brokerv1alpha1.ExportedService]
	// exporters are the members with records of a service, by namespace and name, sorted. The lists are replaced, not changed.
	exporters map[string]map[string][]names.ClusterID
	removed   map[names.ClusterID]bool
	permitted permissions.Members
}

// Connection is a connection to the broker. Objects in Cache have passed Border; Live reads without a cache.
type Connection struct {
	Cache  cache.Cache
	Live   client.Reader
	Border *border.Border
}

// New returns a view in which everything is unknown. lost reports whether a member's endpoints are withdrawn, from memory;
// call Lost when that changes. Changes of answers are published to changes: the policy of a service, a member's record of a
// service, a member, or everything.
func New(clusterset string, self names.ClusterID, lost func(names.ClusterID) bool, changes *kit.Changes[kit.Scope]) *View {
	v := &View{self: self, clusterset: clusterset, lost: lost, changes: changes}
	v.policies, v.records = newPolicies(v), newRecords(v)
	v.Forget()
	return v
}

// Forget makes everything unknown again, because another replica leads: what it sees, this one does not. The view must
// not follow a connection meanwhile.
func (v *View) Forget() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.exporters, v.removed, v.permitted = map[string]map[string][]names.ClusterID{}, map[names.ClusterID]bool{}, nil
	v.policies.objects, v.records.objects = v.policies.none(), v.records.none()
}

// isLost reports whether a member's endpoints are withdrawn, and its record, nil if never seen, does not ask to keep them.
func (v *View) isLost(id names.ClusterID, record *brokerv1alpha1.ExportedService) bool {
	return v.lost(id) && (record == nil || record.Spec.OnClusterLoss != names.OnLossKeep)
}

// Known reports whether the objects of a connection were complete once.
func (v *View) Known() bool {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.records.objects.complete
}

// AppliedPolicy records a policy that this cluster follows, AppliedRecord the revision of a member's record that this
// cluster has imported: this process has seen neither yet. Call them before Follow.
func (v *View) AppliedPolicy(policy *brokerv1alpha1.ServicePolicy) {
	v.mu.Lock()
	defer v.mu.Unlock()
	service := policy.Spec.Service()
	policy.Name = names.Aggregate(service.Namespace, service.Name)
	v.policies.objects.Put(kit.Scope{Service: service}, v.policies.object(nil, policy), time.Now())
}

// AppliedRecord is described at AppliedPolicy.
func (v *View) AppliedRecord(service types.NamespacedName, member names.ClusterID, revision int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if member != v.self {
		v.records.objects.Applied(kit.Scope{Service: service, Member: member}, revision)
	}
}

// Policy returns the policy of a service that counts, or nil, and whether it is known. Callers must not change it.
func (v *View) Policy(service types.NamespacedName) (policy *brokerv1alpha1.ServicePolicy, known bool) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	answer := v.policies.objects.Get(kit.Scope{Service: service})
	if answer.Object == nil {
		return nil, answer.State != Unknown
	}
	return answer.Object.Value, true
}

// Export is another member's export of a service.
type Export struct {
	// Record must not be changed.
	Record *brokerv1alpha1.ExportedService
	// Lost is set if the member's endpoints are withdrawn, and its record does not ask to keep them.
	Lost bool
}

// Service returns the permitted exports of a service from other members, by their ids, and the members whose exports are
// unknown: they existed before this process, and are missing on the broker.
func (v *View) Service(service types.NamespacedName) (exports []Export, awaited []names.ClusterID) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	for _, id := range v.exporters[service.Namespace][service.Name] {
		switch export, known := v.export(id, service); {
		case !known:
			awaited = append(awaited, id)
		case export != nil:
			exports = append(exports, *export)
		}
	}
	return exports, awaited
}

// Export returns a member's permitted export of a service, or nil, and whether that is known.
func (v *View) Export(member names.ClusterID, service types.NamespacedName) (export *Export, known bool) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.export(member, service)
}

func (v *View) export(member names.ClusterID, service types.NamespacedName) (export *Export, known bool) {
	answer := v.records.objects.Get(kit.Scope{Service: service, Member: member})
	switch {
	case !v.permitted.MayExport(member, service.Namespace):
		return nil, true
	case answer.Object == nil:
		return nil, answer.State != Unknown
	}
	record := answer.Object.Value
	return &Export{record, v.isLost(member, record)}, true
}

// Services returns the services of which other members have records, or have had until they are known to have ended.
func (v *View) Services() (all []types.NamespacedName) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	for namespace := range v.exporters {
		all = v.appendServicesIn(all, namespace)
	}
	return all
}

// ServicesIn returns those of Services in a namespace.
func (v *View) ServicesIn(namespace string) []types.NamespacedName {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.appendServicesIn(nil, namespace)
}

func (v *View) appendServicesIn(all []types.NamespacedName, namespace string) []types.NamespacedName {
	for name := range v.exporters[namespace] {
		all = append(all, types.NamespacedName{Namespace: namespace, Name: name})
	}
	return all
}

// ServicesOf returns those of Services that are of one member.
func (v *View) ServicesOf(member names.ClusterID) (all []types.NamespacedName) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	for key := range v.records.objects.owned[member] {
		all = append(all, key.Service)
	}
	return all
}

// indexRecord keeps exporters. Callers hold mu.
func (v *View) indexRecord(key kit.Scope, there bool) {
	of := v.exporters[key.Service.Namespace]
	i, _ := slices.BinarySearch(of[key.Service.Name], key.Member)
	switch {
	case there && of == nil:
		v.exporters[key.Service.Namespace] = map[string][]names.ClusterID{key.Service.Name: {key.Member}}
	case there:
		of[key.Service.Name] = slices.Insert(slices.Clone(of[key.Service.Name]), i, key.Member)
	case len(of[key.Service.Name]) > 1:
		of[key.Service.Name] = slices.Delete(slices.Clone(of[key.Service.Name]), i, i+1)
	default:
		if delete(of, key.Service.Name); len(of) == 0 {
			delete(v.exporters, key.Service.Namespace)
		}
	}
}

// Permissions returns the members' permissions. If their ConfigMap is missing, its last content applies: administrators
// must write it to permit more. Callers must not change them.
func (v *View) Permissions() permissions.Members {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.permitted
}

func (v *View) permit(config *corev1.ConfigMap) {
	members, _ := permissions.Read(config) // atoll broker members list shows mistakes
	v.mu.Lock()
	same := reflect.DeepEqual(v.permitted, members) // as on a new connection
	v.permitted = members
	v.mu.Unlock()
	if !same {
		v.changes.Publish(kit.Scope{})
	}
}

// Lost decides again about a member that is lost, or is not any more, and publishes the member.
func (v *View) Lost(id names.ClusterID) {
	v.mu.Lock()
	changed := v.records.objects.Owner(id, false, time.Now())
	v.mu.Unlock()
	v.changes.Publish(append(changed, kit.Scope{Member: id})...) // the member may not have some of these services any more
}

// Member records whether a member is removed from the clusterset. If it has joined again, its revisions may start at any
// number.
func (v *View) Member(id names.ClusterID, removed bool) {
	v.mu.Lock()
	var changed []kit.Scope
	if joined := v.removed[id] && !removed; joined || removed && !v.removed[id] {
		if delete(v.removed, id); removed {
			v.removed[id] = true
		}
		changed = v.records.objects.Owner(id, joined, time.Now())
	}
	v.mu.Unlock()
	v.changes.Publish(changed...)
}

// Follow records the objects in the cache of a new connection, and their changes until ctx is done. It returns when all
// are known.
func (v *View) Follow(ctx context.Context, c Connection) error {
	err := kit.Follow(ctx, c.Cache, &brokerv1alpha1.MemberCluster{}, func(_ context.Context, e kit.Event[*brokerv1alpha1.MemberCluster]) {
		if e.New != nil { // else a person may have deleted it
			v.Member(names.ClusterID(e.New.Name), e.New.Removed())
		}
	})
	if err != nil {
		return err
	}
	err = kit.Follow(ctx, c.Cache, &corev1.ConfigMap{}, func(_ context.Context, e kit.Event[*corev1.ConfigMap]) {
		if e.New != nil {
			v.permit(e.New)
		}
	})
	if err != nil {
		return err
	}
	if v.self != names.HubOwner {
		if err := v.policies.follow(ctx, c); err != nil {
			return err
		}
	}
	return v.records.follow(ctx, c)
}

// Replace records all objects that a connection shows, as Follow does, without following. Records have passed b.
func (v *View) Replace(b *border.Border, policies []*brokerv1alpha1.ServicePolicy, records []*brokerv1alpha1.ExportedService) {
	v.changes.Publish(append(v.policies.replace(b, policies), v.records.replace(b, records)...)...)
}

// Observe records the owners' comparison counters from a read that began at began.
func (v *View) Observe(began time.Time, counters map[names.ClusterID]belief.Counter) {
	v.mu.Lock()
	read := append(v.policies.objects.Observe(began, counters), v.records.objects.Observe(began, counters)...)
	v.mu.Unlock()
	v.reads.Publish(read...)
}

// Waits reports whether anything waits for a confirmation of its owner, and so for Observe.
func (v *View) Waits() bool {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.policies.objects.Suspicious()+v.records.objects.Suspicious() > 0
}

// Confirmer returns the controller of a connection that reads suspicious objects, which their owners have confirmed, from
// the broker without a cache.
func (v *View) Confirmer(c Connection) (controller.TypedController[kit.Scope], error) {
	return kit.New("confirm", reconcile.TypedFunc[kit.Scope](func(ctx context.Context, key kit.Scope) (reconcile.Result, error) {
		return reconcile.Result{}, v.confirm(ctx, c, key)
	}), kit.On(&v.reads, func(_ context.Context, key kit.Scope) []kit.Scope {
		if key != (kit.Scope{}) {
			return []kit.Scope{key}
		}
		v.mu.RLock() // the start: some may have been confirmed just before
		defer v.mu.RUnlock()
		return append(v.policies.objects.Reading(), v.records.objects.Reading()...)
	}))
}

// verdict decides about an object that was read. It is called while mu is held.
type verdict func(counter belief.Counter, now time.Time) (changed bool)

func (v *View) confirm(ctx context.Context, c Connection, key kit.Scope) error {
	read, owner := v.records.read, key.Member
	if key.Member == "" {
		read, owner = v.policies.read, names.HubOwner
	}
	decide, err := read(ctx, c, key)
	if err != nil {
		return fmt.Errorf("reading an object that its owner, %s, has confirmed: %w", owner, err)
	}
	lease, err := kit.Get(ctx, c.Live, client.ObjectKey{Namespace: v.clusterset, Name: owner.String()}, &coordinationv1.Lease{})
	if err != nil {
		return fmt.Errorf("reading the comparison counter of %s: %w", owner, err)
	}
	counter := belief.Counter{}
	if lease != nil {
		counter = layout.Counter(lease)
	}
	v.mu.Lock()
	changed := decide(counter, time.Now())
	v.mu.Unlock()
	if changed {
		v.changes.Publish(key)
	}
	return nil
}
