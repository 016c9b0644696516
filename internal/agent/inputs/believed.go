package inputs

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/broker/belief"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/broker/view"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/contribution"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Beliefs are this process's beliefs about other members' objects and the hub's policies. Use NewBeliefs.
type Beliefs struct {
	*broker.Beliefs
	Policies *view.Policies
}

// NewBeliefs returns empty beliefs, as broker.NewBeliefs does.
func NewBeliefs(clusterset string, suspicions *belief.Suspicions, lost func(names.ClusterID) bool, changed func(types.NamespacedName)) *Beliefs {
	return &Beliefs{broker.NewBeliefs(clusterset, suspicions, lost, changed), view.NewPolicies(clusterset, changed)}
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

// Policy returns the hub's believed policy of a service, or nil.
func (c *Cluster) Policy(service types.NamespacedName) *brokerv1alpha1.ServicePolicySpec {
	if policy, _ := c.Beliefs.Policies.Get(service); policy != nil {
		return &policy.Spec
	}
	return nil
}

// FollowPolicies records the policies that this cluster's ServiceExports were created for, then those of a connection
// until ctx is done. It returns when all policies are known.
func (c *Cluster) FollowPolicies(ctx context.Context, from cache.Cache) error {
	exports := &mcsv1beta1.ServiceExportList{}
	if err := c.Client.List(ctx, exports, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing the ServiceExports: %w", err)
	}
	for i := range exports.Items {
		export := &exports.Items[i]
		if _, known := c.Beliefs.Policies.Get(client.ObjectKeyFromObject(export)); known {
			continue // it is not the first connection
		}
		if policy := exportedBecauseOf(export); policy != nil {
			c.Beliefs.Policies.Applied(policy)
		}
	}
	return c.Beliefs.Policies.Follow(ctx, from)
}

// exportedBecauseOf returns the policy that a ServiceExport records as its reason, or nil. An agent that
// starts while the broker has lost the policy must still restrict what the policy restricts.
func exportedBecauseOf(export *mcsv1beta1.ServiceExport) *brokerv1alpha1.ServicePolicy {
	if !contribution.ByPolicy(export) {
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
	policy, _ := c.Beliefs.Policies.Get(service)
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
