package broker

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/belief"
	"github.com/atoll-mcs/atoll/internal/broker/border"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// remembered is how many ended objects' revisions are remembered, so that a restored backup does not revive them.
const remembered = 100_000

// Beliefs are this process's beliefs about other members' objects on the broker (docs/explanation/protocol.md). They
// outlive connections. Create with NewBeliefs.
type Beliefs struct {
	// Suspicions receive the members' Leases from the code that reads them.
	Suspicions *belief.Suspicions
	// Lost reports whether a member's endpoints are withdrawn.
	Lost func(names.ClusterID) bool

	clusterset string
	changed    func(types.NamespacedName)

	mu      sync.Mutex
	records map[types.NamespacedName]map[names.ClusterID]*brokerv1alpha1.ExportedService // the last believed ones
	ended   *lru.Cache                                                                   // revisions by the keys of ended objects
	removed map[names.ClusterID]bool
	joined  map[names.ClusterID]int // how often a removed member has joined again
}

// Connection reads the broker: Cache through a border's transform, Live without a cache.
type Connection struct {
	Cache, Live client.Reader
	Border      *border.Border
}

// found returns a cached object for package belief.
func (c Connection) found(object client.Object) *belief.Found {
	state, _ := c.Border.State(object)
	return &belief.Found{Revision: layout.Revision(object), Withdrawn: state == border.Withdrawn}
}

// NewBeliefs returns empty beliefs. changed is called with services whose beliefs change without an event.
func NewBeliefs(clusterset string, suspicions *belief.Suspicions, lost func(names.ClusterID) bool, changed func(types.NamespacedName)) *Beliefs {
	return &Beliefs{
		Suspicions: suspicions, Lost: lost, clusterset: clusterset, changed: changed, ended: lru.New(remembered),
		records: map[types.NamespacedName]map[names.ClusterID]*brokerv1alpha1.ExportedService{},
		removed: map[names.ClusterID]bool{}, joined: map[names.ClusterID]int{},
	}
}

// Member records whether a member is removed. If it joins again, its revisions may start at any number.
func (s *Beliefs) Member(id names.ClusterID, removed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if removed {
		s.removed[id] = true
	} else if s.removed[id] {
		delete(s.removed, id)
		s.joined[id]++
	}
}

// key returns the key of an object, by its kind and name on the broker.
func (s *Beliefs) key(kind, name string, id names.ClusterID) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprintf("%s/%s/%d", kind, name, s.joined[id])
}

// owner returns the state of a member.
func (s *Beliefs) owner(ctx context.Context, c Connection, id names.ClusterID) (belief.Owner, error) {
	member, err := kit.Get(ctx, c.Cache, client.ObjectKey{Namespace: s.clusterset, Name: id.String()}, &brokerv1alpha1.MemberCluster{})
	return belief.Owner{Removed: member != nil && member.Removed(), Lost: s.Lost(id)}, err
}

// remember records the revision at which an object ended.
func (s *Beliefs) remember(object string, revision int64) {
	if revision > 0 {
		s.ended.Add(object, revision)
	}
}

// endedAt returns the revision at which an object ended, 0 if unknown.
func (s *Beliefs) endedAt(object string) int64 {
	revision, _ := s.ended.Get(object)
	of, _ := revision.(int64)
	return of
}

// Object is an object to decide about.
type Object struct {
	// Key identifies the object.
	Key     string
	OwnerID names.ClusterID
	Owner   belief.Owner
	Applied belief.Applied
	// Found returns the object as last read, or nil. Read reads it again, without the cache.
	Found func() *belief.Found
	Read  func() error
	// Again is called when the owner confirms.
	Again func()
}

// Decide returns the verdict on an object, and whether its owner has confirmed.
func (s *Beliefs) Decide(ctx context.Context, live client.Reader, o Object) (verdict belief.Verdict, confirmed bool, _ error) {
	verdict = belief.Decide(o.Applied, o.Found(), o.Owner)
	if verdict == belief.Keep {
		by, confirmed := s.Suspicions.Suspect(o.Key, o.OwnerID, time.Now(), o.Again)
		if !confirmed {
			return belief.Keep, false, nil
		}
		if err := o.Read(); err != nil {
			return belief.Keep, false, fmt.Errorf("reading the object that the owner's cluster has confirmed: %w", err)
		}
		lease, err := kit.Get(ctx, live, client.ObjectKey{Namespace: s.clusterset, Name: o.OwnerID.String()}, &coordinationv1.Lease{})
		if err != nil {
			return belief.Keep, false, fmt.Errorf("reading the comparison counter of the owner's cluster: %w", err)
		}
		if lease != nil {
			counter := layout.Counter(lease)
			o.Owner.Confirmed, o.Owner.Refused = by.Stands(counter), counter.Refused
		}
		if verdict = belief.Decide(o.Applied, o.Found(), o.Owner); verdict == belief.Keep { // the broker has lost the object since it was read, or refuses it
			s.Suspicions.Clear(o.Key)
			s.Suspicions.Suspect(o.Key, o.OwnerID, time.Now(), o.Again)
			return belief.Keep, false, nil
		}
	}
	s.Suspicions.Clear(o.Key)
	return verdict, o.Owner.Confirmed, nil
}

// Slice decides about another cluster's slice. have is the imported slice, source the one on the broker; both may be
// nil. If the owner has confirmed, source was read without the cache. again is called when the owner confirms.
func (s *Beliefs) Slice(ctx context.Context, c Connection, cluster names.ClusterID, of types.NamespacedName, have, source *discoveryv1.EndpointSlice, again func()) (belief.Verdict, *discoveryv1.EndpointSlice, error) {
	name := names.BrokerSlice(cluster, of.Namespace, of.Name)
	key := s.key("slice", name, cluster)
	applied := belief.Applied{Exists: have != nil, Revision: s.endedAt(key)}
	if have != nil {
		applied.Revision = layout.Revision(have)
	}
	owner, err := s.owner(ctx, c, cluster)
	if err != nil {
		return belief.Keep, nil, err
	}
	found := func() *belief.Found {
		if source == nil {
			return nil
		}
		return c.found(source)
	}
	read := func() (err error) {
		if source, err = kit.Get(ctx, c.Live, client.ObjectKey{Namespace: s.clusterset, Name: name}, &discoveryv1.EndpointSlice{}); source != nil {
			c.Border.Admit(source)
		}
		return err
	}
	verdict, confirmed, err := s.Decide(ctx, c.Live, Object{Key: key, OwnerID: cluster, Owner: owner, Applied: applied, Found: found, Read: read, Again: again})
	if err != nil || verdict == belief.Keep {
		return verdict, source, err
	}
	switch {
	case verdict == belief.Apply:
		s.ended.Remove(key)
	case source != nil:
		s.remember(key, layout.Revision(source))
	case confirmed:
		s.ended.Remove(key)
	}
	return verdict, source, nil
}

// Remember records the revision of an imported slice that is removed for a reason other than its owner's.
func (s *Beliefs) Remember(have *discoveryv1.EndpointSlice, cluster names.ClusterID, source types.NamespacedName) {
	s.remember(s.key("slice", names.BrokerSlice(cluster, source.Namespace, source.Name), cluster), layout.Revision(have))
}

// Records returns a service's believed records, except that of self, and the clusters whose exports are unknown: their
// records existed before this process began, and are missing. applied has the last applied revisions.
func (s *Beliefs) Records(ctx context.Context, c Connection, service types.NamespacedName, self names.ClusterID, applied map[names.ClusterID]int64) (records []*brokerv1alpha1.ExportedService, awaited []names.ClusterID, _ error) {
	list := &brokerv1alpha1.ExportedServiceList{}
	if err := c.Cache.List(ctx, list, client.InNamespace(s.clusterset), client.MatchingFields{layout.ByService: service.String()}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, nil, fmt.Errorf("listing the ExportedServices of %s: %w", service, err)
	}
	cached := map[names.ClusterID]*brokerv1alpha1.ExportedService{}
	for i := range list.Items {
		cached[names.ClusterID(list.Items[i].Spec.ClusterID)] = &list.Items[i]
	}
	ids := slices.AppendSeq(slices.Collect(maps.Keys(applied)), maps.Keys(cached))
	s.mu.Lock()
	ids = slices.AppendSeq(ids, maps.Keys(s.records[service]))
	s.mu.Unlock()
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		if id == self {
			continue
		}
		record, known, err := s.Record(ctx, c, service, id, cached[id], applied[id])
		switch {
		case err != nil:
			return nil, nil, err
		case !known:
			awaited = append(awaited, id)
		case record != nil:
			records = append(records, record)
		}
	}
	return records, awaited, nil
}

// Record returns the believed record of a cluster, or nil, and whether it is known. cached is the cache's record,
// applied the last applied revision.
func (s *Beliefs) Record(ctx context.Context, c Connection, service types.NamespacedName, id names.ClusterID, cached *brokerv1alpha1.ExportedService, applied int64) (record *brokerv1alpha1.ExportedService, known bool, _ error) {
	name := names.Export(id, service.Namespace, service.Name)
	key := s.key("record", name, id)
	owner, err := s.owner(ctx, c, id)
	if err != nil {
		return nil, false, err
	}
	last, state := s.last(service, id, key, applied)
	owner.Lost = owner.Lost && (last == nil || last.Spec.OnClusterLoss != names.OnLossKeep)
	found := func() *belief.Found {
		if cached == nil {
			return nil
		}
		return c.found(cached)
	}
	read := func() (err error) {
		if cached, err = kit.Get(ctx, c.Live, client.ObjectKey{Namespace: s.clusterset, Name: name}, &brokerv1alpha1.ExportedService{}); cached != nil {
			_, _ = c.Border.Transform(cached) // cannot fail
		}
		return err
	}
	verdict, confirmed, err := s.Decide(ctx, c.Live, Object{
		Key: key, OwnerID: id, Owner: owner, Applied: state, Found: found, Read: read, Again: func() { s.changed(service) },
	})
	if err != nil || verdict == belief.Keep {
		return last, last != nil || !state.Exists, err
	}
	if confirmed {
		defer s.changed(service) // notify other readers of the records
	}
	if verdict == belief.Apply {
		if state, _ := c.Border.State(cached); state == border.Full {
			record = cached
		}
	}
	s.setLast(service, id, key, record, found(), cached != nil || applied > 0)
	return record, true, nil
}

// last returns a cluster's last believed record, and what is imported of it. Before this process has decided, only the
// applied revision counts.
func (s *Beliefs) last(service types.NamespacedName, id names.ClusterID, key string, applied int64) (*brokerv1alpha1.ExportedService, belief.Applied) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, judged := s.records[service][id]
	switch {
	case last != nil:
		return last, belief.Applied{Exists: true, Revision: layout.Revision(last)}
	case judged || applied == 0:
		return nil, belief.Applied{Revision: s.endedAt(key)}
	}
	return nil, belief.Applied{Exists: true, Revision: applied}
}

// setLast records the believed record. A nil is recorded only with note: while an object lists an applied revision.
func (s *Beliefs) setLast(service types.NamespacedName, id names.ClusterID, key string, record *brokerv1alpha1.ExportedService, found *belief.Found, note bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case record == nil && found != nil:
		s.remember(key, found.Revision)
	case record != nil:
		s.ended.Remove(key)
	}
	of := s.records[service]
	if record == nil && !note {
		if delete(of, id); len(of) == 0 {
			delete(s.records, service)
		}
		return
	}
	if of == nil {
		of = map[names.ClusterID]*brokerv1alpha1.ExportedService{}
		s.records[service] = of
	}
	of[id] = record
}

// Release forgets the records of a service that is not used any more.
func (s *Beliefs) Release(service types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.records, service)
}

// Revisions returns the revisions of a service's believed records.
func (s *Beliefs) Revisions(service types.NamespacedName) map[names.ClusterID]int64 {
	revisions := map[names.ClusterID]int64{}
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, record := range s.records[service] {
		if record != nil {
			revisions[id] = layout.Revision(record)
		}
	}
	return revisions
}
