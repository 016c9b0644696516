package broker

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// enter has a member's entry be seen, with a statement of a time in microseconds.
func (s *scene) enter(t *testing.T, id string, at int64) {
	t.Helper()
	m := &brokerv1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "set", Name: id}}
	if at != 0 {
		m.Spec.Published = &brokerv1alpha1.Publication{Namespace: "uid", At: metav1.NewMicroTime(time.UnixMicro(at))}
	}
	if err := s.members.GetStore().Update(m); err != nil {
		t.Fatal(err)
	}
}

// Who is awaited for long is asked, until it has said what it is asked for. The other replica's asks stand as long.
func TestWhoIsAwaitedForLongIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene()
		const patience = 40 * time.Second
		is := func(what, said, want string) {
			t.Helper()
			if got := s.asks(said, patience).String(); got != want {
				t.Errorf("%s: it asks %q, want %q", what, got, want)
			}
		}
		s.enter(t, "c2", 1)
		is("nobody is awaited", "", "")
		s.mu.Lock()
		s.judge.Back()
		s.mu.Unlock()
		is("c2 is awaited now", "", "")
		<-time.After(patience - time.Second)
		is("and not for long", "", "")
		<-time.After(time.Second)
		is("and now it is", "", "c2=1")
		s.showing = []string{"c2"}
		is("it has answered, and copies do not show that yet", "", "")
		s.showing = nil
		is("the heartbeat says so already", "c2=1", "c2=1")
		is("the other replica awaits more", "c2=7,c3=3", "c2=7") // there is no c3
		s.enter(t, "c3", 2)
		is("the other replica awaits one that is there", "c3=3", "c3=3,c2=1")
		s.enter(t, "c3", 4)
		is("which has answered", "c3=3", "c2=1")
		s.enter(t, "c2", 2)
		is("c2 has answered, and that was not looked at yet", "c2=1", "")
		s.look(2, 0)
		is("nobody is awaited any more", "c2=1", "")
		s.live = func(id names.ClusterID) bool { return id != "c3" }
		is("one that is dead", "c3=9", "")
		s.enter(t, "c4", 0)
		is("one that makes no statements", "c4=5", "")
	})
}

// Who is asked says again that all is published, unless it has said so later, or a moment ago.
func TestWhoIsAskedAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene()
		now := time.Now().UnixMicro()
		lease := func(of, asks string) coordinationv1.Lease {
			l := coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "set", Name: of}}
			if asks != "" {
				l.Annotations = map[string]string{names.AnnotationAwaits: asks}
			}
			return l
		}
		asked := func(what string, times int, later int64, leases ...coordinationv1.Lease) {
			t.Helper()
			before := s.Lost()
			s.heard(leases)
			if n := s.Lost() - before; n != times || s.AskedLater() != later {
				t.Errorf("%s: all is published again %d times, and said to be later than %d; want %d and %d", what, n, s.AskedLater(), times, later)
			}
		}
		self := func(at int64) string { return fmt.Sprintf("self=%d", at) }
		asked("it has said nothing yet", 0, 0, lease("c2", self(now)))
		s.enter(t, "self", now-10)
		asked("nobody asks", 0, 0, lease("c2", ""), lease("c3", "c2=5"))
		asked("it has said so already", 0, 0, lease("c2", self(now-11)))
		asked("one asks", 1, now-10, lease("c2", self(now-10)))
		<-time.After(time.Minute)
		asked("one asks for more while it is about to", 0, now+5, lease("c2", self(now+5)))
		<-time.After(answerBegun)
		asked("it never comes to it", 1, now+5, lease("c2", self(now+5)))
		s.enter(t, "self", now+6)
		asked("it has answered", 0, now+5, lease("c2", self(now+5)))
		asked("another one asks at once", 0, now+6, lease("c3", self(now+6)))
		<-time.After(answerAgain)
		later, far := time.Now().Add(time.Hour).UnixMicro(), time.Now().Add(365*24*time.Hour).UnixMicro()
		asked("two ask, of whom one lies", 1, later, lease("c2", self(later)), lease("c3", self(far)))
		s.enter(t, "self", later+1)
		<-time.After(answerAgain)
		asked("who lies alone", 0, later, lease("c3", self(far)))
		asked("the other replica asks", 1, later+1, lease("self", self(later+1)))
	})
}
