package lost

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Set publishes members whose state changes. The first state publishes everything, because nothing was known before.
func TestSet(t *testing.T) {
	var changes kit.Changes[kit.Scope]
	var published []string
	changes.Subscribe(func(s kit.Scope) { published = append(published, "member "+s.Member.String()) })
	s := NewSet(&changes, func(id names.ClusterID) { published = append(published, "lost "+id.String()) })
	out := map[names.ClusterID]map[netip.AddrPort]bool{"d": {netip.MustParseAddrPort("10.0.0.1:80"): true}}
	for i, tt := range []struct {
		state     State
		published string
	}{
		{State{Lost: ids("a")}, "lost a, member "},
		{State{Lost: ids("b c"), Silent: ids("a")}, "lost a, lost b, lost c, member a"},
		{State{Lost: ids("c b"), Silent: ids("a")}, ""},
		{State{Lost: ids("c b"), Silent: ids("a"), Endpoints: out}, "member d"},
		{State{Lost: ids("c b")}, "member a, member d"},
	} {
		if published = nil; s.Known() != (i > 0) {
			t.Errorf("before step %d: known is %t", i, s.Known())
		}
		s.Replace(tt.state)
		if got := strings.Join(published, ", "); got != tt.published || !s.Known() ||
			s.Has("b") != slices.Contains(tt.state.Lost, "b") || s.Silent("a") != slices.Contains(tt.state.Silent, "a") || len(s.Endpoints("d")) != len(tt.state.Endpoints) {
			t.Errorf("step %d: published %q, want %q", i, got, tt.published)
		}
	}
}
