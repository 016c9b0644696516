package informers

import (
	"context"
	"sync"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Slices is a live copy of EndpointSlices of a set of namespaces, which changes as
// interest in them does. Each has a watch of its own, for widening one that is for all of
// them would list everything anew. An API server that can't be reached leaves the copy as
// it was.
//
// The slices that it returns are shared and must not be changed.
type Slices struct {
	client   client.WithWatch
	tap      *Tap
	selector func(namespace string) []client.ListOption
	indexers cache.Indexers
	clean    func(*discoveryv1.EndpointSlice)

	mu       sync.Mutex
	ctx      context.Context // set by Start; ends the informers
	followed map[string]*followed
	changed  []Handler[*discoveryv1.EndpointSlice]
	synced   []func(namespace string)
}

// followed is the copy of one namespace's slices.
type followed struct {
	namespace string
	informer  cache.SharedIndexInformer
	cancel    context.CancelFunc // nil before Start
	since     time.Time
}

// NewSlices returns a copy of no namespaces. selector says what of the API server's
// EndpointSlices belongs to a namespace. A tap, or nil, sees first what it gets.
func NewSlices(c client.WithWatch, tap *Tap, selector func(namespace string) []client.ListOption, indexers cache.Indexers) *Slices {
	return &Slices{client: c, tap: tap, selector: selector, indexers: indexers, followed: map[string]*followed{}}
}

// Clean has f change each slice before it is kept, and before handlers see it. It is called before any namespace is followed.
func (s *Slices) Clean(f func(*discoveryv1.EndpointSlice)) { s.clean = f }

// Start fills the copy and keeps it current until ctx is done. It returns at once.
func (s *Slices) Start(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ctx = ctx
	for _, f := range s.followed {
		s.run(f)
	}
}

// Follow adds a namespace.
func (s *Slices) Follow(namespace string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.followed[namespace] != nil {
		return
	}
	f := &followed{namespace: namespace, since: time.Now(), informer: NewTapped(s.client, s.tap.fromNow(), &discoveryv1.EndpointSliceList{}, &discoveryv1.EndpointSlice{},
		s.indexers, s.selector(namespace)...)}
	if s.clean != nil {
		Clean(f.informer, s.clean)
	}
	for _, handler := range s.changed {
		OnChange(f.informer, handler)
	}
	s.followed[namespace] = f
	if s.ctx != nil {
		s.run(f)
	}
}

// run starts a namespace's copy and reports when it is complete. It is called with mu
// held.
func (s *Slices) run(f *followed) {
	var ctx context.Context
	ctx, f.cancel = context.WithCancel(s.ctx)
	go f.informer.RunWithContext(ctx)
	go func() {
		if Await(ctx, f.informer.HasSyncedChecker()) != nil {
			return
		}
		s.mu.Lock()
		changed, synced := s.changed, s.synced
		s.mu.Unlock()
		// Handlers are called for the slices of the first list before it is complete too, and
		// whoever they tell finds that nothing can be decided yet and forgets about it.
		Deliver(f.informer, changed...)
		for _, handler := range synced {
			handler(f.namespace)
		}
	}()
}

// Unfollow drops a namespace.
func (s *Slices) Unfollow(namespace string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.followed[namespace]
	if f == nil {
		return
	}
	delete(s.followed, namespace)
	if f.cancel != nil {
		f.cancel()
	}
}

// Synced tells whether all slices of a namespace are there: before that, a missing one
// means nothing.
func (s *Slices) Synced(namespace string) bool {
	f := s.of(namespace)
	return f != nil && f.informer.HasSynced()
}

// FollowedFor returns for how long a namespace has been followed, 0 where it is not.
func (s *Slices) FollowedFor(namespace string) time.Duration {
	if f := s.of(namespace); f != nil {
		return time.Since(f.since)
	}
	return 0
}

// ByIndex returns the slices of a namespace that have a value in an index.
func (s *Slices) ByIndex(namespace, index, value string) []*discoveryv1.EndpointSlice {
	f := s.of(namespace)
	if f == nil {
		return nil
	}
	return Indexed[*discoveryv1.EndpointSlice](f.informer, index, value)
}

// ByKey returns a slice of a namespace by the namespace and name that it has on the API
// server, or nil.
func (s *Slices) ByKey(namespace string, key types.NamespacedName) *discoveryv1.EndpointSlice {
	f := s.of(namespace)
	if f == nil {
		return nil
	}
	object, exists, err := f.informer.GetStore().GetByKey(key.String())
	if err != nil || !exists { // there is no error to return
		return nil
	}
	return object.(*discoveryv1.EndpointSlice)
}

// Follows tells whether a namespace is followed.
func (s *Slices) Follows(namespace string) bool { return s.of(namespace) != nil }

// Count returns how many namespaces are followed, and how many slices they have.
func (s *Slices) Count() (namespaces, slices int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.followed {
		slices += len(f.informer.GetStore().ListKeys())
	}
	return len(s.followed), slices
}

func (s *Slices) of(namespace string) *followed {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.followed[namespace]
}

// OnChange has f called for every slice that appears, changes or goes in a namespace that
// is followed.
func (s *Slices) OnChange(f Handler[*discoveryv1.EndpointSlice]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed = append(s.changed, f)
	for _, followed := range s.followed {
		OnChange(followed.informer, f)
	}
}

// OnSynced has f called with each namespace whose slices are complete for the first time
// since it is followed.
func (s *Slices) OnSynced(f func(namespace string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.synced = append(s.synced, f)
}
