package simulation

import (
	"context"
	"testing"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// waits marks a test that mostly waits for some seconds. Call it first.
func waits(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	t.Parallel()
}

// joinAll starts members with an in-memory broker, and stops their agents after the test.
func joinAll(t *testing.T, count int, o Options) (*Broker, []*Member) {
	t.Helper()
	b, err := MemoryBroker()
	planes.NoError(t, err)
	return b, joinTo(t, b, count, o)
}

// joinTo starts members of a broker, and stops their agents after the test.
func joinTo(t *testing.T, b *Broker, count int, o Options) []*Member {
	t.Helper()
	members, err := JoinAll(t.Context(), b, count, o)
	planes.NoError(t, err)
	t.Cleanup(func() {
		if err := StopAll(members); err != nil {
			t.Error(err)
		}
	})
	return members
}

func eventually(t *testing.T, what string, f func(context.Context) error) {
	t.Helper()
	planes.Eventually(t, what, func() error { return f(t.Context()) })
}

// shop creates the namespace shop in members.
func shop(t *testing.T, members ...*Member) {
	t.Helper()
	for _, m := range members {
		planes.Create(t, m.Client, objects.Namespace("shop"))
	}
}

// export exports a Service of the namespace shop with one endpoint. onLoss is the annotation
// for the loss of the cluster.
func export(t *testing.T, m *Member, name, address, onLoss string) {
	t.Helper()
	e := objects.Export("shop", name)
	if onLoss != "" {
		e.Annotations = map[string]string{names.AnnotationOnClusterLoss: onLoss}
	}
	planes.Create(t, m.Client, objects.Service("shop", name, 80), objects.Slice("shop", name+"-1", name, address), e)
}
