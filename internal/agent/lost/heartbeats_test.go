package lost

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// recordedCalls records the calls to a listener.
type recordedCalls []string

func (h *recordedCalls) Renewed(id names.ClusterID) { *h = append(*h, "+"+id.String()) }
func (h *recordedCalls) Missed(id names.ClusterID)  { *h = append(*h, "?"+id.String()) }
func (h *recordedCalls) Gone(id names.ClusterID)    { *h = append(*h, "-"+id.String()) }

// Pitfall 29: a member is missed after the timeout, but only while this cluster's own
// heartbeats arrive. No member is missed while the broker is down. The own renewal is reported
// last.
func TestHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHeartbeats("self", 40*time.Second)
		leases := map[string]*coordinationv1.Lease{}
		// pass advances the time in steps of 10 s. After each step these members renew their
		// heartbeats, and the heartbeats are read.
		pass := func(seconds int, renewed string) {
			for range seconds / 10 {
				<-time.After(10 * time.Second)
				for id := range strings.FieldsSeq(renewed) {
					now := metav1.NowMicro()
					leases[id] = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: id}, Spec: coordinationv1.LeaseSpec{RenewTime: &now}}
				}
				var all []coordinationv1.Lease
				for _, l := range leases {
					all = append(all, *l)
				}
				h.Observe(time.Now(), all)
			}
		}
		pass(10, "a b self")
		if h.Await(t.Context()) != nil {
			t.Fatal("the first list is not enough")
		}
		var said recordedCalls
		if got := h.Listen(&said); !slices.Equal(got, []names.ClusterID{"a", "b", "self"}) {
			t.Errorf("there are %v", got)
		}
		for i, step := range []struct {
			seconds     int
			renewed     string
			said, alive string
		}{
			{30, "b self", "+b +self +b +self +b +self", "a b self"},
			{10, "b self", "+b ?a +self", "b self"},
			{20, "a b self", "+a +b +self +a +b +self", "a b self"},
			{300, "", "", "a b self"},              // the broker is down: no renewals are read
			{10, "b self", "+b +self", "a b self"}, // the broker is back: a may have been alive all the time
			{30, "b self", "+b +self +b +self +b +self", "a b self"},
			{10, "b self", "+b ?a +self", "b self"},
		} {
			said = nil
			pass(step.seconds, step.renewed)
			var alive []string
			for _, id := range h.Members() {
				alive = append(alive, id.String())
			}
			if got := strings.Join(said, " "); got != step.said || strings.Join(alive, " ") != step.alive {
				t.Errorf("step %d: told %q, and %v live; want %q and %q", i, got, alive, step.said, step.alive)
			}
		}
		said = nil
		delete(leases, "b") // an administrator deletes the Lease
		pass(40, "self")
		if slices.Contains(said, "-b") || !slices.Contains(said, "?b") {
			t.Errorf("member without a Lease: calls %v", said)
		}
		said = nil
		h.Remove("b", true)
		pass(10, "self")
		if !slices.Contains(said, "-b") || h.Live("b") {
			t.Errorf("member that left: calls %v", said)
		}
		said = nil
		h.Expect("c", "b")
		pass(40, "self")
		if !slices.Contains(said, "?c") || slices.Contains(said, "?b") {
			t.Errorf("member that never had a Lease: calls %v", said)
		}
		// The next connection's listener replaces the old listener. Otherwise the old
		// controller and its cache of the broker would leak.
		var next recordedCalls
		said = nil
		h.Listen(&next)
		pass(10, "a self")
		if len(said) > 0 || !slices.Contains(next, "+a") {
			t.Errorf("renewal of a: calls %v to the old listener, %v to the next", said, next)
		}
	})
}
