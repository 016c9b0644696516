package lost

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// connections asks a member like a Controller, second by second, and returns how many endpoints it has connected to.
func connections(e *evidence, exist map[netip.AddrPort]bool, answers bool, at *time.Time, seconds int) (count int) {
	for range seconds {
		*at = at.Add(time.Second)
		if ask, _ := e.due(*at); len(ask) == 0 {
			continue
		}
		targets := e.targets("a", exist, *at)
		for _, target := range targets {
			if answers {
				e.add("a", target.Address, Accepted, *at)
			}
		}
		e.asked("a", len(targets), answers && len(targets) > 0, *at)
		count += len(targets)
	}
	return count
}

func pods(first, count int) map[netip.AddrPort]bool {
	all := map[netip.AddrPort]bool{}
	for n := range count {
		all[netip.MustParseAddrPort(fmt.Sprintf("10.1.%d.%d:80", (first+n)/250, (first+n)%250))] = true
	}
	return all
}

// After any changes of a member's endpoints there is evidence of those that it has now within two looks, however it was before.
// Without changes, a member is asked every five minutes, and once more for what is too old.
func TestEvidenceFollowsChanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e, at, first := newEvidence(timeout), start, 0
		e.keep(ids("a"))
		for range rapid.IntRange(1, 20).Draw(t, "changes") {
			first += rapid.IntRange(0, 9).Draw(t, "replaced")
			exist := pods(first, rapid.IntRange(0, 9).Draw(t, "endpoints"))
			e.changed("a", at)
			connections(e, exist, true, &at, rapid.SampledFrom([]int{1, 3, 11, 400}).Draw(t, "seconds"))
			e.changed("a", at)
			connections(e, exist, true, &at, 11)
			fresh := e.fresh("a", at, func(target netip.AddrPort) bool { return exist[target] })
			if want := min(len(exist), littleEvidence); len(fresh) < want {
				t.Fatalf("%d endpoints have answered, want %d", len(fresh), want)
			}
		}
		exist := pods(first, 9)
		e.changed("a", at)
		connections(e, exist, true, &at, 11)
		if n := connections(e, exist, true, &at, 3000); n < 10 || n > 20 { // old evidence is replaced, too
			t.Fatalf("%d connections in 3000 s without a change", n)
		}
	})
}

// The look at a change sees what follows it a moment later: after the end of a namespace, imported slices are deleted without
// another change of the member's.
func TestEvidenceWaitsForImports(t *testing.T) {
	e, at := newEvidence(timeout), start
	e.keep(ids("a"))
	connections(e, pods(0, 9), true, &at, 60)
	e.changed("a", at)
	connections(e, pods(0, 9), true, &at, 1)
	left := pods(9, 9)
	connections(e, left, true, &at, 10)
	if fresh := e.fresh("a", at, func(target netip.AddrPort) bool { return left[target] }); len(fresh) < littleEvidence {
		t.Fatalf("%d endpoints that are left have answered", len(fresh))
	}
}

// A rollout costs no connections while enough of the endpoints that answered are left, and a member that never answers is not
// asked more often because its endpoints change.
func TestChangesAreCheap(t *testing.T) {
	e, at := newEvidence(timeout), start
	e.keep(ids("a"))
	connections(e, pods(0, 9), true, &at, 1)
	for n := range 100 {
		e.changed("a", at)
		if n := connections(e, pods(0, 9+n), true, &at, 2); n > 0 {
			t.Fatalf("%d connections, although the endpoints that answered are there", n)
		}
	}

	e, at = newEvidence(timeout), start
	e.keep(ids("a"))
	connections(e, pods(0, 9), false, &at, 900)
	for n := range 900 {
		e.changed("a", at)
		if connections(e, pods(n, 9), false, &at, 1); e.members["a"].tries > 12 {
			t.Fatalf("it was asked %d times in vain", e.members["a"].tries)
		}
	}
}

// A member whose endpoints are not imported yet has not failed to answer, however often it is looked at.
func TestNothingToAskIsNoSilence(t *testing.T) {
	e, at := newEvidence(timeout), start
	e.keep(ids("a"))
	never := func(names.ClusterID) bool { return false }
	connections(e, nil, true, &at, 900)
	if unproven := e.unproven(never); len(unproven) > 0 {
		t.Fatalf("%v never answered, but nobody asked", unproven)
	}
	connections(e, pods(0, 9), false, &at, 900)
	if len(e.unproven(never)) != 1 {
		t.Fatal("it has been asked in vain")
	}
}
