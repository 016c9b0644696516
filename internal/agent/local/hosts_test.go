package local

import (
	"net/netip"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/atoll-mcs/atoll/internal/kit"
)

func hostNode(name, uid string, addresses ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(uid)}}
	for _, a := range addresses {
		n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Address: a})
	}
	return n
}

// An address stays in the set while any host has it. Subscribers receive new addresses.
func TestHosts(t *testing.T) {
	h := newHosts()
	h.servers = parsed([]string{"10.0.0.9"})
	var told [][]netip.Prefix
	h.Changes.Subscribe(func(added []netip.Prefix) { told = append(told, added) })
	for i, step := range []struct {
		put  *corev1.Node // nil deletes node a
		told []string     // new addresses that subscribers receive; nil for no change
		has  string
	}{
		{hostNode("a", "1"), nil, ""},
		{hostNode("a", "1", "10.0.0.1", "a.example.org", "10.0.0.1"), []string{"10.0.0.1"}, "1"},
		{hostNode("a", "1", "10.0.0.1"), nil, "1"},
		{hostNode("b", "2", "10.0.0.1", "10.0.0.2"), []string{"10.0.0.2"}, "12"},
		{hostNode("a", "1", "10.0.0.3"), []string{"10.0.0.3"}, "123"},
		{hostNode("b", "2", "10.0.0.2"), []string{}, "23"},
		{nil, []string{}, "2"},
		{nil, nil, "2"},
	} {
		told = nil
		if step.put != nil {
			h.Node(t.Context(), kit.Event[*corev1.Node]{New: step.put})
		} else {
			h.Node(t.Context(), kit.Event[*corev1.Node]{Old: hostNode("a", "1")})
		}
		if len(told) > 1 || (len(told) == 1) != (step.told != nil) || len(told) == 1 && !slices.Equal(told[0], host{addresses: parsed(step.told)}.ranges()) {
			t.Errorf("step %d: told %v, want %v", i, told, step.told)
		}
		has := ""
		for _, n := range []string{"1", "2", "3"} {
			if h.Has(netip.MustParseAddr("10.0.0." + n)) {
				has += n
			}
		}
		if has != step.has || !h.Has(netip.MustParseAddr("10.0.0.9")) {
			t.Errorf("step %d: has %s, want %s", i, has, step.has)
		}
	}
}

// A pod range stays in the set while any node has it, whatever its length.
func TestPodRanges(t *testing.T) {
	h := newHosts()
	var added []string
	calls := 0
	h.Changes.Subscribe(func(ranges []netip.Prefix) {
		calls++
		for _, r := range ranges {
			added = append(added, r.String())
		}
	})
	put := func(name string, cidrs ...string) {
		n := hostNode(name, "1", "10.0.0.1")
		n.Spec.PodCIDR, n.Spec.PodCIDRs = cidrs[0], cidrs
		h.Node(t.Context(), kit.Event[*corev1.Node]{New: n})
	}
	put("a", "10.1.0.0/24", "fd00:1::/64")
	put("b", "10.1.1.0/25", "no range")
	put("b", "10.1.1.0/25")
	if want := []string{"10.1.0.0/24", "fd00:1::/64", "10.0.0.1/32", "10.1.1.0/25"}; !slices.Equal(added, want) || calls != 2 {
		t.Errorf("in %d calls %v were added, want %v", calls, added, want)
	}
	has := func(address string) bool { return h.Pods().Contains(netip.MustParseAddr(address)) }
	for address, want := range map[string]bool{
		"10.1.0.0": true, "10.1.0.255": true, "10.1.1.127": true, "10.1.1.128": false, "10.1.2.1": false, "10.0.0.1": false,
		"fd00:1::5": true, "fd00:2::5": false,
	} {
		if has(address) != want {
			t.Errorf("%s: %v", address, !want)
		}
	}
	h.Node(t.Context(), kit.Event[*corev1.Node]{Old: hostNode("a", "1")})
	if has("10.1.0.1") || has("fd00:1::5") || !has("10.1.1.1") || len(h.Pods().All()) != 1 || calls != 3 {
		t.Errorf("after a node has gone there are %v, told %d times", h.Pods().All(), calls)
	}
}
