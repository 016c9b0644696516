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
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/epoch"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// leases is an API server that holds Leases.
type leases struct {
	client.WithWatch
	mu      sync.Mutex
	objects map[string]*coordinationv1.Lease
	version int
	away    bool
	asked   []string // the versions since which lists were asked for
}

var errAway = errors.New("the broker is away")

func (s *leases) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		return errAway
	}
	since := (&client.ListOptions{}).ApplyOptions(opts).Raw.ResourceVersion
	s.asked = append(s.asked, since)
	if less(strconv.Itoa(s.version), since) {
		tooLarge := apierrors.NewTimeoutError("Too large resource version", 1)
		tooLarge.ErrStatus.Details = &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}}}
		return tooLarge
	}
	into := list.(*coordinationv1.LeaseList)
	for _, o := range s.objects {
		into.Items = append(into.Items, *o.DeepCopy())
	}
	into.ResourceVersion = strconv.Itoa(s.version)
	return nil
}

// renew writes members' Leases.
func (s *leases) renew(members ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range members {
		s.version++
		s.objects[m] = &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: "set", Name: m, ResourceVersion: strconv.Itoa(s.version)},
			Spec:       coordinationv1.LeaseSpec{RenewTime: ptr.To(metav1.NowMicro())},
		}
	}
}

// remove deletes a member's Lease.
func (s *leases) remove(member string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	delete(s.objects, member)
}

// putBack has the data be of an earlier version.
func (s *leases) putBack(version int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version = version
}

// goAway answers nothing, until comeBack.
func (s *leases) goAway() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = true
}

func (s *leases) comeBack() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = false
}

// lists returns since which versions lists were asked for since the last time.
func (s *leases) lists() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = nil
	return asked
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
	synctest.Test(t, func(t *testing.T) {
		server := &leases{objects: map[string]*coordinationv1.Lease{}}
		server.renew("a", "b", "self")
		w := &watched{Heartbeats: NewHeartbeats(server, settled(server), 40*time.Second), leases: server, t: t}
		w.OnChange(func(id names.ClusterID) { w.changed = append(w.changed, id.String()) })
		if w.Synced() {
			t.Error("it is synced before it begins")
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- w.Start(ctx) }()
		if err := w.Await(ctx); err != nil || !w.Synced() {
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

// pass lets time pass in steps of 10 s. After each, these members' heartbeats are renewed, and the own one is looked after.
func (w *watched) pass(seconds int, renewed string) {
	for range seconds / 10 {
		<-time.After(10 * time.Second)
		w.renew(strings.Fields(renewed)...)
		w.look()
	}
}

// look has the own heartbeat be looked after.
func (w *watched) look() {
	w.epoch.Beaten()
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
		w.pass(10, "a b self")
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
		w.pass(3600, "")
		w.expect("a b self", "")
		w.comeBack()
		w.pass(120, "") // nothing new
		w.expect("a b self", "")
		w.pass(40, "b self")
		w.expect("a b self", "")
		w.pass(10, "b self")
		w.expect("b self", "a")
		w.goAway()
		w.renew("b")
		w.comeBack()
		w.pass(120, "")
		w.pass(10, "b self")
		w.expect("b self", "")
	})
}

// A broker that is back is asked soon, also while the own heartbeat is not looked after, and not all the time while it is away.
func TestHeartbeatsAreAskedForAgain(t *testing.T) {
	follow(t, func(w *watched) {
		w.goAway()
		w.renew("a")
		w.look()
		<-time.After(time.Hour)
		w.comeBack()
		w.lists()
		<-time.After(2 * lastRead)
		synctest.Wait()
		if n := len(w.lists()); n != 1 || time.Since(w.Renewals()["a"]) > 2*lastRead {
			t.Errorf("asked %d times, and it is current since %v", n, time.Since(w.Renewals()["a"]))
		}
	})
}

// Heartbeats cost one list for each time that the own one is looked after, however many there are, which an API server can answer
// from memory: what it is asked for is what there was at the last time, or later.
func TestHeartbeatsAreReadWithTheOwnOne(t *testing.T) {
	follow(t, func(w *watched) {
		w.epoch.saw("3", "")
		w.lists()
		for range 10 {
			last := w.leases.version
			w.pass(10, "a b self a b")
			if lists := w.lists(); len(lists) != 1 || lists[0] == "" || less(lists[0], strconv.Itoa(last)) {
				t.Errorf("lists since %q, and %d was seen already", lists, last)
			}
		}
		w.epoch.saw("1000", "") // written, and not to be seen by all API servers
		w.leases.version = 1000
		if w.pass(10, "a"); !slices.Equal(w.lists(), []string{"1000"}) {
			t.Error("what was written before the own heartbeat may not be in the list")
		}
	})
}

// A broker that is put back to an earlier state gives versions out again. What is renewed then is seen, and who is not
// renewed is lost.
func TestHeartbeatsOfAnEarlierState(t *testing.T) {
	follow(t, func(w *watched) {
		w.pass(100, "a b self")
		w.putBack(3)
		w.epoch.begin("3") // as whoever looks after the own one finds
		w.lists()
		w.pass(30, "b self")
		w.expect("a b self", "")
		if asked := w.lists(); asked[0] != "" || len(asked) != 3 {
			t.Errorf("lists since %q", asked)
		}
		w.pass(10, "b self")
		w.expect("b self", "a")
	})
}

// Where nobody has found that yet, what is asked for is yet to come: then what there is is asked for.
func TestAVersionThatIsYetToCome(t *testing.T) {
	follow(t, func(w *watched) {
		w.pass(100, "a b self")
		w.putBack(3)
		w.pass(10, "a b self")
		<-time.After(2 * firstRead)
		synctest.Wait()
		if late := time.Since(w.Renewals()["a"]); late > 2*firstRead {
			t.Errorf("seen %v ago", late)
		}
	})
}

// Same version, other heartbeat: as the broker gives it out again.
func TestAHeartbeatOfTheSameVersion(t *testing.T) {
	follow(t, func(w *watched) {
		w.pass(10, "a b self")
		seen := w.Renewals()["a"]
		w.putBack(3)
		w.epoch.begin("3")
		w.pass(10, "a b self")
		if got := w.Renewals()["a"]; got.Sub(seen) != 10*time.Second {
			t.Errorf("seen %v after the one of the same version", got.Sub(seen))
		}
	})
}

// A Lease that is deleted is its member's leave, also where that happens while the broker is away.
func TestDeletedHeartbeats(t *testing.T) {
	follow(t, func(w *watched) {
		w.remove("a")
		w.look()
		w.expect("b self", "a")
		w.goAway()
		w.remove("b")
		w.look()
		w.comeBack()
		w.pass(20, "self")
		w.expect("self", "b")
		w.remove("self")
		w.look()
		w.expect("self", "")
	})
}

// heard is what a listener was told.
type heard []string

func (h *heard) Renewed(id names.ClusterID) { *h = append(*h, "+"+id.String()) }
func (h *heard) Missed(id names.ClusterID)  { *h = append(*h, "?"+id.String()) }
func (h *heard) Gone(id names.ClusterID)    { *h = append(*h, "-"+id.String()) }

// A listener hears of each renewal once, of the own one last, and of what is missed and gone.
func TestListeners(t *testing.T) {
	follow(t, func(w *watched) {
		said := &heard{}
		if members := w.Listen(said); !slices.Equal(members, []names.ClusterID{"a", "b", "self"}) {
			t.Errorf("there are %v", members)
		}
		expect := func(want ...string) {
			t.Helper()
			if !slices.Equal(*said, want) {
				t.Errorf("it has heard %v, want %v", *said, want)
			}
			*said = nil
		}
		w.look()
		expect()
		w.pass(30, "self b")
		expect("+b", "+self", "+b", "+self", "+b", "+self")
		w.pass(10, "self b")
		expect("+b", "?a", "+self")
		w.remove("a")
		w.renew("new")
		w.look()
		expect("-a", "+new")
	})
}
