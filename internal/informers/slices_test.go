package informers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// server is an API server that holds EndpointSlices. It answers a watch with all objects
// of a namespace and then a bookmark, as API servers do.
type server struct {
	client.WithWatch
	mu      sync.Mutex
	objects []*discoveryv1.EndpointSlice
	watches map[string][]*watch.RaceFreeFakeWatcher // by namespace
}

func (s *server) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("lists are not streamed")
}

func (s *server) Watch(_ context.Context, _ client.ObjectList, opts ...client.ListOption) (watch.Interface, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	namespace := (&client.ListOptions{}).ApplyOptions(opts).Namespace
	w := watch.NewRaceFreeFake()
	for _, o := range s.objects {
		if o.Namespace == namespace {
			w.Add(o.DeepCopy())
		}
	}
	w.Action(watch.Bookmark, &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
		ResourceVersion: "1", Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"},
	}})
	if s.watches == nil {
		s.watches = map[string][]*watch.RaceFreeFakeWatcher{}
	}
	s.watches[namespace] = append(s.watches[namespace], w)
	return w, nil
}

// open is how many watches there are on a namespace.
func (s *server) open(namespace string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.watches[namespace] {
		if !w.IsStopped() {
			n++
		}
	}
	return n
}

func (s *server) add(o *discoveryv1.EndpointSlice) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects = append(s.objects, o)
	for _, w := range s.watches[o.Namespace] {
		w.Add(o.DeepCopy())
	}
}

func slice(namespace, name, version string) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, ResourceVersion: version}}
}

// record is a copy of namespaces of s, and what its handlers were told.
type record struct {
	*Slices
	told []string
}

func newRecord(s *server) *record {
	r := &record{Slices: NewSlices(s, nil, func(namespace string) []client.ListOption {
		return []client.ListOption{client.InNamespace(namespace)}
	}, cache.Indexers{"all": func(any) ([]string, error) { return []string{"all"}, nil }})}
	var mu sync.Mutex
	tell := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		r.told = append(r.told, fmt.Sprintf(format, args...))
	}
	r.OnChange(func(s *discoveryv1.EndpointSlice, initial bool) { tell("%s/%s %v", s.Namespace, s.Name, initial) })
	r.OnSynced(func(namespace string) { tell("%s synced", namespace) })
	return r
}

// expect compares what was told since the last time, in any order, with want.
func (r *record) expect(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	slices.Sort(r.told)
	slices.Sort(want)
	if !slices.Equal(slices.Compact(r.told), want) {
		t.Errorf("told %q, want %q", r.told, want)
	}
	r.told = nil
}

func (r *record) names(namespace string) (names []string) {
	for _, s := range r.ByIndex(namespace, "all", "all") {
		names = append(names, s.Name)
	}
	slices.Sort(names)
	return names
}

func TestOnlyWhatIsFollowedIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{objects: []*discoveryv1.EndpointSlice{slice("a", "a1", "1"), slice("b", "b1", "1"), slice("c", "c1", "1")}}
		r := newRecord(s)
		r.Follow("a") // before it starts
		r.expect(t)
		r.Start(t.Context())
		r.expect(t, "a/a1 true", "a synced")
		r.Follow("b")
		r.Follow("b")
		r.expect(t, "b/b1 true", "b synced")
		if !r.Synced("a") || !r.Synced("b") || r.Synced("c") || r.ByIndex("c", "all", "all") != nil {
			t.Errorf("synced: a %v, b %v, c %v", r.Synced("a"), r.Synced("b"), r.Synced("c"))
		}
		s.add(slice("a", "a2", "2"))
		s.add(slice("c", "c2", "2"))
		r.expect(t, "a/a2 false")
		if got := r.names("a"); !slices.Equal(got, []string{"a1", "a2"}) {
			t.Errorf("a has %v", got)
		}
		if namespaces, slices := r.Count(); namespaces != 2 || slices != 3 {
			t.Errorf("%d namespaces with %d slices", namespaces, slices)
		}
		if s.open("a") != 1 || s.open("b") != 1 || s.open("c") != 0 {
			t.Errorf("watches: %d on a, %d on b, %d on c", s.open("a"), s.open("b"), s.open("c"))
		}
	})
}

func TestWhatIsNotFollowedAnyMoreCostsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{objects: []*discoveryv1.EndpointSlice{slice("a", "a1", "1")}}
		r := newRecord(s)
		r.Start(t.Context())
		r.Follow("a")
		r.expect(t, "a/a1 true", "a synced")
		r.Unfollow("a")
		r.Unfollow("never")
		synctest.Wait()
		if r.Synced("a") || r.ByIndex("a", "all", "all") != nil || s.open("a") != 0 {
			t.Errorf("synced %v, %d watches", r.Synced("a"), s.open("a"))
		}
		r.expect(t) // to drop a slice is not to say that it is gone
		s.add(slice("a", "a2", "2"))
		r.Follow("a")
		r.expect(t, "a/a1 true", "a/a2 true", "a synced")
	})
}

// Handlers that come late are told of all that there is.
func TestLateHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{objects: []*discoveryv1.EndpointSlice{slice("a", "a1", "1")}}
		r := newRecord(s)
		r.Start(t.Context())
		r.Follow("a")
		r.expect(t, "a/a1 true", "a synced")
		var told []string
		r.OnChange(func(s *discoveryv1.EndpointSlice, initial bool) { told = append(told, fmt.Sprint(s.Name, initial)) })
		synctest.Wait()
		if !slices.Equal(told, []string{"a1true"}) {
			t.Errorf("told %v", told)
		}
	})
}
