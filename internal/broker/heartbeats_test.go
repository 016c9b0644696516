package broker

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/epoch"
	"github.com/atoll-mcs/atoll/internal/names"
)

// leases is an API server that holds Leases. It answers watches that ask for it with all
// objects and then a bookmark, as API servers do and client-go's reflectors expect: one
// that leaves the bookmark out is waited for without end.
type leases struct {
	client.WithWatch
	mu      sync.Mutex
	objects map[string]*coordinationv1.Lease
	version int
	away    bool
	watches []*watch.RaceFreeFakeWatcher
}

var errAway = errors.New("the broker is away")

func (s *leases) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		return errAway
	}
	into := list.(*coordinationv1.LeaseList)
	for _, o := range s.objects {
		into.Items = append(into.Items, *o.DeepCopy())
	}
	into.ResourceVersion = strconv.Itoa(s.version)
	return nil
}

func (s *leases) Watch(_ context.Context, _ client.ObjectList, opts ...client.ListOption) (watch.Interface, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		return nil, errAway
	}
	options := (&client.ListOptions{}).ApplyOptions(opts).Raw
	w := watch.NewRaceFreeFake()
	if options.SendInitialEvents == nil || !*options.SendInitialEvents {
		if options.ResourceVersion != strconv.Itoa(s.version) {
			return nil, apierrors.NewResourceExpired("there is no history")
		}
	} else {
		for _, o := range s.objects {
			w.Add(o.DeepCopy())
		}
		w.Action(watch.Bookmark, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
			ResourceVersion: strconv.Itoa(s.version), Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"},
		}})
	}
	s.watches = append(s.watches, w)
	return w, nil
}

// renew writes members' Leases.
func (s *leases) renew(members ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range members {
		s.version++
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "set", Name: m, ResourceVersion: strconv.Itoa(s.version)}}
		kind := watch.Modified
		if s.objects[m] == nil {
			kind = watch.Added
		}
		s.objects[m] = lease
		s.send(kind, lease)
	}
}

// remove deletes a member's Lease.
func (s *leases) remove(member string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	lease := s.objects[member]
	delete(s.objects, member)
	s.send(watch.Deleted, lease)
}

func (s *leases) send(kind watch.EventType, lease *coordinationv1.Lease) {
	for _, w := range s.watches {
		w.Action(kind, lease.DeepCopy())
	}
}

// goAway ends all watches and answers nothing, until comeBack.
func (s *leases) goAway() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = true
	for _, w := range s.watches {
		w.Stop()
	}
	s.watches = nil
}

func (s *leases) comeBack() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = false
}

// watched is a scene of heartbeats that one member, self, follows.
type watched struct {
	*Heartbeats
	*leases
	t       *testing.T
	changed []string
}

// settled is an epoch without doubts.
func settled(c client.WithWatch) *Epoch {
	e := NewEpoch(c, "set", "self", epoch.Memory{}, slog.New(slog.DiscardHandler))
	e.judge.Looked(e.judge.Begin(), epoch.Reading{Place: "uid"})
	return e
}

// follow starts heartbeats with a timeout of 40 s in a bubble of fake time.
func follow(t *testing.T, do func(*watched)) {
	// client-go's handlers of errors sleep until it is a moment later than at the last error,
	// which in another bubble may have been hours later.
	handlers := utilruntime.ErrorHandlers
	utilruntime.ErrorHandlers = nil
	defer func() { utilruntime.ErrorHandlers = handlers }()
	synctest.Test(t, func(t *testing.T) {
		server := &leases{objects: map[string]*coordinationv1.Lease{}}
		server.renew("a", "b", "self")
		w := &watched{Heartbeats: NewHeartbeats(server, settled(server), 40*time.Second), leases: server, t: t}
		w.OnChange(func(id names.ClusterID) { w.changed = append(w.changed, id.String()) })
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- w.Start(ctx) }()
		limited, stop := context.WithTimeout(ctx, time.Minute)
		defer stop()
		if err := w.Await(limited); err != nil {
			t.Fatalf("the first list: %v", err)
		}
		w.expect("a b self", "a b")
		do(w)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// pass lets time pass in steps of 10 s, with renewals of these members after each.
func (w *watched) pass(seconds int, renewed string) {
	for range seconds / 10 {
		<-time.After(10 * time.Second)
		w.renew(strings.Fields(renewed)...)
	}
	synctest.Wait()
}

// expect checks who lives, and of whom it was said since the last time that they have
// changed.
func (w *watched) expect(live, changed string) {
	w.t.Helper()
	synctest.Wait()
	var members []string
	for _, m := range w.Members() {
		members = append(members, m.String())
		if !w.Live(m) {
			w.t.Errorf("%s is among the living and not alive", m)
		}
	}
	if !slices.Equal(members, strings.Fields(live)) {
		w.t.Errorf("%v live, want %s", members, live)
	}
	slices.Sort(w.changed)
	if !slices.Equal(w.changed, strings.Fields(changed)) {
		w.t.Errorf("%v have changed, want %s", w.changed, changed)
	}
	w.changed = nil
}

// Pitfall 29: who is not renewed is lost after the timeout, and is back with the next
// renewal.
func TestHeartbeats(t *testing.T) {
	follow(t, func(w *watched) {
		w.pass(30, "b self")
		w.expect("a b self", "")
		w.pass(10, "b self")
		w.expect("b self", "a")
		w.pass(600, "b self")
		w.expect("b self", "")
		w.renew("a")
		w.expect("a b self", "a")
		w.pass(100, "a b self")
		w.expect("a b self", "")
	})
}

// Pitfall 29: a broker that is away, for however long, has nobody lost. When it is back, a
// list of the same Leases is no renewal, and the whole timeout is waited.
func TestHeartbeatsWithoutBroker(t *testing.T) {
	follow(t, func(w *watched) {
		w.pass(10, "a b self")
		w.goAway()
		<-time.After(time.Hour)
		w.expect("a b self", "")
		w.comeBack()
		w.pass(120, "") // the watch is there again, after client-go's pause of a minute at most, with nothing new
		w.expect("a b self", "")
		w.pass(40, "b self")
		w.expect("a b self", "")
		w.pass(10, "b self")
		w.expect("b self", "a")
		w.goAway()
		w.renew("b")
		w.comeBack()
		w.pass(120, "") // a list, for there was something new
		w.pass(10, "b self")
		w.expect("b self", "")
	})
}

// A Lease that is deleted is its member's leave, whether that is seen or found out by a
// list.
func TestDeletedHeartbeats(t *testing.T) {
	follow(t, func(w *watched) {
		w.remove("a")
		w.expect("b self", "a")
		w.goAway()
		w.remove("b")
		w.comeBack()
		w.pass(20, "self")
		w.expect("self", "b")
		w.remove("self")
		w.expect("self", "")
	})
}
