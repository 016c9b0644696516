// Package inputs reads the inputs of the agent's controllers: this cluster's exports, and the accepted exports of other
// clusters.
package inputs

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/agent/local"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/broker/view"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/contribution"
	"github.com/atoll-mcs/atoll/internal/mcs/drain"
	"github.com/atoll-mcs/atoll/internal/mcs/merge"
	"github.com/atoll-mcs/atoll/internal/mcs/metadata"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/refusal"
	"github.com/atoll-mcs/atoll/internal/mcs/share"
)

// Cluster is this cluster as a member of a clusterset.
type Cluster struct {
	ID names.ClusterID
	// Clusterset is the clusterset's namespace on the broker, BrokerName tells it from those on other brokers.
	Clusterset, BrokerName string
	Network                local.ServiceNetwork
	// PublishesPods is set if the cluster advertises pods, not its Services' cluster IPs.
	PublishesPods bool
	// Refuses is what the agent's flags refuse.
	Refuses refusal.Agent
	// ServiceMetadata are the exported labels and annotations that derived Services get in all namespaces.
	ServiceMetadata metadata.Keys
	// Client reads this cluster from caches and writes to it. Live reads without caches.
	Client client.Client
	Live   client.Reader
	// Stages order the writes when many exports change at once.
	Stages kit.Stages
	// View is what is believed of other members' records and EndpointSlices, and of the hub's policies.
	View *view.View
	// Changes publishes changes of the view, of this cluster's objects on the broker, and of lost members. A Scope with a
	// service and a member is the member's record; a Scope with a service alone is its policy. A Scope with a slice is another
	// member's, or one of this cluster: one to check or, if it has a service, one that has just been published for the first time.
	Changes kit.Changes[kit.Scope]

	broker atomic.Pointer[Broker]

	mu     sync.Mutex
	oldest *share.Oldest // of this cluster's ServiceExports
}

// Export records a change of one of this cluster's ServiceExports. Record all of them before any is published: of too many, the
// oldest are.
func (c *Cluster) Export(_ context.Context, e kit.Event[*mcsv1beta1.ServiceExport]) {
	export := e.Latest()
	service := client.ObjectKeyFromObject(export)
	c.mu.Lock()
	if c.oldest == nil {
		c.oldest = share.NewOldest(share.Records)
	}
	var changed []types.NamespacedName
	if e.Deleted() {
		changed = c.oldest.Delete(service)
	} else {
		changed = c.oldest.Set(service, export.CreationTimestamp.Time)
	}
	c.mu.Unlock()
	for _, service := range changed {
		c.Changes.Publish(kit.Scope{Service: service, Member: c.ID})
	}
}

func (c *Cluster) isTooMany(export types.NamespacedName) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.oldest != nil && c.oldest.Exceeds(export)
}

// Broker is a connection to the broker.
type Broker struct {
	// Client reads the broker from a cache with the indexes of layout, and writes to it. Live reads without the cache.
	client.Client
	Live client.Reader
}

// SetBroker sets a connection's broker, once its caches are synced. After the connection ends, they stay in use until the
// next connection's caches are synced.
func (c *Cluster) SetBroker(b *Broker) { c.broker.Store(b) }

// Broker returns the broker, or nil until its caches have synced once.
func (c *Cluster) Broker() *Broker { return c.broker.Load() }

// Own reads this cluster's part in a service. While no policy is known, the one that its ServiceExport was created for
// applies.
func (c *Cluster) Own(ctx context.Context, service types.NamespacedName) (local.Own, error) {
	return c.own(ctx, service, c.Policy(service))
}

func (c *Cluster) own(ctx context.Context, key types.NamespacedName, policy *brokerv1alpha1.ServicePolicySpec) (local.Own, error) {
	export, err := kit.Get(ctx, c.Client, key, &mcsv1beta1.ServiceExport{})
	if err != nil || export == nil || export.DeletionTimestamp != nil {
		return local.Own{}, err
	}
	service, err := kit.Get(ctx, c.Client, key, &corev1.Service{})
	if err != nil {
		return local.Own{}, err
	}
	own := local.Own{Export: export, Service: service, Validity: contribution.Validate(service)}
	if service == nil {
		own.Contribution, err = c.lastContribution(ctx, key)
		return own, err
	}
	if own.Validity.Valid && !c.View.Permissions().MayExport(c.ID, key.Namespace) {
		own.Validity = contribution.NotPermitted(c.ID, c.Clusterset, key.Namespace)
	}
	if !own.Validity.Valid {
		return own, nil
	}
	if c.isTooMany(key) {
		own.Withheld = contribution.TooMany
		return own, nil
	}
	if made := exportedBecauseOf(export); policy == nil && made != nil { // until policyexport has deleted the ServiceExport
		policy = &made.Spec
	}
	if own.Drain, err = c.drain(ctx, export); err != nil {
		return local.Own{}, err
	}
	spec, refused := contribution.Of(c.ID, c.Network.Families, export, service, policy)
	spec.Drained = own.Drain.Drained
	preference, err := c.TrafficPolicy(ctx, KindExport, key)
	if err != nil {
		return local.Own{}, err
	}
	if preference != nil {
		spec.Preference = &preference.Spec.Preference
	}
	own.Refused = refused
	if _, some := policy.Restrict(spec); some {
		own.Contribution = &spec
	} else {
		own.Withheld = contribution.Withheld(service, policy)
	}
	return own, nil
}

// drain reads whether this cluster drains an exported service.
func (c *Cluster) drain(ctx context.Context, export *mcsv1beta1.ServiceExport) (drain.State, error) {
	from := []metav1.Object{export}
	for _, name := range []string{export.Namespace, names.SystemNamespace} {
		namespace, err := c.namespace(ctx, name)
		if err != nil {
			return drain.State{}, err
		}
		if namespace != nil {
			from = append(from, namespace)
		}
	}
	return drain.Of(time.Now(), from...), nil
}

// lastContribution returns what the record of a deleted Service has, until the record's reconciler withdraws it.
func (c *Cluster) lastContribution(ctx context.Context, service types.NamespacedName) (*merge.Export, error) {
	b := c.Broker()
	if b == nil {
		return nil, nil
	}
	record, err := b.Record(ctx, c.Clusterset, c.ID, service)
	if err != nil || record == nil || layout.Withdrawn(record) {
		return nil, err
	}
	return &record.Spec, nil
}

// namespace returns a namespace, or nil. Callers must not change it.
func (c *Cluster) namespace(ctx context.Context, name string) (*corev1.Namespace, error) {
	return kit.Get(ctx, c.Client, client.ObjectKey{Name: name}, &corev1.Namespace{}, client.UnsafeDisableDeepCopy)
}

// Exports reads the exports of a service: this cluster's from its objects, others' from the view, which must be known.
func (c *Cluster) Exports(ctx context.Context, service types.NamespacedName) (exported local.Exported, err error) {
	namespace, err := c.namespace(ctx, service.Namespace)
	if err != nil || namespace == nil {
		return exported, err
	}
	exported.Rules = refusal.In(service.Namespace, namespace.Labels, namespace.Annotations, c.Refuses)
	if namespace.DeletionTimestamp != nil {
		return exported, nil
	}
	policy := c.Policy(service)
	others, awaited := c.View.Service(service)
	exported.Awaited, exported.Revisions = awaited, map[names.ClusterID]int64{}
	for _, id := range c.View.TooManyOf(service) {
		exported.LeftOut = append(exported.LeftOut, local.LeftOut{Cluster: id.String(), Reason: refusal.TooManyExports})
	}
	if exported.Own, err = c.own(ctx, service, policy); err != nil || !policy.Consumes(c.ID.String()) {
		return exported, err
	}
	for _, e := range constituents(policy, exported.Own.Contribution, others) {
		if !e.Consumes(c.ID.String()) {
			continue
		}
		id := names.ClusterID(e.ClusterID)
		if reason := exported.Rules.Reason(id); id != c.ID && reason != "" {
			exported.LeftOut = append(exported.LeftOut, local.LeftOut{Cluster: e.ClusterID, Reason: reason})
			continue
		}
		exported.Imported = append(exported.Imported, e)
		if i := slices.IndexFunc(others, func(o *brokerv1alpha1.ExportedService) bool { return o.Spec.ClusterID == e.ClusterID }); i >= 0 {
			exported.Revisions[id] = layout.Revision(others[i])
		}
	}
	return exported, nil
}

// Refusals returns the rules for which other clusters' exports a namespace refuses.
func (c *Cluster) Refusals(ctx context.Context, name string) (refusal.Rules, error) {
	namespace := &corev1.Namespace{}
	err := client.IgnoreNotFound(c.Client.Get(ctx, client.ObjectKey{Name: name}, namespace, client.UnsafeDisableDeepCopy))
	return refusal.In(name, namespace.Labels, namespace.Annotations, c.Refuses), err
}

// ServiceMetadataIn returns the exported labels and annotations that derived Services of a namespace get.
func (c *Cluster) ServiceMetadataIn(ctx context.Context, name string) (metadata.Keys, error) {
	namespace, err := c.namespace(ctx, name)
	if namespace == nil {
		return c.ServiceMetadata, err
	}
	keys, _ := metadata.ParseKeys(namespace.Annotations[names.AnnotationServiceMetadata]) // of an invalid text, none
	return slices.Concat(c.ServiceMetadata, keys), nil
}

// DrainedBy returns the exports that a change of a namespace drains, or no longer: its own, or all if it is Atoll's.
func (c *Cluster) DrainedBy(ctx context.Context, e kit.Event[*corev1.Namespace]) []reconcile.Request {
	if e.Initial || e.Old == nil || e.New == nil || !annotationChanges(e.Old, e.New, names.AnnotationDrained) {
		return nil
	}
	var in []client.ListOption
	if e.New.Name != names.SystemNamespace {
		in = append(in, client.InNamespace(e.New.Name))
	}
	exports, err := local.ServiceExports(ctx, c.Client, in...)
	if err != nil {
		return nil // the cache has stopped
	}
	return exports
}

func annotationChanges(from, to client.Object, key string) bool {
	before, had := from.GetAnnotations()[key]
	after, has := to.GetAnnotations()[key]
	return had != has || before != after
}

// Conflicting reads the exports of a service that can conflict with own, including own. Refusals do not matter, so that
// all clusters report the same conflicts. In a namespace that is closed to imports, other exports do not count: there
// the name has a different meaning in each cluster.
func (c *Cluster) Conflicting(ctx context.Context, service types.NamespacedName, own *merge.Export) ([]merge.Export, error) {
	others, _ := c.View.Service(service)
	rules, err := c.Refusals(ctx, service.Namespace)
	if err != nil {
		return nil, err
	}
	if rules.Closed {
		others = nil
	}
	return constituents(c.Policy(service), own, others), nil
}

// constituents are the exports of a service that are merged, with the ports that the hub's policy allows. Exports for
// the hub alone are left out.
func constituents(policy *brokerv1alpha1.ServicePolicySpec, own *merge.Export, others []*brokerv1alpha1.ExportedService) []merge.Export {
	var all, from []merge.Export
	if own != nil {
		from = append(from, *own)
	}
	for _, export := range append(from, specs(others)...) {
		if export.Scope == brokerv1alpha1.ScopeHub {
			continue
		}
		if restricted, some := policy.Restrict(export); some {
			all = append(all, restricted)
		}
	}
	return all
}

func specs(records []*brokerv1alpha1.ExportedService) (all []merge.Export) {
	for _, r := range records {
		all = append(all, r.Spec)
	}
	return all
}

// Published returns the exports of a service by the records of all clusters, including this one, and the clusters whose
// exports are unknown.
func (c *Cluster) Published(ctx context.Context, b *Broker, service types.NamespacedName) ([]merge.Export, []names.ClusterID, error) {
	others, awaited := c.View.Service(service)
	all := specs(others)
	own, err := b.Record(ctx, c.Clusterset, c.ID, service)
	if own != nil && !layout.Withdrawn(own) && c.View.Permissions().MayExport(c.ID, service.Namespace) {
		all = append(all, own.Spec)
	}
	return slices.DeleteFunc(all, func(e merge.Export) bool { return e.Scope == brokerv1alpha1.ScopeHub }), awaited, err
}

// Record returns a cluster's cached record of a service, or nil.
func (b *Broker) Record(ctx context.Context, clusterset string, cluster names.ClusterID, service types.NamespacedName) (*brokerv1alpha1.ExportedService, error) {
	return kit.Get(ctx, b, client.ObjectKey{Namespace: clusterset, Name: names.Export(cluster, service.Namespace, service.Name)}, &brokerv1alpha1.ExportedService{})
}

// Slice returns the cached slice on the broker that a cluster made from one of its own slices, or nil.
func (b *Broker) Slice(ctx context.Context, clusterset string, cluster names.ClusterID, source types.NamespacedName) (*discoveryv1.EndpointSlice, error) {
	return kit.Get(ctx, b, client.ObjectKey{Namespace: clusterset, Name: names.BrokerSlice(cluster, source.Namespace, source.Name)}, &discoveryv1.EndpointSlice{})
}

// Reference refers to a cluster's MemberCluster in an Event.
func (c *Cluster) Reference(cluster names.ClusterID) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: brokerv1alpha1.GroupVersion.String(), Kind: "MemberCluster", Namespace: c.Clusterset, Name: cluster.String(),
	}
}
