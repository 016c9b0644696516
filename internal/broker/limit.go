package broker

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
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
	if services > 0 {
		v.limit.services, v.limit.imported = quota.New[types.NamespacedName](services), imported
	}
}

// service is what counts as one.
var service = []quota.Item{{Name: "service", Units: 1}}

// Admits tells whether the cluster imports an export of another member's, as far as that is a
// matter of how many these are: as Admit has decided, or would, where it has not yet been asked. What was imported
// before this view began comes first. To ask takes nothing.
func (v *View) Admits(e *brokerv1alpha1.ExportedService) bool {
	if v.limit.services == nil {
		return true
	}
	if v.ExportsSynced() {
		v.limit.seed.Do(v.seed) // who asks may change by the answer what there is to be seen of former imports
	}
	return v.limit.services.Allows(e.Spec.ClusterID, e.Spec.Service())
}

// Admit decides which of a service's exports the cluster imports, as far as that is a matter of how many
// these are, and returns them: the own one, and of each other member's as many as it takes. exports are
// all that there is to import. What is not among them any more leaves room for another service, unless it is missing
// on the broker and may be there all the same. The handlers of OnExport are called with what others, who ask
// Admits, may think otherwise about, and with what there is room for now. It is called by one controller, which owns
// the imports, for each service that changes, and for each that these handlers are called with, once the view holds
// all exports.
func (v *View) Admit(service types.NamespacedName, exports []brokerv1alpha1.ExportedServiceSpec) []brokerv1alpha1.ExportedServiceSpec {
	if v.limit.services == nil {
		return exports
	}
	v.limit.seed.Do(v.seed)
	var admitted []brokerv1alpha1.ExportedServiceSpec
	asking := map[string]bool{}
	for _, e := range exports {
		if e.ClusterID == v.Self.String() || v.take(service, e.ClusterID) {
			admitted = append(admitted, e)
		}
		asking[e.ClusterID] = true
	}
	for _, member := range v.limit.services.Members(service) {
		id := names.ClusterID(member)
		if !asking[member] && (v.Export(service, id) != nil || !v.Hold(service, id)) {
			v.limit.services.Take(member, service, nil, true)
			asking[member] = true
		}
	}
	for member := range asking {
		if next, found := v.limit.services.Next(member); found {
			v.announcement(export{next, names.ClusterID(member)})()
		}
	}
	return admitted
}

// seed has what is imported already count before anything new does.
func (v *View) seed() {
	for cluster, services := range v.limit.imported() {
		for _, s := range services {
			if cluster != v.Self && (v.Export(s, cluster) != nil || v.Doubts(cluster, s.Namespace)) {
				v.limit.services.Take(cluster.String(), s, service, true)
			}
		}
	}
}

// take asks for a member's share for a service, and has others hear of it when that is other than Admits said.
func (v *View) take(of types.NamespacedName, member string) (granted bool) {
	had, refused := v.limit.services.Has(member, of), v.limit.services.Lacks(member, of)
	granted = v.limit.services.Take(member, of, service, true)[0] > 0
	asFormerly := granted == had && granted != refused
	asExpected := granted && !had && !refused && !v.limit.services.Denied(member)
	if !asFormerly && !asExpected {
		v.announcement(export{of, names.ClusterID(member)})()
	}
	return granted
}

// Refused returns the members whose export of a service is left out because they export too many.
func (v *View) Refused(service types.NamespacedName) []names.ClusterID {
	if v.limit.services == nil {
		return nil
	}
	var refused []names.ClusterID
	for _, e := range v.Exports(service) {
		if !v.Admits(e) {
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
