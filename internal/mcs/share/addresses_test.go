package share

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// No sequence of imports lets the Services of one member exceed a quarter of the range by an import that it alone exports, and
// what has an address keeps it. What no member exports, this cluster's own, always gets one below the last part of the range.
func TestAddresses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := NewAddresses([]string{"10.96.0.0/28"}) // 16 addresses, 4 for a member
		held := map[types.NamespacedName][]names.ClusterID{}
		for range rapid.IntRange(1, 80).Draw(t, "changes") {
			service := types.NamespacedName{Namespace: "shop", Name: fmt.Sprint(rapid.IntRange(0, 11).Draw(t, "service"))}
			if rapid.IntRange(0, 3).Draw(t, "gone") == 0 {
				a.Release(service)
				delete(held, service)
			} else {
				members := rapid.SliceOfNDistinct(rapid.SampledFrom([]names.ClusterID{"c2", "c3", "c4"}), 0, 2, rapid.ID[names.ClusterID]).Draw(t, "members")
				_, had := held[service]
				room := len(members) == 0 || slices.ContainsFunc(members, func(id names.ClusterID) bool { return count(held, id) < 4 })
				refusal := a.Take(service, []corev1.IPFamily{corev1.IPv4Protocol}, members)
				if (refusal == "") != (had || room) {
					t.Fatalf("%v of %v: had %v, room %v, refused: %q", service, members, had, room, refusal)
				}
				if refusal == "" {
					held[service] = members
				}
			}
			for _, id := range []names.ClusterID{"c2", "c3", "c4"} {
				if got, want := a.Members()[id], count(held, id); got != want {
					t.Fatalf("%s has %d addresses, want %d", id, got, want)
				}
			}
		}
	})
}

func count(held map[types.NamespacedName][]names.ClusterID, id names.ClusterID) (n int) {
	for _, members := range held {
		if slices.Contains(members, id) {
			n++
		}
	}
	return n
}

// The last twentieth of a range is for the cluster's own Services. A family with an unknown range has no limit, and Services
// outside of the ranges do not count.
func TestAddressesFull(t *testing.T) {
	v4, both := []corev1.IPFamily{corev1.IPv4Protocol}, []corev1.IPFamily{corev1.IPv6Protocol, corev1.IPv4Protocol}
	a := NewAddresses([]string{"10.96.0.0/28", "fd00::/108"})
	for i := range 15 {
		a.Service(nil, []string{fmt.Sprintf("10.96.0.%d", i+1), fmt.Sprintf("fd00::%d", i+1)})
	}
	a.Service(nil, []string{"None"})
	a.Service(nil, []string{"10.1.0.1"})
	web := types.NamespacedName{Namespace: "shop", Name: "web"}
	if got := a.Take(web, both, nil); got != "" {
		t.Errorf("15 of 16 in use: %s", got)
	}
	a.Release(web)
	a.Service(nil, []string{"10.96.0.0"})
	if got := a.Take(web, both, nil); !strings.Contains(got, "100 % of the 16 IPv4 addresses") || a.Used()[corev1.IPv4Protocol] != 1 {
		t.Errorf("all in use: %q, %v", got, a.Used())
	}
	if got := a.Take(web, both, []names.ClusterID{"c2"}); got == "" || len(a.Waiting()) > 0 {
		t.Errorf("a member is blamed because the range is full: %q, %v", got, a.Waiting())
	}
	a.Service([]string{"10.96.0.0"}, []string{"10.96.0.0"})
	a.Service([]string{"10.96.0.0"}, nil)
	if got := a.Take(web, v4, []names.ClusterID{"c2"}); got != "" {
		t.Errorf("one is free again: %s", got)
	}
	if got := NewAddresses(nil).Take(web, both, []names.ClusterID{"c2"}); got != "" {
		t.Errorf("the range is unknown: %s", got)
	}
}

// A member is named as the cause as long as one of its imports waits for an address because the member has too many: not if the
// import is gone, or needs none any more.
func TestAddressesWaiting(t *testing.T) {
	v4, c2 := []corev1.IPFamily{corev1.IPv4Protocol}, []names.ClusterID{"c2"}
	name := func(i int) types.NamespacedName {
		return types.NamespacedName{Namespace: "shop", Name: fmt.Sprint(i)}
	}
	a := NewAddresses([]string{"10.96.0.0/28"})
	for i := range 8 {
		a.Take(name(i), v4, c2)
	}
	for want, end := range []func(){nil, func() { a.NeedsNone(name(6)) }, func() { a.Release(name(5)) }, func() { a.Take(name(4), v4, nil) }} {
		if end != nil {
			end()
		}
		if got := a.Waiting()["c2"]; got != 4-want {
			t.Errorf("%d wait, want %d", got, 4-want)
		}
	}
	a.Release(name(0)) // its Service could not be created
	if refusal := a.Take(name(7), v4, c2); refusal != "" || a.Members()["c2"] != 4 || len(a.Waiting()) > 0 {
		t.Errorf("%q, %v have one, %v wait", refusal, a.Members(), a.Waiting())
	}
}
