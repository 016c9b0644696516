package broker

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/informers"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Aggregates is a live copy of the clusterset's catalogue on the broker: one ServiceImport
// for each exported service. The objects that it returns are shared and must not be
// changed.
type Aggregates struct {
	informer cache.SharedIndexInformer

	mu     sync.Mutex
	listed []func()
}

// NewAggregates returns a copy that is empty until Start.
func NewAggregates(v *View) *Aggregates {
	a := &Aggregates{}
	a.informer = informers.NewTapped(v.Client, v.Epoch.taps.other.With(a.tell), &mcsv1beta1.ServiceImportList{}, &mcsv1beta1.ServiceImport{}, cache.Indexers{byService: indexLabels},
		client.InNamespace(v.Namespace), client.MatchingLabels{names.LabelManagedBy: names.AggregateManager})
	return a
}

// OnListed has f called when the copy is about to be made anew. An entry that has come and gone since it was the last time is
// in none of the two, so that no change tells of it.
func (a *Aggregates) OnListed(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.listed = append(a.listed, f)
}

func (a *Aggregates) tell() {
	a.mu.Lock()
	listed := a.listed
	a.mu.Unlock()
	call(listed)
}

// Start fills the copy and keeps it current until ctx is done.
func (a *Aggregates) Start(ctx context.Context) error {
	a.informer.RunWithContext(ctx)
	return nil
}

// NeedLeaderElection leaves the catalogue to the leader, for nothing depends on it.
func (a *Aggregates) NeedLeaderElection() bool { return true }

// Synced tells whether the copy is complete: before that, what is missing means nothing.
func (a *Aggregates) Synced() bool { return a.informer.HasSynced() }

// Await returns when the copy is complete, or with ctx's error.
func (a *Aggregates) Await(ctx context.Context) error {
	return informers.Await(ctx, a.informer.HasSyncedChecker())
}

// Aggregate returns the entry of a service, or nil.
func (a *Aggregates) Aggregate(service types.NamespacedName) *mcsv1beta1.ServiceImport {
	// The admission policy sees to it that name and labels say the same, so there is one.
	for _, imp := range indexed[*mcsv1beta1.ServiceImport](a.informer, service) {
		return imp
	}
	return nil
}

// Services returns the services that have an entry.
func (a *Aggregates) Services() []types.NamespacedName {
	return servicesIn(a.informer)
}

// OnChange has f called with the service of every entry that appears, changes or goes.
func (a *Aggregates) OnChange(f informers.Handler[types.NamespacedName]) {
	informers.OnChange(a.informer, func(imp *mcsv1beta1.ServiceImport, initial bool) {
		f(ServiceOf(imp), initial)
	})
}
