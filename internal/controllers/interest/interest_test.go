package interest

import (
	"log/slog"
	"testing"

	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/epoch"
)

// A namespace is followed while it exists, if another cluster exports something from it or has done so since it
// exists, in whatever order that becomes so.
func TestWhatIsFollowed(t *testing.T) {
	view := broker.NewView(nil, broker.NewEpoch(nil, "set", "c1", epoch.Memory{}, slog.New(slog.DiscardHandler)))
	c := NewController(nil, view)
	exported := map[string]bool{}
	c.exported = func(namespace string) bool { return exported[namespace] }
	exports := func(namespace string) {
		exported[namespace] = true
		c.exports(namespace)
	}
	ends := func(namespace string) {
		exported[namespace] = false
		c.exports(namespace) // it is told of an export that goes, too
	}
	for i, step := range []struct {
		do        func(string)
		namespace string
		want      int
	}{
		{c.exists, "shop", 0},
		{exports, "other", 0},
		{exports, "shop", 1},
		{exports, "shop", 1},
		{c.exists, "other", 2},
		{c.gone, "shop", 1},
		{exports, "shop", 1},
		{c.exists, "shop", 2},
		{ends, "shop", 2},
		{c.gone, "other", 1},
		{c.gone, "shop", 0},
		{c.exists, "shop", 0},
		{c.gone, "never", 0},
	} {
		step.do(step.namespace)
		if got, _ := view.Followed(); got != step.want {
			t.Errorf("step %d: %d namespaces are followed, want %d", i, got, step.want)
		}
	}
}
