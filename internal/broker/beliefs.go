package broker

import (
	"context"
	"fmt"
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

// Beliefs are this process's beliefs about other members' EndpointSlices on the broker (docs/explanation/protocol.md). They
// outlive connections. Create with NewBeliefs.
type Beliefs struct {
	// Suspicions receive the members' Leases from the code that reads them.
	Suspicions *belief.Suspicions
	// Lost reports whether a member's endpoints are withdrawn.
	Lost func(names.ClusterID) bool

	clusterset string

	mu      sync.Mutex
	ended   *lru.Cache // revisions by the keys of ended objects
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

// NewBeliefs returns empty beliefs.
func NewBeliefs(clusterset string, suspicions *belief.Suspicions, lost func(names.ClusterID) bool) *Beliefs {
	return &Beliefs{
		Suspicions: suspicions, Lost: lost, clusterset: clusterset, ended: lru.New(remembered),
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
