package view

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/belief"
	"github.com/atoll-mcs/atoll/internal/broker/border"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/share"
)

// View is what this process believes about other members' records and EndpointSlices, and the hub's policies. It outlives
// connections, and lives one term of leadership: a standby replica believes nothing. Its own objects on the broker are not
// part of it. Reads do not block, write or fail. Each change of an answer is published. Create with New.
type View struct {
	self       names.ClusterID
	clusterset string
	lost       func(names.ClusterID) bool
	changes    *kit.Changes[kit.Scope]
	reads      kit.Changes[kit.Scope]
	// Events publishes the objects of which a cache has shown a change, before Changes do, if it changes an answer.
	Events kit.Changes[kit.Scope]

	mu        sync.RWMutex // guards memory only: no read, write or publication
	policies  *kind[*brokerv1alpha1.ServicePolicy]
	records   *kind[*brokerv1alpha1.ExportedService]
	slices    *kind[*discoveryv1.EndpointSlice]
	members   map[names.ClusterID]*member
	permitted permitted
	wanted    map[types.NamespacedName]bool     // services, or namespaces
	drained   map[kit.Scope]int64               // revisions of the drained records that count; nil before the first call of Drained
	limit     int                               // of a member's records that count: share.Records
	oldest    map[names.ClusterID]*share.Oldest // of members with more records than that; nil until all are known
	border    *border.Border                    // of the last connection
}

// anyKind is what kinds of all objects have in common.
type anyKind interface {
	reset()
	follow(context.Context, Connection) error
	read(ctx context.Context, c Connection, key kit.Scope, counter func() (belief.Counter, error)) error
	take() (changed, reads []kit.Scope, count []func())
	observe(time.Time, map[names.ClusterID]belief.Counter)
	owner(id names.ClusterID, joined bool, now time.Time)
	suspicious() int
	reading() []kit.Scope
}

// kinds returns all kinds. ofMembers are those that members own.
func (v *View) kinds() []anyKind     { return []anyKind{v.policies, v.records, v.slices} }
func (v *View) ofMembers() []anyKind { return []anyKind{v.records, v.slices} }

// Connection is a connection to the broker. Objects in Cache have passed Border; Live reads without a cache.
type Connection struct {
	Cache  cache.Cache
	Live   client.Reader
	Border *border.Border
}

// New returns a view in which everything is unknown, and nothing is wanted. lost reports whether a member's endpoints are
// withdrawn, from memory; call Lost when that changes. Changes of answers are published to changes: the policy of a service,
// a member's record of a service, a member's slice with its service, a member, or everything.
func New(clusterset string, self names.ClusterID, lost func(names.ClusterID) bool, changes *kit.Changes[kit.Scope]) *View {
	v := &View{self: self, clusterset: clusterset, lost: lost, changes: changes, limit: share.Records}
	v.policies, v.records, v.slices = newPolicies(v), newRecords(v), newSlices(v)
	v.Forget()
	return v
}

// Forget makes everything unknown again, because another replica leads: what it sees, this one does not. The view must
// not follow a connection meanwhile.
func (v *View) Forget() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.members, v.permitted, v.wanted = map[names.ClusterID]*member{}, permitted{}, map[types.NamespacedName]bool{}
	v.drained, v.oldest = nil, nil
	for _, k := range v.kinds() {
		k.reset()
	}
}

// change changes the view, and publishes what that changes. It is the only way to change objects.
func (v *View) change(f func(now time.Time)) {
	var changed, reads []kit.Scope
	var count []func()
	v.mu.Lock()
	now := time.Now()
	f(now)
	for _, k := range v.kinds() {
		c, r, n := k.take()
		if k == anyKind(v.records) {
			for _, record := range c {
				v.slices.again(record, now)
				v.noteDrained(record)
			}
			c = append(c, v.rank(c)...)
		}
		changed, reads, count = append(changed, c...), append(reads, r...), append(count, n...)
	}
	v.mu.Unlock()
	for _, f := range count {
		f()
	}
	v.changes.Publish(changed...)
	v.reads.Publish(reads...)
}

// Wants reports whether the records and endpoints of a service are wanted.
func (v *View) Wants(service types.NamespacedName) bool {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.wants(service)
}

func (v *View) wants(service types.NamespacedName) bool {
	return v.wanted[types.NamespacedName{Namespace: service.Namespace}] || v.wanted[service]
}

// Want sets whether the records and endpoints of a service are wanted, or, if its name is empty, of all services in its namespace.
func (v *View) Want(service types.NamespacedName, wanted bool) {
	if v.mu.RLock(); v.wanted[service] == wanted {
		v.mu.RUnlock()
		return
	}
	v.mu.RUnlock()
	var dropped []string
	var from *border.Border
	v.change(func(now time.Time) {
		if delete(v.wanted, service); wanted {
			v.wanted[service] = true
		}
		v.records.want(service, now)
		dropped, from = v.slices.want(service, now), v.border
	})
	for _, name := range dropped {
		from.Forget(name)
	}
}

// Room reads a slice that was over its member's limit.
func (v *View) Room(slice kit.Scope) {
	v.change(func(now time.Time) { v.slices.objects.Room(slice, now) })
}

// hasEnded reports whether a member is known not to export a service.
func (v *View) hasEnded(id names.ClusterID, service types.NamespacedName) bool {
	return v.records.objects.Get(kit.Scope{Service: service, Member: id}).State == None
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
// cluster has imported, AppliedSlice that of a member's slice of a service: this process has seen none of them yet. Call them
// before Follow.
func (v *View) AppliedPolicy(policy *brokerv1alpha1.ServicePolicy) {
	service := policy.Spec.Service()
	policy.Name = names.ServicePolicy(service.Namespace, service.Name)
	v.change(func(now time.Time) {
		v.policies.objects.Put(kit.Scope{Service: service}, v.policies.object(nil, policy), now)
	})
}

// AppliedRecord is described at AppliedPolicy.
func (v *View) AppliedRecord(service types.NamespacedName, member names.ClusterID, revision int64) {
	if member != v.self {
		v.change(func(time.Time) {
			v.records.objects.Applied(kit.Scope{Service: service, Member: member}, service, revision)
		})
	}
}

// AppliedSlice is described at AppliedPolicy.
func (v *View) AppliedSlice(slice kit.Scope, service types.NamespacedName, revision int64) {
	v.change(func(time.Time) { v.slices.objects.Applied(slice, service, revision) })
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

// ServicesWithPolicy returns the services that have a policy, or had one until it is known to have ended.
func (v *View) ServicesWithPolicy() []types.NamespacedName {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.policies.objects.services.all()
}

// Service returns the permitted records of a service from other members, by their ids, and the members whose records are
// unknown: they existed before this process, and are missing on the broker, or the service is not wanted. The record of a lost member counts. Callers must
// not change the records.
func (v *View) Service(service types.NamespacedName) (records []*brokerv1alpha1.ExportedService, awaited []names.ClusterID) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	for _, key := range v.records.objects.services.of(service) {
		switch record, known := v.record(key.Member, service); {
		case !known:
			awaited = append(awaited, key.Member)
		case record != nil:
			records = append(records, record)
		}
	}
	return records, awaited
}

// Record returns a member's permitted record of a service, or nil, and whether that is known. Callers must not change it.
func (v *View) Record(member names.ClusterID, service types.NamespacedName) (record *brokerv1alpha1.ExportedService, known bool) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.record(member, service)
}

func (v *View) record(member names.ClusterID, service types.NamespacedName) (record *brokerv1alpha1.ExportedService, known bool) {
	answer := v.records.objects.Get(kit.Scope{Service: service, Member: member})
	switch {
	case !v.permitted.members.MayExport(member, service.Namespace):
		return nil, true
	case answer.Object == nil || answer.Object.State == border.Refused:
		return nil, answer.State != Unknown
	case answer.Object.State == border.Stub:
		return nil, false
	case v.exceeds(member, service):
		return nil, true
	}
	return answer.Object.Value, true
}

// Drained returns the revisions of the drained records that count, by member and service, or nil as long as they are not known.
func (v *View) Drained() map[kit.Scope]int64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.drained == nil && v.records.objects.complete {
		v.drained = map[kit.Scope]int64{}
		for _, owned := range v.records.objects.entries {
			for key := range owned {
				v.noteDrained(key)
			}
		}
	}
	return maps.Clone(v.drained)
}

// noteDrained keeps drained current after a change of a record.
func (v *View) noteDrained(record kit.Scope) {
	if v.drained == nil {
		return
	}
	answer := v.records.objects.Get(record)
	if delete(v.drained, record); answer.Object != nil && answer.Object.Value.Spec.Drained {
		v.drained[record] = answer.Object.Revision
	}
}

// Services returns the services of which other members have records, or have had until they are known to have ended.
func (v *View) Services() (all []types.NamespacedName) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.records.objects.services.all()
}

// ServicesIn returns those of Services in a namespace.
func (v *View) ServicesIn(namespace string) []types.NamespacedName {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.records.objects.services.in(namespace)
}

// ServicesOf returns those of Services that are of one member.
func (v *View) ServicesOf(member names.ClusterID) (all []types.NamespacedName) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	for key := range v.records.objects.entries[member] {
		all = append(all, key.Service)
	}
	return all
}

// Slice returns another member's EndpointSlice, nil if there is none, and whether it is known. If it is not, what this cluster
// has imported of it stays. Callers must not change it.
func (v *View) Slice(member names.ClusterID, source types.NamespacedName) (slice *Object[*discoveryv1.EndpointSlice], known bool) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	answer := v.slices.objects.Get(kit.Scope{Member: member, Slice: source})
	return answer.Object, answer.State != Unknown
}

// SlicesOf returns the slices of a service, SlicesBy those of a member, and Slices all, as far as there is something to
// say about them.
func (v *View) SlicesOf(service types.NamespacedName) []kit.Scope {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return slices.Clone(v.slices.objects.services.of(service))
}

// SlicesBy is described at SlicesOf.
func (v *View) SlicesBy(member names.ClusterID) []kit.Scope {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return slices.Collect(maps.Keys(v.slices.objects.entries[member]))
}

// Slices is described at SlicesOf.
func (v *View) Slices() []kit.Scope {
	v.mu.RLock()
	defer v.mu.RUnlock()
	var all []kit.Scope
	for _, owned := range v.slices.objects.entries {
		all = slices.AppendSeq(all, maps.Keys(owned))
	}
	return all
}

// Lost decides again about a member that is lost, or is not any more, and publishes the member.
func (v *View) Lost(id names.ClusterID) {
	v.change(func(now time.Time) {
		for _, k := range v.ofMembers() {
			k.owner(id, false, now)
		}
	})
	v.changes.Publish(kit.Scope{Member: id})
}

// Follow records the objects in the cache of a new connection, and their changes until ctx is done. It returns when all
// are known.
func (v *View) Follow(ctx context.Context, c Connection) error {
	v.mu.Lock()
	v.border = c.Border
	v.mu.Unlock()
	err := kit.Follow(ctx, c.Cache, &brokerv1alpha1.MemberCluster{}, func(_ context.Context, e kit.Event[*brokerv1alpha1.MemberCluster]) {
		if e.New != nil { // else a person may have deleted it
			v.member(e.New)
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
	if err := v.slices.follow(ctx, c); err != nil {
		return err
	}
	return v.records.follow(ctx, c)
}

// Replace records all objects that a connection shows, as Follow does, without following. They have passed b.
func (v *View) Replace(b *border.Border, policies []*brokerv1alpha1.ServicePolicy, records []*brokerv1alpha1.ExportedService, slices ...*discoveryv1.EndpointSlice) {
	v.policies.replace(v.policies.all(b, policies))
	v.slices.replace(v.slices.all(b, slices))
	v.records.replace(v.records.all(b, records))
}

// Observe records the owners' comparison counters from a read that began at began.
func (v *View) Observe(began time.Time, counters map[names.ClusterID]belief.Counter) {
	v.change(func(time.Time) {
		for _, k := range v.kinds() {
			k.observe(began, counters)
		}
	})
}

// Waits reports whether anything waits for a confirmation of its owner, and so for Observe.
func (v *View) Waits() bool {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return slices.ContainsFunc(v.kinds(), func(k anyKind) bool { return k.suspicious() > 0 })
}

// Reader returns the controller of a connection that reads objects from the broker without a cache: suspicious ones, which
// their owners have confirmed, and wanted ones, of which the cache has no content.
func (v *View) Reader(c Connection) (controller.TypedController[kit.Scope], error) {
	return kit.New("reader", reconcile.TypedFunc[kit.Scope](func(ctx context.Context, key kit.Scope) (reconcile.Result, error) {
		return reconcile.Result{}, v.read(ctx, c, key)
	}), kit.On(&v.reads, func(_ context.Context, key kit.Scope) []kit.Scope {
		if key != (kit.Scope{}) {
			return []kit.Scope{key}
		}
		return v.reading() // the start: some may wait since before
	}))
}

func (v *View) reading() (keys []kit.Scope) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	for _, k := range v.kinds() {
		keys = append(keys, k.reading()...)
	}
	return keys
}

func (v *View) read(ctx context.Context, c Connection, key kit.Scope) error {
	var of anyKind = v.records
	owner := key.Member
	switch {
	case key.Slice.Name != "":
		of = v.slices
	case key.Member == "":
		of, owner = v.policies, names.HubOwner
	}
	return of.read(ctx, c, key, func() (belief.Counter, error) {
		lease, err := kit.Get(ctx, c.Live, client.ObjectKey{Namespace: v.clusterset, Name: owner.String()}, &coordinationv1.Lease{})
		if err != nil || lease == nil {
			return belief.Counter{}, err
		}
		return layout.Counter(lease), nil
	})
}
