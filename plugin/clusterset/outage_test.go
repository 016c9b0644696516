package clusterset

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/miekg/dns"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// apiServer serves a kind of objects and can be down.
type apiServer struct {
	mu       sync.Mutex
	objects  []runtime.Object
	watched  []*watch.FakeWatcher
	away     bool
	attempts int // attempts since the server went down
}

var errAway = errors.New("connection refused")

func (s *apiServer) ListWithContext(context.Context, metav1.ListOptions) (runtime.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		s.attempts++
		return nil, errAway
	}
	list := &metav1.List{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}
	for _, o := range s.objects {
		list.Items = append(list.Items, runtime.RawExtension{Object: o.DeepCopyObject()})
	}
	return list, nil
}

func (s *apiServer) WatchWithContext(context.Context, metav1.ListOptions) (watch.Interface, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		s.attempts++
		return nil, errAway
	}
	w := watch.NewFake()
	s.watched = append(s.watched, w)
	return w, nil
}

func (s *apiServer) List(o metav1.ListOptions) (runtime.Object, error) {
	return s.ListWithContext(context.Background(), o)
}

func (s *apiServer) Watch(o metav1.ListOptions) (watch.Interface, error) {
	return s.WatchWithContext(context.Background(), o)
}

// IsWatchListSemanticsUnSupported makes the reflector list first.
func (*apiServer) IsWatchListSemanticsUnSupported() bool { return true }

// be starts or stops the API server, with these objects.
func (s *apiServer) be(away bool, objects ...runtime.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away, s.objects, s.attempts = away, objects, 0
	for _, w := range s.watched {
		w.Stop()
	}
	s.watched = nil
}

// The API server is down for a day: no response and no readiness changes, and the number of
// attempts follows the backoff. When it is back, changes are visible within seconds.
func TestDayWithoutAPIServer(t *testing.T) {
	// One of the handlers compares the time with that of other tests, which use the real clock.
	handlers := utilruntime.ErrorHandlers
	defer func() { utilruntime.ErrorHandlers = handlers }()
	utilruntime.ErrorHandlers = nil
	synctest.Test(t, func(t *testing.T) {
		pets := headless("shop", "pets", "http")
		imports, slices := &apiServer{}, &apiServer{}
		imports.be(false, vip("shop", "web", "10.42.42.42"), pets)
		slices.be(true)

		c := newClusterset(options{zones: []string{testZone}, ttl: defaultTTL})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			c.watch(ctx, imports, slices)
		}()
		defer func() {
			cancel()
			<-ended
		}()
		<-time.After(time.Minute)
		if c.Ready() || imports.attempts > 0 {
			t.Error("Pitfall 26: ready before EndpointSlices are listed")
		}
		slices.be(false, slice(pets, "c1", "a", "10.0.0.1"))
		<-time.After(5 * time.Second)
		f, began := &fixture{Clusterset: c}, time.Now()
		want := func(qname string, rcode, records int) {
			t.Helper()
			if m := f.ask(t, qname, dns.TypeA); m.Rcode != rcode || len(m.Answer) != records || !c.Ready() {
				t.Fatalf("after %v: ready=%v, %v", time.Since(began), c.Ready(), m)
			}
		}
		asBefore := func() {
			t.Helper()
			want("web.shop.svc."+testZone, dns.RcodeSuccess, 1)
			want("pets.shop.svc."+testZone, dns.RcodeSuccess, 1)
			want("none.shop.svc."+testZone, dns.RcodeNameError, 0)
		}
		asBefore()
		if c.serial.Load() == 0 {
			t.Error("the SOA's serial is 0")
		}

		// Pitfall 26: the responses reflect every change.
		imported, sliced := imports.watched[0], slices.watched[0]
		sliced.Modify(slice(pets, "c1", "a", "10.0.0.1", "10.0.0.2"))
		imported.Modify(vip("shop", "web", "10.42.42.42", "10.42.42.43"))
		synctest.Wait()
		want("pets.shop.svc."+testZone, dns.RcodeSuccess, 2)
		want("web.shop.svc."+testZone, dns.RcodeSuccess, 2)
		sliced.Delete(slice(pets, "c1", "a"))
		imported.Delete(vip("shop", "web"))
		synctest.Wait()
		want("pets.shop.svc."+testZone, dns.RcodeNameError, 0)
		want("web.shop.svc."+testZone, dns.RcodeNameError, 0)
		sliced.Add(slice(pets, "c1", "a", "10.0.0.1"))
		imported.Add(vip("shop", "web", "10.42.42.42"))
		synctest.Wait()
		asBefore()

		imports.be(true)
		slices.be(true)
		const day = 24 * time.Hour
		for range day / time.Hour {
			<-time.After(time.Hour)
			asBefore()
		}
		// Pauses grow from 0.2 s to 2 s with up to 100% jitter: a few attempts follow quickly,
		// and all others after 2 to 4 s.
		const soon, fewest, most = 10, int(day / (4 * time.Second)), int(day / (2 * time.Second))
		for _, s := range []*apiServer{imports, slices} {
			s.mu.Lock()
			if s.attempts < fewest || s.attempts > soon+most {
				t.Errorf("%d attempts in a day, want %d to %d", s.attempts, fewest, soon+most)
			}
			s.mu.Unlock()
		}

		imports.be(false, pets)
		slices.be(false, slice(pets, "c1", "a", "10.0.0.1", "10.0.0.2"))
		<-time.After(5 * time.Second)
		want("web.shop.svc."+testZone, dns.RcodeNameError, 0)
		want("pets.shop.svc."+testZone, dns.RcodeSuccess, 2)
	})
}
