package lost

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// says writes a read as "+" for renewed, "?" for missed, and "-" for gone members.
func says(r Read) string {
	var all []string
	for _, id := range slices.Sorted(func(yield func(names.ClusterID) bool) {
		for id := range r.Renewed {
			if !yield(id) {
				return
			}
		}
	}) {
		all = append(all, "+"+id.String())
	}
	for _, id := range r.Missed {
		all = append(all, "?"+id.String())
	}
	for _, id := range r.Gone {
		all = append(all, "-"+id.String())
	}
	if r.Own {
		all = append(all, "+self")
	}
	return strings.Join(all, " ")
}

// Pitfall 29: a member is missed after the timeout, but only while this cluster's own
// heartbeats arrive. No member is missed while the broker is down.
func TestHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHeartbeats("self", 40*time.Second)
		var reads []string
		leases := map[string]*coordinationv1.Lease{}
		// pass advances the time in steps of 10 s. After each step these members renew their
		// heartbeats, and the heartbeats are read.
		pass := func(seconds int, renewed string) {
			for range seconds / 10 {
				<-time.After(10 * time.Second)
				for id := range strings.FieldsSeq(renewed) {
					now := metav1.NowMicro()
					leases[id] = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: id, Labels: map[string]string{names.LabelSourceCluster: id}}, Spec: coordinationv1.LeaseSpec{RenewTime: &now}}
				}
				var all []coordinationv1.Lease
				for _, l := range leases {
					all = append(all, *l)
				}
				h.Observe(time.Now(), all)
			}
		}
		pass(10, "a b self")
		before, end := h.Follow(func(r Read) { reads = append(reads, says(r)) })
		if slices.Sort(before.Members); !slices.Equal(before.Members, ids("a b")) || !before.First {
			t.Errorf("there are %v", before)
		}
		for i, step := range []struct {
			seconds     int
			renewed     string
			said, alive string
		}{
			{30, "b self", "+b +self, +b +self, +b +self", "[a b self]"},
			{10, "b self", "+b ?a +self", "[b self]"},
			{20, "a b self", "+a +b +self, +a +b +self", "[a b self]"},
			{300, "", strings.Repeat(", ", 29), "[a b self]"}, // the broker is down: no renewals are read
			{10, "b self", "+b +self", "[a b self]"},          // the broker is back: a may have been alive all the time
			{30, "b self", "+b +self, +b +self, +b +self", "[a b self]"},
			{10, "b self", "+b ?a +self", "[b self]"},
		} {
			reads = nil
			pass(step.seconds, step.renewed)
			if said, alive := strings.Join(reads, ", "), fmt.Sprint(h.Members()); said != step.said || alive != step.alive {
				t.Errorf("step %d: reads showed %q, and %v live; want %q and %q", i, said, alive, step.said, step.alive)
			}
		}
		expect := func(what, contained, not string) {
			t.Helper()
			said := strings.Join(reads, " ")
			if !strings.Contains(said, contained) || not != "" && strings.Contains(said, not) {
				t.Errorf("%s: reads showed %q", what, said)
			}
			reads = nil
		}
		delete(leases, "b") // an administrator deletes the Lease
		reads = nil
		pass(40, "self")
		expect("member without a Lease", "?b", "-b")
		h.Remove("b", true)
		pass(10, "self")
		if expect("member that left", "-b", ""); h.Live("b") {
			t.Error("a member that left lives")
		}
		h.Expect("c", "b")
		pass(40, "self")
		expect("member that never had a Lease", "?c", "?b")
		end()
		if pass(10, "a self"); len(reads) > 0 {
			t.Errorf("reads are followed after the end: %v", reads)
		}
	})
}

// A member that renews its heartbeat in time, measured while this process can see heartbeats,
// is never missing, whatever happens to the broker and this process. A restart of the observation
// does not change when it was last renewed.
func TestWhoRenewsInTimeIsNeverMissing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, at := NewHeartbeats("self", timeout), start
		for range rapid.IntRange(1, 40).Draw(t, "rounds") {
			// In each round either both renewals arrive or none.
			at = at.Add(time.Duration(rapid.IntRange(1, 100).Draw(t, "gap")) * time.Second)
			read, _ := h.take(at, map[names.ClusterID]time.Time{"a": at, "self": at})
			if _, renewed := read.Renewed["a"]; !renewed || !read.Own || !h.Live("a") || len(h.Members()) != 2 || !h.Renewals()["a"].Equal(at) || !h.Own().Equal(at) {
				t.Fatalf("the member is missing, although it renewed its heartbeat whenever this cluster did: %v", read)
			}
		}
	})
}

// Clocks are not compared: a member is late by the age of its last renewal, however its clock differs, also if it is set
// meanwhile, and however late its renewals are read. What a member usually takes between renewals is not late, and nothing that
// happened while the broker was away counts.
func TestLate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, at := NewHeartbeats("self", timeout), start
		clock := time.Duration(rapid.IntRange(-100_000, 100_000).Draw(t, "clock")) * time.Second
		set := rapid.IntRange(11, 50).Draw(t, "set in round")
		every := time.Duration(rapid.IntRange(4500, 20_000).Draw(t, "every")) * time.Millisecond // of the member
		var renewal, lateAt time.Time
		var oldest time.Duration // that its heartbeat became, while the broker could be read
		for round := range 200 {
			at = at.Add(time.Duration(rapid.IntRange(4500, 5500).Draw(t, "gap")) * time.Millisecond)
			if round == 100 { // the broker is away
				at = at.Add(time.Hour / 4)
			}
			if round == set {
				clock = time.Duration(rapid.IntRange(-100_000, 100_000).Draw(t, "set clock")) * time.Second
			}
			if age := at.Sub(renewal); round > 10 && round != 100 {
				if round > 60 && at.After(lateAt) && age < max(every, timeout/usual) {
					t.Fatalf("round %d: its heartbeat is late at the age of %v", round, age)
				}
				oldest = max(oldest, age)
			}
			renewal = start.Add(at.Sub(start) / every * every)
			read, _ := h.take(at, map[names.ClusterID]time.Time{"a": renewal.Add(clock), "self": at})
			if when, renewed := read.Renewed["a"]; renewed {
				lateAt = when
			}
		}
		// A clock that is set may hide how late its renewals are read: by one interval of reads at most.
		if wait := lateAt.Sub(renewal); wait > max(oldest, timeout/usual)+timeout/margin+5500*time.Millisecond {
			t.Errorf("it renews every %v, and is late after %v", every, wait)
		}
	})
}
