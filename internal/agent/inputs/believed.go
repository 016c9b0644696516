package inputs

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/belief"
	"github.com/atoll-mcs/atoll/internal/broker/border"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/contribution"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// remembered is of how many objects that were ended the revisions are remembered, so that a restored backup does not bring them back.
const remembered = 100_000

// Beliefs are what this process believes of other members' objects on the broker (docs/protocol.md). They outlive sessions. Create them with NewBeliefs.
type Beliefs struct {
	suspicions *belief.Suspicions
	lost       func(names.ClusterID) bool
	changed    func(types.NamespacedName)

	mu       sync.Mutex
	records  map[types.NamespacedName]map[names.ClusterID]*brokerv1alpha1.ExportedService // the last ones that were believed
	policies map[types.NamespacedName]*brokerv1alpha1.ServicePolicy
	ended    *lru.Cache // revisions by the keys of objects that were ended
	removed  map[names.ClusterID]bool
	joined   map[names.ClusterID]int // how often a member that had been removed has joined again
}

// NewBeliefs returns beliefs about nothing. lost tells of which members the endpoints are withdrawn; changed is called with services of which something
// else is believed although nothing has changed on the broker.
func NewBeliefs(suspicions *belief.Suspicions, lost func(names.ClusterID) bool, changed func(types.NamespacedName)) *Beliefs {
	return &Beliefs{
		suspicions: suspicions, lost: lost, changed: changed, ended: lru.New(remembered),
		records: map[types.NamespacedName]map[names.ClusterID]*brokerv1alpha1.ExportedService{}, policies: map[types.NamespacedName]*brokerv1alpha1.ServicePolicy{},
		removed: map[names.ClusterID]bool{}, joined: map[names.ClusterID]int{},
	}
}

// Member notes whether a member has been removed. When it joins again, the revisions of what it had are forgotten, so that it may start with any.
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

// key is an object's, of a kind and a name on the broker.
func (s *Beliefs) key(kind, name string, id names.ClusterID) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprintf("%s/%s/%d", kind, name, s.joined[id])
}

// owner is what is known of a member.
func (c *Cluster) owner(ctx context.Context, b *Broker, id names.ClusterID) (belief.Owner, error) {
	member, err := kit.Get(ctx, b, client.ObjectKey{Namespace: c.Clusterset, Name: id.String()}, &brokerv1alpha1.MemberCluster{})
	return belief.Owner{Removed: member != nil && member.Removed(), Lost: c.Beliefs.lost(id)}, err
}

// found is an object from the cache of the broker as belief has it.
func (b *Broker) found(object client.Object) *belief.Found {
	state, _ := b.Border.State(object)
	return &belief.Found{Revision: layout.Revision(object), Withdrawn: state == border.Withdrawn}
}

// remember notes at which revision an object was ended.
func (s *Beliefs) remember(object string, revision int64) {
	if revision > 0 {
		s.ended.Add(object, revision)
	}
}

// endedAt returns at which revision an object was ended, 0 where that is not known.
func (s *Beliefs) endedAt(object string) int64 {
	revision, _ := s.ended.Get(object)
	of, _ := revision.(int64)
	return of
}

// decide decides about an object, and whether its owner has vouched. found returns it as it was read; read reads it again, past the cache. again is called when
// the owner vouches.
func (c *Cluster) decide(ctx context.Context, b *Broker, key string, id names.ClusterID, applied belief.Applied, owner belief.Owner, found func() *belief.Found, read func() error, again func()) (verdict belief.Verdict, vouched bool, _ error) {
	s := c.Beliefs
	verdict = belief.Decide(applied, found(), owner)
	if verdict == belief.Keep {
		by, vouched := s.suspicions.Suspect(key, id, time.Now(), again)
		if !vouched {
			return belief.Keep, false, nil
		}
		if err := read(); err != nil {
			return belief.Keep, false, fmt.Errorf("reading what its owner has vouched for: %w", err)
		}
		lease, err := kit.Get(ctx, b.Live, client.ObjectKey{Namespace: c.Clusterset, Name: id.String()}, &coordinationv1.Lease{})
		if err != nil {
			return belief.Keep, false, fmt.Errorf("reading whether its owner's counter stands: %w", err)
		}
		if lease != nil {
			counter := layout.Counter(lease)
			owner.Vouched, owner.Refused = by.Stands(counter), counter.Refused
		}
		if verdict = belief.Decide(applied, found(), owner); verdict == belief.Keep { // the broker has lost what was read since then, or refuses it
			s.suspicions.Clear(key)
			s.suspicions.Suspect(key, id, time.Now(), again)
			return belief.Keep, false, nil
		}
	}
	s.suspicions.Clear(key)
	return verdict, owner.Vouched, nil
}

// DecideSlice decides about another cluster's slice, of which this cluster has imported have, nil for nothing. source is the slice on the broker, nil for
// none; where its owner has vouched it was read past the cache. The slice is judged again by again when the owner vouches.
func (c *Cluster) DecideSlice(ctx context.Context, b *Broker, cluster names.ClusterID, of types.NamespacedName, have, source *discoveryv1.EndpointSlice, again func()) (belief.Verdict, *discoveryv1.EndpointSlice, error) {
	name := names.BrokerSlice(cluster, of.Namespace, of.Name)
	key := c.Beliefs.key("slice", name, cluster)
	applied := belief.Applied{Exists: have != nil, Revision: c.Beliefs.endedAt(key)}
	if have != nil {
		applied.Revision = layout.Revision(have)
	}
	owner, err := c.owner(ctx, b, cluster)
	if err != nil {
		return belief.Keep, nil, err
	}
	found := func() *belief.Found {
		if source == nil {
			return nil
		}
		return b.found(source)
	}
	read := func() (err error) {
		if source, err = kit.Get(ctx, b.Live, client.ObjectKey{Namespace: c.Clusterset, Name: name}, &discoveryv1.EndpointSlice{}); source != nil {
			b.Border.Admit(source)
		}
		return err
	}
	verdict, vouched, err := c.decide(ctx, b, key, cluster, applied, owner, found, read, again)
	if err != nil || verdict == belief.Keep {
		return verdict, source, err
	}
	switch {
	case verdict == belief.Apply:
		c.Beliefs.ended.Remove(key)
	case source != nil:
		c.Beliefs.remember(key, layout.Revision(source))
	case vouched:
		c.Beliefs.ended.Remove(key)
	}
	return verdict, source, nil
}

// Remember notes the revision of an imported slice that is removed for another reason than its owner's.
func (s *Beliefs) Remember(have *discoveryv1.EndpointSlice, cluster names.ClusterID, source types.NamespacedName) {
	s.remember(s.key("slice", names.BrokerSlice(cluster, source.Namespace, source.Name), cluster), layout.Revision(have))
}

// believed returns the records of other clusters that count, of one service, and the clusters of which it is not known what they export: their records
// were there before this process began, and are missing.
func (c *Cluster) believed(ctx context.Context, b *Broker, service types.NamespacedName) (records []*brokerv1alpha1.ExportedService, awaited []names.ClusterID, err error) {
	imp, err := kit.Get(ctx, c.Client, service, &mcsv1beta1.ServiceImport{}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, nil, err
	}
	applied := map[names.ClusterID]int64{}
	if imp != nil {
		applied = Applied(imp)
	}
	list := &brokerv1alpha1.ExportedServiceList{}
	if err := b.List(ctx, list, client.InNamespace(c.Clusterset), client.MatchingFields{layout.ByService: service.String()}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, nil, fmt.Errorf("listing the records of %s: %w", service, err)
	}
	cached := map[names.ClusterID]*brokerv1alpha1.ExportedService{}
	for i := range list.Items {
		cached[names.ClusterID(list.Items[i].Spec.ClusterID)] = &list.Items[i]
	}
	ids := maps.Clone(applied)
	for id := range cached {
		ids[id] = 0
	}
	c.Beliefs.mu.Lock()
	for id := range c.Beliefs.records[service] {
		ids[id] = 0
	}
	c.Beliefs.mu.Unlock()
	delete(ids, c.ID)
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		record, known, err := c.decideRecord(ctx, b, service, id, cached[id], applied[id])
		switch {
		case err != nil:
			return nil, nil, err
		case !known:
			awaited = append(awaited, id)
		case record != nil && b.Permissions().MayExport(id, service.Namespace):
			records = append(records, record)
		}
	}
	return records, awaited, nil
}

// decideRecord returns what is believed of a cluster's record of a service: the record, nil for none, and whether that is known. cached is what the cache
// has, applied the revision that the import says it was made of.
func (c *Cluster) decideRecord(ctx context.Context, b *Broker, service types.NamespacedName, id names.ClusterID, cached *brokerv1alpha1.ExportedService, applied int64) (record *brokerv1alpha1.ExportedService, known bool, _ error) {
	s, name := c.Beliefs, names.Export(id, service.Namespace, service.Name)
	key := s.key("record", name, id)
	owner, err := c.owner(ctx, b, id)
	if err != nil {
		return nil, false, err
	}
	last, state := s.last(service, id, key, applied)
	owner.Lost = owner.Lost && (last == nil || last.Spec.OnClusterLoss != names.OnLossKeep)
	found := func() *belief.Found {
		if cached == nil {
			return nil
		}
		return b.found(cached)
	}
	read := func() (err error) {
		if cached, err = kit.Get(ctx, b.Live, client.ObjectKey{Namespace: c.Clusterset, Name: name}, &brokerv1alpha1.ExportedService{}); cached != nil {
			_, _ = b.Border.Transform(cached) // which returns no error
		}
		return err
	}
	verdict, vouched, err := c.decide(ctx, b, key, id, state, owner, found, read, func() { s.changed(service) })
	if err != nil || verdict == belief.Keep {
		return last, last != nil || !state.Exists, err
	}
	if vouched {
		defer s.changed(service) // others that read the records have to know
	}
	if verdict == belief.Apply {
		if state, _ := b.Border.State(cached); state == border.Full {
			record = cached
		}
	}
	s.setLast(service, id, key, record, found(), cached != nil || applied > 0)
	return record, true, nil
}

// last returns the record of a cluster that was believed last, and what is imported of it. Before this process has judged, what the import says of itself
// counts: that it was made of a revision.
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

// setLast notes the record that is believed, nil for none. That there is none has to be noted as long as something says that there was one.
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

// Policy returns what the hub says of a service, nil where it says nothing, and whether that is known. The hub is one more owner, which is never lost: as
// long as it is away, a policy that is missing counts as it was.
func (c *Cluster) Policy(ctx context.Context, service types.NamespacedName) (policy *brokerv1alpha1.ServicePolicySpec, known bool, _ error) {
	s, b, name := c.Beliefs, c.Broker(), names.Aggregate(service.Namespace, service.Name)
	s.mu.Lock()
	last := s.policies[service]
	s.mu.Unlock()
	if last == nil {
		var err error
		if last, err = c.exportedBecauseOf(ctx, service); err != nil {
			return nil, false, err
		}
	}
	if b != nil {
		cached, err := kit.Get(ctx, b, client.ObjectKey{Namespace: c.Clusterset, Name: name}, &brokerv1alpha1.ServicePolicy{})
		if err != nil {
			return nil, false, err
		}
		if last, err = c.decidePolicy(ctx, b, service, cached, last); err != nil {
			return nil, false, err
		}
	}
	if last == nil || layout.Withdrawn(last) {
		return nil, b != nil || last != nil, nil
	}
	return &last.Spec, true, nil
}

// decidePolicy returns the policy of a service that is believed, nil for none. cached is what the cache has, last what was believed.
func (c *Cluster) decidePolicy(ctx context.Context, b *Broker, service types.NamespacedName, cached, last *brokerv1alpha1.ServicePolicy) (*brokerv1alpha1.ServicePolicy, error) {
	s := c.Beliefs
	found := func() *belief.Found {
		if cached == nil || cached.Spec.Service() != service {
			return nil
		}
		return layout.Found(cached)
	}
	read := func() (err error) {
		cached, err = kit.Get(ctx, b.Live, client.ObjectKey{Namespace: c.Clusterset, Name: names.Aggregate(service.Namespace, service.Name)}, &brokerv1alpha1.ServicePolicy{})
		return err
	}
	applied := belief.Applied{}
	if last != nil {
		applied = belief.Applied{Exists: !layout.Withdrawn(last), Revision: layout.Revision(last)}
	}
	verdict, vouched, err := c.decide(ctx, b, "policy/"+names.Aggregate(service.Namespace, service.Name), names.HubOwner, applied, belief.Owner{}, found, read, func() { s.changed(service) })
	if err != nil || verdict == belief.Keep {
		return last, err
	}
	if vouched {
		defer s.changed(service)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if found() == nil {
		cached = nil
	}
	if s.policies[service] = cached; cached == nil {
		delete(s.policies, service)
	}
	return cached, nil
}

// exportedBecauseOf returns the policy that this cluster's ServiceExport was made for, as it says, nil for none: an agent that starts while the broker has
// lost the policy must not open what it restricts.
func (c *Cluster) exportedBecauseOf(ctx context.Context, service types.NamespacedName) (*brokerv1alpha1.ServicePolicy, error) {
	export, err := kit.Get(ctx, c.Client, service, &mcsv1beta1.ServiceExport{}, client.UnsafeDisableDeepCopy)
	if err != nil || export == nil || !contribution.ByPolicy(export) {
		return nil, err
	}
	policy := &brokerv1alpha1.ServicePolicy{}
	if json.Unmarshal([]byte(export.Annotations[names.AnnotationPolicy]), &policy.Spec) != nil {
		return nil, nil // somebody has changed it
	}
	policy.Annotations = map[string]string{names.AnnotationRevision: export.Annotations[names.AnnotationRevision]}
	return policy, nil
}

// Because returns the annotations by which a ServiceExport says which policy it was made for.
func (c *Cluster) Because(service types.NamespacedName) map[string]string {
	c.Beliefs.mu.Lock()
	policy := c.Beliefs.policies[service]
	c.Beliefs.mu.Unlock()
	if policy == nil {
		return nil
	}
	text, _ := json.Marshal(policy.Spec) // which is made of strings
	return map[string]string{names.AnnotationPolicy: string(text), names.AnnotationRevision: policy.Annotations[names.AnnotationRevision]}
}

// Revisions returns those of the records of a service that are believed, as Applied has them. What said tells of clusters that are awaited stays.
func (s *Beliefs) Revisions(service types.NamespacedName, said map[names.ClusterID]int64, awaited []names.ClusterID) string {
	revisions := map[names.ClusterID]int64{}
	for _, id := range awaited {
		revisions[id] = said[id]
	}
	s.mu.Lock()
	for id, record := range s.records[service] {
		if record != nil {
			revisions[id] = layout.Revision(record)
		}
	}
	s.mu.Unlock()
	var all []string
	for _, id := range slices.Sorted(maps.Keys(revisions)) {
		all = append(all, fmt.Sprintf("%s=%d", id, revisions[id]))
	}
	return strings.Join(all, ",")
}

// Applied returns the revisions of the records that a ServiceImport was made of.
func Applied(imp *mcsv1beta1.ServiceImport) map[names.ClusterID]int64 {
	all := map[names.ClusterID]int64{}
	for of := range strings.SplitSeq(imp.Annotations[names.AnnotationApplied], ",") {
		id, text, _ := strings.Cut(of, "=")
		if revision, err := strconv.ParseInt(text, 10, 64); err == nil && revision > 0 {
			all[names.ClusterID(id)] = revision
		}
	}
	return all
}
