package broker

import (
	"context"
	"sync"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/names"
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

	exports   cache.SharedIndexInformer
	published cache.SharedIndexInformer
	members   cache.SharedIndexInformer

	mu                sync.Mutex
	exportHandlers    []func(*brokerv1alpha1.ExportedService)
	publishedHandlers []func(*discoveryv1.EndpointSlice)
	ctx               context.Context // set by Start; ends the informers of followed namespaces
	followed          map[string]*followed
	sliceHandlers     []func(*discoveryv1.EndpointSlice)
	syncHandlers      []func(namespace string)
}

// followed is the copy of one namespace's slices.
type followed struct {
	namespace string
	slices    cache.SharedIndexInformer
	cancel    context.CancelFunc // nil before the view has started
}

// byService is the index of objects on the broker by the service, in the member
// clusters, that they belong to.
const byService = "service"

// NewView returns a view that is empty until Start.
func NewView(c client.WithWatch, namespace string, self names.ClusterID) *View {
	return &View{
		Client:    c,
		Namespace: namespace,
		Self:      self,
		exports: newInformer(c, &brokerv1alpha1.ExportedServiceList{}, &brokerv1alpha1.ExportedService{},
			indexExports, client.InNamespace(namespace)),
		published: newInformer(c, &discoveryv1.EndpointSliceList{}, &discoveryv1.EndpointSlice{},
			indexLabels, client.InNamespace(namespace), client.MatchingLabels{
				names.LabelSourceCluster:   self.String(),
				discoveryv1.LabelManagedBy: names.AgentManager,
			}),
		members:  newMembers(c, namespace),
		followed: map[string]*followed{},
	}
}

// Start fills the view and keeps it current until ctx is done.
func (v *View) Start(ctx context.Context) error {
	v.mu.Lock()
	v.ctx = ctx
	for _, f := range v.followed {
		v.run(f)
	}
	v.mu.Unlock()
	go v.published.RunWithContext(ctx)
	go v.members.RunWithContext(ctx)
	go v.redeliver(ctx)
	v.exports.RunWithContext(ctx)
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
		deliver(v.exports, handlers)
	}
	if v.AwaitPublished(ctx) == nil {
		v.mu.Lock()
		handlers := v.publishedHandlers
		v.mu.Unlock()
		deliver(v.published, handlers)
	}
}

// NeedLeaderElection makes the view start on every replica, so that a new leader
// finds it filled.
func (v *View) NeedLeaderElection() bool { return false }

// ExportsSynced tells whether the view holds all exports: before that, a missing one
// means nothing.
func (v *View) ExportsSynced() bool { return v.exports.HasSynced() }

// PublishedSynced tells the same of the member's own slices.
func (v *View) PublishedSynced() bool { return v.published.HasSynced() }

// SlicesSynced tells the same of the other members' slices of a namespace.
func (v *View) SlicesSynced(namespace string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	f := v.followed[namespace]
	return f != nil && f.slices.HasSynced()
}

// Exports returns all exports of a service, the member's own record included.
func (v *View) Exports(service types.NamespacedName) []*brokerv1alpha1.ExportedService {
	return indexed[*brokerv1alpha1.ExportedService](v.exports, service)
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

// Constituents returns all exports of a service: own, which may be nil, and those of
// the other members. The own record is left out, for a cluster knows its own objects
// best, and without the broker.
func (v *View) Constituents(service types.NamespacedName, own *brokerv1alpha1.ExportedServiceSpec) []brokerv1alpha1.ExportedServiceSpec {
	var all []brokerv1alpha1.ExportedServiceSpec
	if own != nil {
		all = append(all, *own)
	}
	for _, e := range v.Exports(service) {
		if e.Spec.ClusterID != v.Self.String() {
			all = append(all, e.Spec)
		}
	}
	return all
}

// Published returns the member's own slices of a service.
func (v *View) Published(service types.NamespacedName) []*discoveryv1.EndpointSlice {
	return indexed[*discoveryv1.EndpointSlice](v.published, service)
}

// Slices returns the slices of a service that another cluster published, if the
// service's namespace is followed.
func (v *View) Slices(service types.NamespacedName, cluster names.ClusterID) []*discoveryv1.EndpointSlice {
	v.mu.Lock()
	f := v.followed[service.Namespace]
	v.mu.Unlock()
	if f == nil {
		return nil
	}
	var of []*discoveryv1.EndpointSlice
	for _, s := range indexed[*discoveryv1.EndpointSlice](f.slices, service) {
		if s.Labels[names.LabelSourceCluster] == cluster.String() {
			of = append(of, s)
		}
	}
	return of
}

// Follow makes the view hold the other members' slices of a namespace: one watch
// with an equality selector for each namespace, because widening one selector would
// list everything anew.
func (v *View) Follow(namespace string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.followed[namespace] != nil {
		return
	}
	f := &followed{namespace: namespace, slices: newInformer(v.Client, &discoveryv1.EndpointSliceList{}, &discoveryv1.EndpointSlice{},
		indexLabels, client.InNamespace(v.Namespace), client.MatchingLabelsSelector{Selector: v.others(namespace)})}
	for _, handler := range v.sliceHandlers {
		onChange(f.slices, handler)
	}
	v.followed[namespace] = f
	if v.ctx != nil {
		v.run(f)
	}
}

// others selects the slices of a namespace that come from other clusters.
func (v *View) others(namespace string) labels.Selector {
	selector := labels.SelectorFromSet(labels.Set{
		names.LabelServiceNamespace: namespace,
		discoveryv1.LabelManagedBy:  names.AgentManager,
	})
	return selector.Add(notEqual(names.LabelSourceCluster, v.Self.String()))
}

// run starts a followed namespace's copy and reports when it is complete. It is
// called with mu held.
func (v *View) run(f *followed) {
	var ctx context.Context
	ctx, f.cancel = context.WithCancel(v.ctx)
	go f.slices.RunWithContext(ctx)
	go func() {
		if !cache.WaitForCacheSync(ctx.Done(), f.slices.HasSynced) {
			return
		}
		v.mu.Lock()
		handlers, sliceHandlers := v.syncHandlers, v.sliceHandlers
		v.mu.Unlock()
		deliver(f.slices, sliceHandlers) // as redeliver does
		for _, handler := range handlers {
			handler(f.namespace)
		}
	}()
}

// Unfollow drops the copy of a namespace's slices.
func (v *View) Unfollow(namespace string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	f := v.followed[namespace]
	if f == nil {
		return
	}
	delete(v.followed, namespace)
	if f.cancel != nil {
		f.cancel()
	}
}

// OnExport has f called for every export that appears, changes or goes.
func (v *View) OnExport(f func(*brokerv1alpha1.ExportedService)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.exportHandlers = append(v.exportHandlers, f)
	onChange(v.exports, f)
}

// OnPublished has f called for every slice of the member's own that appears, changes
// or goes.
func (v *View) OnPublished(f func(*discoveryv1.EndpointSlice)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.publishedHandlers = append(v.publishedHandlers, f)
	onChange(v.published, f)
}

// OnSlice has f called for every slice of another member's that appears, changes or
// goes in a followed namespace.
func (v *View) OnSlice(f func(*discoveryv1.EndpointSlice)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.sliceHandlers = append(v.sliceHandlers, f)
	for _, followed := range v.followed {
		onChange(followed.slices, f)
	}
}

// OnSlicesSynced has f called with each namespace whose slices are complete for the
// first time since it is followed.
func (v *View) OnSlicesSynced(f func(namespace string)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.syncHandlers = append(v.syncHandlers, f)
}

// AwaitExports returns when the view holds all exports, or with ctx's error.
func (v *View) AwaitExports(ctx context.Context) error {
	return await(ctx, v.exports.HasSynced)
}

// AwaitPublished returns when the view holds the member's own slices, or with ctx's
// error.
func (v *View) AwaitPublished(ctx context.Context) error {
	return await(ctx, v.published.HasSynced)
}
