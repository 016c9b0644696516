package inputs

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/broker/belief"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/contribution"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Beliefs are this process's beliefs about other members' objects and the hub's policies. Use NewBeliefs.
type Beliefs struct {
	*broker.Beliefs
	changed func(types.NamespacedName)

	mu       sync.Mutex
	policies map[types.NamespacedName]*brokerv1alpha1.ServicePolicy // the last believed ones
}

// NewBeliefs returns empty beliefs, as broker.NewBeliefs does.
func NewBeliefs(clusterset string, suspicions *belief.Suspicions, lost func(names.ClusterID) bool, changed func(types.NamespacedName)) *Beliefs {
	return &Beliefs{
		Beliefs: broker.NewBeliefs(clusterset, suspicions, lost, changed), changed: changed, policies: map[types.NamespacedName]*brokerv1alpha1.ServicePolicy{},
	}
}

// Connection returns the connection to the broker.
func (b *Broker) Connection() broker.Connection {
	return broker.Connection{Cache: b.Client, Live: b.Live, Border: b.Border}
}

// believed returns the believed records of a service from other clusters, and the clusters whose exports are unknown.
func (c *Cluster) believed(ctx context.Context, b *Broker, service types.NamespacedName) (records []*brokerv1alpha1.ExportedService, awaited []names.ClusterID, err error) {
	imp, err := kit.Get(ctx, c.Client, service, &mcsv1beta1.ServiceImport{}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, nil, err
	}
	var applied map[names.ClusterID]int64
	if imp != nil {
		applied = layout.Applied(imp)
	}
	records, awaited, err = c.Beliefs.Records(ctx, b.Connection(), service, c.ID, applied)
	permitted := b.Permissions()
	return slices.DeleteFunc(records, func(r *brokerv1alpha1.ExportedService) bool {
		return !permitted.MayExport(names.ClusterID(r.Spec.ClusterID), service.Namespace)
	}), awaited, err
}

// Policy returns the hub's policy of a service, or nil, and whether it is known. The hub counts as an owner that is
// never lost: while it is away, a missing policy still applies.
func (c *Cluster) Policy(ctx context.Context, service types.NamespacedName) (policy *brokerv1alpha1.ServicePolicySpec, known bool, _ error) {
	s, b, name := c.Beliefs, c.Broker(), names.Aggregate(service.Namespace, service.Name)
	s.mu.Lock()
	last, decided := s.policies[service]
	s.mu.Unlock()
	if !decided {
		export, err := kit.Get(ctx, c.Client, service, &mcsv1beta1.ServiceExport{}, client.UnsafeDisableDeepCopy)
		if err != nil {
			return nil, false, err
		}
		last = exportedBecauseOf(export)
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

// decidePolicy returns the believed policy, or nil. cached is the cache's, last the previously believed one.
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
	verdict, confirmed, err := s.Decide(ctx, b.Live, broker.Object{
		Key: "policy/" + names.Aggregate(service.Namespace, service.Name), OwnerID: names.HubOwner, Applied: applied, Found: found, Read: read,
		Again: func() { s.changed(service) },
	})
	if err != nil || verdict == belief.Keep {
		return last, err
	}
	if confirmed {
		defer s.changed(service)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if found() == nil {
		cached = nil
	}
	if cached != nil || last != nil { // the end of a policy is remembered: its ServiceExport may outlive it
		s.policies[service] = cached
	}
	return cached, nil
}

// exportedBecauseOf returns the policy that a ServiceExport (nil for none) records as its reason, or nil. An agent that
// starts while the broker has lost the policy must still restrict what the policy restricts.
func exportedBecauseOf(export *mcsv1beta1.ServiceExport) *brokerv1alpha1.ServicePolicy {
	if export == nil || !contribution.ByPolicy(export) {
		return nil
	}
	policy := &brokerv1alpha1.ServicePolicy{}
	if json.Unmarshal([]byte(export.Annotations[names.AnnotationPolicy]), &policy.Spec) != nil {
		return nil // a user has changed it
	}
	policy.Annotations = map[string]string{names.AnnotationRevision: export.Annotations[names.AnnotationRevision]}
	return policy
}

// Because returns the annotations by which a ServiceExport records the policy that it was made for.
func (c *Cluster) Because(service types.NamespacedName) map[string]string {
	c.Beliefs.mu.Lock()
	policy := c.Beliefs.policies[service]
	c.Beliefs.mu.Unlock()
	if policy == nil {
		return nil
	}
	text, _ := json.Marshal(policy.Spec) // cannot fail: it consists of strings
	return map[string]string{names.AnnotationPolicy: string(text), names.AnnotationRevision: policy.Annotations[names.AnnotationRevision]}
}

// AppliedRevisions returns the revisions of a service's believed records. Awaited clusters keep those in said.
func (s *Beliefs) AppliedRevisions(service types.NamespacedName, applied map[names.ClusterID]int64, awaited []names.ClusterID) string {
	revisions := s.Revisions(service)
	for _, id := range awaited {
		if _, believed := revisions[id]; !believed {
			revisions[id] = applied[id]
		}
	}
	var all []string
	for _, id := range slices.Sorted(maps.Keys(revisions)) {
		all = append(all, fmt.Sprintf("%s=%d", id, revisions[id]))
	}
	return strings.Join(all, ",")
}
