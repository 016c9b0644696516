package broker

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/names"
	"github.com/atoll-mcs/atoll/internal/quota"
)

// limit is how many services this cluster imports from each other member. The zero value is none.
type limit struct {
	services *quota.Quota[types.NamespacedName]
	imported func() map[names.ClusterID][]types.NamespacedName
	seed     sync.Once
}

// Limit has the view leave out what a member exports beyond a number of services, 0 for any
// number. imported returns what the cluster has imported before, which stays, and may wait for
// it; otherwise those stay that came first. It is called before Start.
func (v *View) Limit(services int, imported func() map[names.ClusterID][]types.NamespacedName) {
	if services <= 0 {
		return
	}
	v.limit.services, v.limit.imported = quota.New[types.NamespacedName](services), imported
	v.OnExport(func(e *brokerv1alpha1.ExportedService, _ bool) { v.releaseGone(e) })
}

// service is what counts as one.
var service = []quota.Item{{Name: "service", Units: 1}}

// Admits tells whether the cluster imports an export of another member's, as far as that is a
// matter of how many these are. It counts as imported then. Before the view holds all exports, all
// are admitted, for nothing is decided yet.
func (v *View) Admits(e *brokerv1alpha1.ExportedService) bool {
	if v.limit.services == nil || e.Spec.ClusterID == v.Self.String() || e.Spec.Scope == brokerv1alpha1.ScopeHub || !v.ExportsSynced() {
		return true
	}
	v.limit.seed.Do(func() {
		for cluster, services := range v.limit.imported() {
			for _, s := range services {
				if cluster != v.Self && (v.Export(s, cluster) != nil || v.Epoch.Doubts(cluster)) {
					v.limit.services.Take(cluster.String(), s, service, true)
				}
			}
		}
	})
	admitted := v.limit.services.Take(e.Spec.ClusterID, exported(e), service, true)[0] > 0
	v.releaseGone(e) // meanwhile
	return admitted
}

// releaseGone gives up an export that has gone from the broker, unless it may be there all the same.
func (v *View) releaseGone(e *brokerv1alpha1.ExportedService) {
	cluster := names.ClusterID(e.Spec.ClusterID)
	if v.Export(exported(e), cluster) == nil && !v.Epoch.Doubts(cluster) {
		v.release(e)
	}
}

// release has another export take the place of one.
func (v *View) release(e *brokerv1alpha1.ExportedService) {
	v.limit.services.Take(e.Spec.ClusterID, exported(e), nil, true)
	v.admitNext(e.Spec.ClusterID)
}

// admitNext has handlers called for the export of a member's for which there is room now. What waits in a
// namespace that is not there any more does not ask again, and would keep the others waiting.
func (v *View) admitNext(cluster string) {
	next, found := v.limit.services.Next(cluster)
	for found && !v.slices.Follows(next.Namespace) {
		v.limit.services.Take(cluster, next, nil, true)
		next, found = v.limit.services.Next(cluster)
	}
	if !found {
		return
	}
	if e := v.Export(next, names.ClusterID(cluster)); e != nil {
		v.mu.Lock()
		handlers := v.exportHandlers
		v.mu.Unlock()
		for _, handler := range handlers {
			handler(e, false)
		}
	}
}

// releaseNamespace gives up what is imported into a namespace that has gone.
func (v *View) releaseNamespace(namespace string) {
	if v.limit.services == nil {
		return
	}
	for _, s := range v.ExportedServices(namespace) {
		for _, e := range v.Exports(s) {
			v.release(e)
		}
	}
}

// Refused returns the members whose export of a service is left out because they export too many.
func (v *View) Refused(service types.NamespacedName) []names.ClusterID {
	if v.limit.services == nil {
		return nil
	}
	var refused []names.ClusterID
	for _, e := range v.Exports(service) {
		if v.limit.services.Lacks(e.Spec.ClusterID, service) {
			refused = append(refused, names.ClusterID(e.Spec.ClusterID))
		}
	}
	return refused
}

// MaxServices is the number of services that are imported from one member at most, 0 for any.
func (v *View) MaxServices() int {
	if v.limit.services == nil {
		return 0
	}
	return v.limit.services.Limit()
}

// LeftOut returns how many services of each member are left out for the same reason.
func (v *View) LeftOut() map[string]int {
	if v.limit.services == nil {
		return nil
	}
	return v.limit.services.Lacking()
}

// exported is the service that an export is of.
func exported(e *brokerv1alpha1.ExportedService) types.NamespacedName {
	return types.NamespacedName{Namespace: e.Spec.ServiceNamespace, Name: e.Spec.ServiceName}
}
