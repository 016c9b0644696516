package broker

import (
	"context"
	"slices"
	"sync"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/informers"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
)

// View is a live copy of what a member cluster needs of a clusterset's broker: all
// exports, the member's own EndpointSlices, the other members' EndpointSlices of the
// namespaces that it follows, and what all members say of themselves. A broker that
// can't be reached leaves the copy as it was.
//
// The objects that it returns are shared and must not be changed.
type View struct {
	// Client writes to the broker, and reads past the copy.
	Client client.WithWatch
	// Namespace is the clusterset's on the broker.
	Namespace string
	// Self is the member's own cluster id.
	Self names.ClusterID

	// Epoch tells whether what is missing was taken away by its owner.
	Epoch *Epoch

	exports   cache.SharedIndexInformer
	published cache.SharedIndexInformer
	members   cache.SharedIndexInformer
	policies  *policies

	slices *informers.Slices
	limit  limit

	mu                sync.Mutex
	left              bool // the view follows nothing any more
	memberHandlers    []cache.ResourceEventHandlerRegistration
	off               []func() // what takes other handlers off
	exportHandlers    []informers.Handler[*brokerv1alpha1.ExportedService]
	publishedHandlers []informers.Handler[*discoveryv1.EndpointSlice]
}

// NewView returns a view that is empty until Start. What members say of themselves is e's copy.
func NewView(c client.WithWatch, e *Epoch) *View {
	namespace, self := e.namespace, e.self
	v := &View{
		Client:    c,
		Namespace: namespace,
		Self:      self,
		Epoch:     e,
		exports: informers.NewTapped(c, e.taps.exports, &brokerv1alpha1.ExportedServiceList{}, &brokerv1alpha1.ExportedService{},
			cache.Indexers{byService: indexExports, byNamespace: indexNamespaces}, client.InNamespace(namespace)),
		published: informers.NewTapped(c, e.taps.slices, &discoveryv1.EndpointSliceList{}, &discoveryv1.EndpointSlice{},
			cache.Indexers{byService: indexLabels, bySource: indexSource}, client.InNamespace(namespace), ownSlices(self)),
		members:  e.members,
		policies: newPolicies(c, e),
	}
	informers.Clean(v.exports, v.cleanRecord)
	v.slices = informers.NewSlices(c, e.taps.slices, v.others, cache.Indexers{byCluster: indexCluster, bySource: indexSource})
	v.slices.Clean(validation.CleanSlice)
	e.mu.Lock()
	e.view = v
	e.mu.Unlock()
	return v
}

// cleanRecord removes the invalid parts of another member's record. The own record stays as it is on the broker, because the
// controller that writes it compares it.
func (v *View) cleanRecord(record *brokerv1alpha1.ExportedService) {
	if record.Spec.ClusterID != v.Self.String() {
		CleanRecord(record)
	}
}

// Start fills the view and keeps it current until ctx is done.
func (v *View) Start(ctx context.Context) error {
	v.OnPermission(v.permissionChanged)
	v.slices.Start(ctx)
	go v.published.RunWithContext(ctx)
	go v.policies.run(ctx)
	go v.redeliver(ctx)
	v.exports.RunWithContext(ctx)
	v.leave()
	return nil
}

// redeliver hands every object of the first lists to the handlers once more, when those
// lists are complete. Handlers are called for objects before that too, and whoever they
// tell finds that nothing can be decided yet and forgets about it.
func (v *View) redeliver(ctx context.Context) {
	if v.AwaitExports(ctx) == nil {
		v.mu.Lock()
		handlers := v.exportHandlers
		v.mu.Unlock()
		informers.Deliver(v.exports, handlers...)
	}
	if v.AwaitPublished(ctx) == nil {
		v.mu.Lock()
		handlers := v.publishedHandlers
		v.mu.Unlock()
		informers.Deliver(v.published, handlers...)
	}
}

// NeedLeaderElection makes the view start on every replica, so that a new leader
// finds it filled.
func (v *View) NeedLeaderElection() bool { return false }

// ExportsSynced tells whether the view holds all exports, what the hub says of them, and what members may export:
// before that, a missing one means nothing.
func (v *View) ExportsSynced() bool {
	return v.exports.HasSynced() && v.policies.synced() && v.Epoch.Permissions.Synced()
}

// PublishedSynced tells the same of the member's own slices.
func (v *View) PublishedSynced() bool { return v.published.HasSynced() }

// SlicesSynced tells the same of the other members' slices of a namespace.
func (v *View) SlicesSynced(namespace string) bool { return v.slices.Synced(namespace) }

// Exports returns all exports of a service, the member's own record included, without those of members that may not
// export the namespace. Records of others that are missing, and may be there all the same, are as they were.
func (v *View) Exports(service types.NamespacedName) []*brokerv1alpha1.ExportedService {
	return v.acceptedRecords(v.exportsAndKept(service))
}

// acceptedRecords leaves out records of members that may not export their namespace. It changes the list.
func (v *View) acceptedRecords(exports []*brokerv1alpha1.ExportedService) []*brokerv1alpha1.ExportedService {
	return slices.DeleteFunc(exports, func(e *brokerv1alpha1.ExportedService) bool {
		return !v.accepts(names.ClusterID(e.Spec.ClusterID), e.Spec.ServiceNamespace)
	})
}

func (v *View) exportsAndKept(service types.NamespacedName) []*brokerv1alpha1.ExportedService {
	exports := indexed[*brokerv1alpha1.ExportedService](v.exports, service)
	for _, kept := range v.Epoch.keptOf(service) {
		if !slices.ContainsFunc(exports, func(e *brokerv1alpha1.ExportedService) bool { return e.Spec.ClusterID == kept.Spec.ClusterID }) {
			exports = append(slices.Clip(exports), kept)
		}
	}
	return exports
}

// Hold tells whether what this cluster has of a service's export by another one is to stay as it is, because
// that is missing and may be there all the same, or is an earlier state. If so, the handlers of OnExport are
// called when it is known.
func (v *View) Hold(service types.NamespacedName, cluster names.ClusterID) bool {
	about := export{service, cluster}
	switch {
	case cluster == v.Self, !v.accepts(cluster, service.Namespace):
		return false
	case v.Export(service, cluster) != nil:
		return v.Epoch.holdOutdated(service, cluster, v, v.announcement(about))
	}
	return v.Epoch.Hold(service, cluster, v, v.announcement(about))
}

// Believes tells whether an importer may act on it that a slice of another cluster is missing, or is an older one than it has imported. Where it
// may not yet, again is called when it may.
func (v *View) Believes(service types.NamespacedName, cluster names.ClusterID, slice string, again func()) bool {
	return !v.accepts(cluster, service.Namespace) || !v.Epoch.Hold(service, cluster, key(serviceKey(service), cluster.String(), slice), again)
}

// HoldAny is Hold for any of the clusters in a list.
func (v *View) HoldAny(service types.NamespacedName, clusters []mcsv1beta1.ClusterStatus) bool {
	return slices.ContainsFunc(clusters, func(c mcsv1beta1.ClusterStatus) bool { return v.Hold(service, names.ClusterID(c.Cluster)) })
}

// Doubts tells whether what is missing of a member's services in a namespace may be there all the same.
func (v *View) Doubts(cluster names.ClusterID, namespace string) bool {
	return v.accepts(cluster, namespace) && v.Epoch.Doubts(cluster)
}

// announcement returns what calls the handlers of OnExport with an export of which something is known now.
func (v *View) announcement(about export) func() {
	return func() {
		v.mu.Lock()
		handlers := v.exportHandlers
		v.mu.Unlock()
		for _, handler := range handlers {
			handler(&brokerv1alpha1.ExportedService{Spec: brokerv1alpha1.ExportedServiceSpec{
				ClusterID: about.cluster.String(), ServiceNamespace: about.service.Namespace, ServiceName: about.service.Name,
			}}, false)
		}
	}
}

// Export returns one cluster's export of a service, or nil.
func (v *View) Export(service types.NamespacedName, cluster names.ClusterID) *brokerv1alpha1.ExportedService {
	for _, e := range v.Exports(service) {
		if e.Spec.ClusterID == cluster.String() {
			return e
		}
	}
	return nil
}

// OwnRecord returns the member's own record of a service, nil where it has none or has withdrawn it.
func (v *View) OwnRecord(service types.NamespacedName) *brokerv1alpha1.ExportedServiceSpec {
	if record := v.Export(service, v.Self); record != nil && !Withdrawn(record) {
		return &record.Spec
	}
	return nil
}

// Constituents returns the exports of a service for the clusterset, with the ports that the
// hub lets them have: own, which may be nil, and those of the other members. The own record is
// left out, for a cluster knows its own objects best, and without the broker. So are those of
// members that export too many (Admits).
func (v *View) Constituents(service types.NamespacedName, own *brokerv1alpha1.ExportedServiceSpec) []brokerv1alpha1.ExportedServiceSpec {
	return v.constituents(service, own, v.Admits)
}

// Candidates returns the same with those that are left out because their members export too many, for Admit.
func (v *View) Candidates(service types.NamespacedName, own *brokerv1alpha1.ExportedServiceSpec) []brokerv1alpha1.ExportedServiceSpec {
	return v.constituents(service, own, func(*brokerv1alpha1.ExportedService) bool { return true })
}

func (v *View) constituents(service types.NamespacedName, own *brokerv1alpha1.ExportedServiceSpec, admits func(*brokerv1alpha1.ExportedService) bool) []brokerv1alpha1.ExportedServiceSpec {
	var all []brokerv1alpha1.ExportedServiceSpec
	policy := v.Policy(service)
	add := func(export *brokerv1alpha1.ExportedServiceSpec) {
		if export.Scope == brokerv1alpha1.ScopeHub {
			return
		}
		if restricted, some := policy.Restrict(*export); some {
			all = append(all, restricted)
		}
	}
	if own != nil {
		add(own)
	}
	for _, e := range v.Exports(service) {
		if e.Spec.ClusterID != v.Self.String() && admits(e) {
			add(&e.Spec)
		}
	}
	return all
}

// Published returns the member's own slices of a service.
func (v *View) Published(service types.NamespacedName) []*discoveryv1.EndpointSlice {
	return indexed[*discoveryv1.EndpointSlice](v.published, service)
}

// PublishedFrom returns those of them that were made from one slice of the member's.
func (v *View) PublishedFrom(service types.NamespacedName, source string) []*discoveryv1.EndpointSlice {
	return informers.Indexed[*discoveryv1.EndpointSlice](v.published, bySource, key(serviceKey(service), v.Self.String(), source))
}

// Slices returns the slices of a service that another cluster published, if the
// service's namespace is followed and the cluster may export it.
func (v *View) Slices(service types.NamespacedName, cluster names.ClusterID) []*discoveryv1.EndpointSlice {
	if !v.accepts(cluster, service.Namespace) {
		return nil
	}
	return v.slices.ByIndex(service.Namespace, byCluster, key(serviceKey(service), cluster.String()))
}

// SlicesFrom returns those of them that the cluster made from one of its slices.
func (v *View) SlicesFrom(service types.NamespacedName, cluster names.ClusterID, source string) []*discoveryv1.EndpointSlice {
	if !v.accepts(cluster, service.Namespace) {
		return nil
	}
	return v.slices.ByIndex(service.Namespace, bySource, key(serviceKey(service), cluster.String(), source))
}

// Follow makes the view hold the other members' slices of a namespace.
func (v *View) Follow(namespace string) { v.slices.Follow(namespace) }

// Unfollow drops the copy of a namespace's slices.
func (v *View) Unfollow(namespace string) { v.slices.Unfollow(namespace) }

// FollowedFor returns for how long the view has followed a namespace, 0 where it does not.
func (v *View) FollowedFor(namespace string) time.Duration { return v.slices.FollowedFor(namespace) }

// Followed returns how many namespaces are followed, and how many slices the view holds of
// them.
func (v *View) Followed() (namespaces, slices int) { return v.slices.Count() }

// ownSlices selects the slices that a member has published.
func ownSlices(self names.ClusterID) client.MatchingLabels {
	return client.MatchingLabels{names.LabelSourceCluster: self.String(), discoveryv1.LabelManagedBy: names.AgentManager}
}

// others selects the slices of a namespace that come from other clusters.
func (v *View) others(namespace string) []client.ListOption {
	selector := labels.SelectorFromSet(labels.Set{
		names.LabelServiceNamespace: namespace,
		discoveryv1.LabelManagedBy:  names.AgentManager,
	})
	return []client.ListOption{client.InNamespace(v.Namespace), client.MatchingLabelsSelector{
		Selector: selector.Add(notEqual(names.LabelSourceCluster, v.Self.String())),
	}}
}

// OnExport has f called for every export that appears, changes or goes.
func (v *View) OnExport(f informers.Handler[*brokerv1alpha1.ExportedService]) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.exportHandlers = append(v.exportHandlers, f)
	informers.OnChange(v.exports, f)
}

// OnPublished has f called for every slice of the member's own that appears, changes
// or goes.
func (v *View) OnPublished(f informers.Handler[*discoveryv1.EndpointSlice]) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.publishedHandlers = append(v.publishedHandlers, f)
	informers.OnChange(v.published, f)
}

// OnSlice has f called for every slice of another member's that appears, changes or
// goes in a followed namespace.
func (v *View) OnSlice(f informers.Handler[*discoveryv1.EndpointSlice]) { v.slices.OnChange(f) }

// OnSlicesSynced has f called with each namespace whose slices are complete for the
// first time since it is followed.
func (v *View) OnSlicesSynced(f func(namespace string)) { v.slices.OnSynced(f) }

// AwaitExports returns when ExportsSynced is true, or with ctx's error.
func (v *View) AwaitExports(ctx context.Context) error {
	if err := v.policies.await(ctx); err != nil {
		return err
	}
	if err := v.Epoch.Permissions.Await(ctx); err != nil {
		return err
	}
	return informers.Await(ctx, v.exports.HasSyncedChecker())
}

// AwaitPublished returns when the view holds the member's own slices, or with ctx's
// error.
func (v *View) AwaitPublished(ctx context.Context) error {
	return informers.Await(ctx, v.published.HasSyncedChecker())
}
