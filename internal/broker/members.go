package broker

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/informers"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// MembersSynced tells whether the view holds all MemberClusters.
func (v *View) MembersSynced() bool { return v.members.HasSynced() }

// Member returns what a cluster says of itself, or nil.
func (v *View) Member(cluster names.ClusterID) *brokerv1alpha1.MemberCluster {
	return v.Epoch.Member(cluster)
}

// Region returns where a cluster is, "" where it does not say.
func (v *View) Region(cluster names.ClusterID) string {
	if member := v.Member(cluster); member != nil {
		return member.Spec.Region
	}
	return ""
}

// Reference refers to a cluster's MemberCluster in an Event. Events about one object are told apart by the other one, not by what
// they say.
func (v *View) Reference(cluster names.ClusterID) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: brokerv1alpha1.GroupVersion.String(), Kind: "MemberCluster", Namespace: v.Namespace, Name: cluster.String(),
	}
}

// OnRegion has f called whenever a member's region changes, appears or goes, once the
// view holds all MemberClusters.
func (v *View) OnRegion(f func()) {
	v.onMember(func(spec *brokerv1alpha1.MemberClusterSpec) string { return spec.Region },
		func(names.ClusterID) { f() })
}

// OnServiceRanges has f called with each member whose ranges of Service addresses
// change, appear or go, once the view holds all MemberClusters.
func (v *View) OnServiceRanges(f func(names.ClusterID)) {
	v.onMember(func(spec *brokerv1alpha1.MemberClusterSpec) string { return strings.Join(spec.ServiceCIDRs, ",") }, f)
}

// OnOverBudget has f called whenever another member begins or ceases to name this one as over its budget, once the view holds
// all MemberClusters.
func (v *View) OnOverBudget(f func()) {
	v.onMember(func(spec *brokerv1alpha1.MemberClusterSpec) string {
		if over, found := v.Epoch.names(spec); found {
			return over.String()
		}
		return ""
	}, func(names.ClusterID) { f() })
}

// OverBudgetOf returns the other members whose budget this one exceeds, with their entries about it.
func (e *Epoch) OverBudgetOf() map[string]brokerv1alpha1.OverBudget {
	all := map[string]brokerv1alpha1.OverBudget{}
	for _, object := range e.members.GetStore().List() {
		member := object.(*brokerv1alpha1.MemberCluster)
		if over, found := e.names(&member.Spec); found {
			all[member.Name] = over
		}
	}
	return all
}

// names returns a member's entry about this one.
func (e *Epoch) names(spec *brokerv1alpha1.MemberClusterSpec) (over brokerv1alpha1.OverBudget, found bool) {
	i := slices.IndexFunc(spec.OverBudget, func(o brokerv1alpha1.OverBudget) bool { return o.ClusterID == e.self.String() })
	if i < 0 {
		return over, false
	}
	return spec.OverBudget[i], true
}

// onMember has f called with each member of which something changes, where a member that
// is not there counts as having the empty value.
func (v *View) onMember(of func(*brokerv1alpha1.MemberClusterSpec) string, f func(names.ClusterID)) {
	moved := func(old, new any) {
		var values [2]string
		var id names.ClusterID
		for i, object := range []any{old, new} {
			if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = gone.Obj
			}
			if member, ok := object.(*brokerv1alpha1.MemberCluster); ok {
				values[i], id = of(&member.Spec), names.ClusterID(member.Name)
			}
		}
		if values[0] != values[1] {
			f(id)
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.left {
		return
	}
	// Fails only when the informer has stopped, and then nothing changes.
	handled, _ := v.members.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(object any, initial bool) {
			if !initial {
				moved(nil, object)
			}
		},
		UpdateFunc: moved,
		DeleteFunc: func(object any) { moved(object, nil) },
	})
	v.memberHandlers = append(v.memberHandlers, handled)
}

// leave takes the view's handlers off the copies that outlive it. A controller that is only starting then has none put there.
func (v *View) leave() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.left = true
	for _, handled := range v.memberHandlers {
		if handled != nil {
			_ = v.members.RemoveEventHandler(handled) // there is nothing to do where it is not there
		}
	}
	for _, off := range v.off {
		off()
	}
}

// MembersSynced tells whether the copy holds all MemberClusters.
func (e *Epoch) MembersSynced() bool { return e.members.HasSynced() }

// Member returns what a cluster says of itself, or nil.
func (e *Epoch) Member(cluster names.ClusterID) *brokerv1alpha1.MemberCluster {
	key := types.NamespacedName{Namespace: e.namespace, Name: cluster.String()}.String()
	object, exists, err := e.members.GetStore().GetByKey(key)
	if err != nil || !exists { // there is no error to return
		return nil
	}
	return object.(*brokerv1alpha1.MemberCluster)
}

// OnOwnMember has f called whenever this cluster's own entry appears, changes or goes.
func (e *Epoch) OnOwnMember(f func()) {
	own := func(object any) {
		if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = gone.Obj
		}
		if member, ok := object.(*brokerv1alpha1.MemberCluster); ok && member.Name == e.self.String() {
			f()
		}
	}
	// Fails only when the informer has stopped, and then nothing changes.
	_, _ = e.members.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: own, UpdateFunc: func(_, new any) { own(new) }, DeleteFunc: own,
	})
}

// AwaitMembers returns when the view holds all MemberClusters, or with ctx's error.
func (v *View) AwaitMembers(ctx context.Context) error {
	return informers.Await(ctx, v.members.HasSyncedChecker())
}
