package interest

import (
	"log/slog"
	"testing"

	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/epoch"
)

// A namespace is followed while it exists and another cluster has exported something from it, in
// whatever order that becomes so.
func TestWhatIsFollowed(t *testing.T) {
	view := broker.NewView(nil, broker.NewEpoch(nil, "set", "c1", epoch.Memory{}, slog.New(slog.DiscardHandler)))
	c := NewController(nil, view)
	for i, step := range []struct {
		do        func(string)
		namespace string
		want      int
	}{
		{c.exists, "shop", 0},
		{c.exports, "other", 0},
		{c.exports, "shop", 1},
		{c.exports, "shop", 1},
		{c.exists, "other", 2},
		{c.gone, "shop", 1},
		{c.exports, "shop", 1},
		{c.exists, "shop", 2},
		{c.gone, "other", 1},
		{c.gone, "never", 1},
	} {
		step.do(step.namespace)
		if got, _ := view.Followed(); got != step.want {
			t.Errorf("step %d: %d namespaces are followed, want %d", i, got, step.want)
		}
	}
}
