package lost

import (
	"slices"
	"testing"

	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Set publishes members that join or leave. The first set publishes everything, because nothing
// was known before.
func TestSet(t *testing.T) {
	var changes kit.Changes[kit.Scope]
	var published []string
	changes.Subscribe(func(s kit.Scope) { published = append(published, "member "+s.Member.String()) })
	s := NewSet(&changes, func(id names.ClusterID) { changes.Publish(kit.Scope{Member: id}) })
	for _, tt := range []struct{ members, published []string }{
		{[]string{"a"}, []string{"member ", "member a"}},
		{[]string{"b", "c"}, []string{"member a", "member b", "member c"}},
		{[]string{"c", "b"}, nil},
	} {
		if published = nil; s.Known() != (tt.members[0] != "a") {
			t.Errorf("before %v: known is %t", tt.members, s.Known())
		}
		s.Replace(tt.members)
		if slices.Sort(published); !slices.Equal(published, tt.published) || !s.Known() || s.Has("a") != (tt.members[0] == "a") {
			t.Errorf("%v: published %v", tt.members, published)
		}
	}
}
