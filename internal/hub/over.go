package hub

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/informers"
	"github.com/atoll-mcs/atoll/internal/quota"
	"github.com/atoll-mcs/atoll/internal/status"
)

// sayOver says in the log, and in an Event on its MemberCluster, that a member is over the hub's budget.
func (p *process) sayOver(ctx context.Context, mgr ctrl.Manager) func(member string, u quota.Usage) {
	recorder := mgr.GetEventRecorder("atoll-hub")
	return func(member string, u quota.Usage) {
		text := quota.DefaultLimits.Times(p.options.MemberBudget).Explain(member, u, "the hub")
		p.log.Warn(text, "objects", u.Objects, "bytes", u.Bytes)
		go func() { // the copy of MemberClusters may be the one that calls this
			about := &brokerv1alpha1.MemberCluster{}
			if mgr.GetClient().Get(ctx, client.ObjectKey{Namespace: p.options.Clusterset, Name: member}, about) == nil {
				status.Say(recorder, about, nil, corev1.EventTypeWarning, "MemberOverBudget", "Import", text)
			}
		}()
	}
}

// newInformer makes the hub's copies. Of what members write it is a copy with no more of each member than metered allows.
func newInformer(c client.WithWatch, clusterset string, metered *informers.Metered) func(cache.ListerWatcher, runtime.Object, time.Duration, cache.Indexers) cache.SharedIndexInformer {
	tap, in := &informers.Tap{Metered: metered}, client.InNamespace(clusterset)
	return func(from cache.ListerWatcher, object runtime.Object, resync time.Duration, indexers cache.Indexers) cache.SharedIndexInformer {
		switch o := object.(type) {
		case *brokerv1alpha1.ExportedService:
			return informers.NewTapped(c, tap, &brokerv1alpha1.ExportedServiceList{}, o, indexers, in)
		case *brokerv1alpha1.MemberCluster:
			return informers.NewTapped(c, tap, &brokerv1alpha1.MemberClusterList{}, o, indexers, in)
		}
		return informers.NewPersistent(from, object, resync, indexers)
	}
}
