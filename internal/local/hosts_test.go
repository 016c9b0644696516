package local

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func hostNode(name, uid string, addresses ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(uid)}}
	for _, a := range addresses {
		n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Address: a})
	}
	return n
}

// Addresses are hosts' as long as any host has them, and it is told when that changes.
func TestHosts(t *testing.T) {
	h := &Hosts{nodes: map[string]host{}, holders: map[netip.Addr]int{}, servers: parsed([]string{"10.0.0.9"})}
	var told [][]netip.Addr
	h.OnChange(func(added []netip.Addr) { told = append(told, added) })
	now := time.Now()
	for i, step := range []struct {
		put  *corev1.Node // or else "a" goes
		told []string     // nil for nothing, new ones otherwise
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
			h.Put(step.put, now)
		} else {
			h.Remove("a")
		}
		if len(told) > 1 || (len(told) == 1) != (step.told != nil) || len(told) == 1 && !slices.Equal(told[0], parsed(step.told)) {
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

func TestNodesThatHaveToBeRead(t *testing.T) {
	h := &Hosts{nodes: map[string]host{}, holders: map[netip.Addr]int{}}
	now := time.Now()
	h.Put(hostNode("bare", "1"), now)
	h.Put(hostNode("a", "1", "10.0.0.1"), now)
	for name, tt := range map[string]struct {
		node *corev1.Node
		at   time.Time
		want bool
	}{
		"new":            {hostNode("b", "2"), now, true},
		"known":          {hostNode("a", "1"), now.Add(hostLasts), false},
		"known for long": {hostNode("a", "1"), now.Add(hostLasts + 1), true},
		"made anew":      {hostNode("a", "2"), now, true},
		"had no address": {hostNode("bare", "1"), now, true},
	} {
		if got := h.Unread(tt.node, tt.at); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
