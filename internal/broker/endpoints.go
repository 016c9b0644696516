package broker

import (
	"context"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/informers"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
)

// Endpoints is a live copy of what all members have published of the Services in a set of
// namespaces, for the hub. A broker that can't be reached leaves the copy as it was.
//
// The slices that it returns are shared and must not be changed.
type Endpoints struct {
	slices      *informers.Slices
	permissions *Permissions
}

// NewEndpoints returns a copy of no namespace of a clusterset's, in which members are permitted what permissions say, and have as much
// as metered allows.
func NewEndpoints(c client.WithWatch, clusterset string, permissions *Permissions, metered *informers.Metered) *Endpoints {
	selector := func(namespace string) []client.ListOption {
		return []client.ListOption{client.InNamespace(clusterset), client.MatchingLabels{
			names.LabelServiceNamespace: namespace,
			discoveryv1.LabelManagedBy:  names.AgentManager,
		}}
	}
	copies := informers.NewSlices(c, &informers.Tap{Metered: metered}, selector, cache.Indexers{byService: indexLabels})
	copies.Clean(validation.CleanSlice)
	return &Endpoints{slices: copies, permissions: permissions}
}

// Start keeps the copy current until ctx is done.
func (e *Endpoints) Start(ctx context.Context) error {
	e.slices.Start(ctx)
	<-ctx.Done()
	return nil
}

// Follow adds a namespace, of the member clusters'.
func (e *Endpoints) Follow(namespace string) { e.slices.Follow(namespace) }

// Unfollow drops a namespace.
func (e *Endpoints) Unfollow(namespace string) { e.slices.Unfollow(namespace) }

// Follows tells whether a namespace has been added.
func (e *Endpoints) Follows(namespace string) bool { return e.slices.Follows(namespace) }

// Synced tells whether all slices of a namespace are there: before that, a missing one means
// nothing.
func (e *Endpoints) Synced(namespace string) bool { return e.slices.Synced(namespace) }

// Of returns all slices of a service, without those of members that may not export its namespace.
func (e *Endpoints) Of(service types.NamespacedName) []*discoveryv1.EndpointSlice {
	return slices.DeleteFunc(e.slices.ByIndex(service.Namespace, byService, service.String()), func(s *discoveryv1.EndpointSlice) bool {
		return !e.permissions.MayExport(names.ClusterID(s.Labels[names.LabelSourceCluster]), service.Namespace)
	})
}

// OnChange has f called for every slice that appears, changes or goes.
func (e *Endpoints) OnChange(f informers.Handler[*discoveryv1.EndpointSlice]) { e.slices.OnChange(f) }

// OnSynced has f called with each namespace whose slices are complete for the first time since
// it is followed.
func (e *Endpoints) OnSynced(f func(namespace string)) { e.slices.OnSynced(f) }

// ServiceOf returns the service, in the member clusters, that an object on the broker belongs to by its labels.
func ServiceOf(object client.Object) types.NamespacedName {
	labels := object.GetLabels()
	return types.NamespacedName{Namespace: labels[names.LabelServiceNamespace], Name: labels[names.LabelServiceName]}
}
