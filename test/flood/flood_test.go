// Package flood tests how a member that writes without pause affects other members, with real
// agents and API servers.
package flood

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/broker/border"
	"github.com/atoll-mcs/atoll/test/bench/bed"
	"github.com/atoll-mcs/atoll/test/planes"
)

var duration = flag.Duration("duration", 10*time.Minute, "how long the flood takes, with the time before")

const (
	// flooder writes without pause and has no agent.
	flooder = "flood"
	flooded = "flooded" // the namespace
	// betweenChanges exceeds the delay between two writes of a slice.
	betweenChanges = 120 * time.Millisecond
	// A quarter of the time is quiet, half of it is the flood, and a quarter the flood with watches.
	parts = 4
	// heartbeatGap is the longest time between two heartbeats of a member. After 40 s a member may count as lost.
	heartbeatGap = 30 * time.Second
	// quota is the size at which etcd refuses writes, by default.
	quota = 2 << 30
)

// A member writes to the broker as fast as possible: the most expensive objects that it may write, as many records as count,
// thousands of services, and objects that the broker denies. Then it also opens a thousand watches of each kind. Another
// member's changes must still reach a third member, whose memory must stay within the budget. Both members' heartbeats must
// pass, a service of the bystander must keep its endpoint, and the broker's etcd must stay within its quota. The test logs how
// much longer the changes take, and how much more memory: where all programs share a few processors, both depend on these.
func TestFlood(t *testing.T) {
	if testing.Short() || !planes.Nightly() {
		t.Skip("needs API servers, and several minutes: nightly")
	}
	b := newBed(t)
	web, healthy := bed.Service{Namespace: flooded, Name: "web", Endpoints: 1}, bed.Service{Namespace: flooded, Name: "healthy", Endpoints: 1, First: 1}
	planes.NoError(t, b.Namespace(t.Context(), flooded, b.Members...))
	for _, s := range []bed.Service{web, healthy} {
		planes.NoError(t, s.Create(t.Context(), b.On["c1"]))
		planes.NoError(t, s.Export(t.Context(), b.On["c1"]))
	}
	follow := newFollower(t, b, web)
	follow.change(t)
	by := newBystander(t, b, healthy)

	f := newFlood(t, b)
	quiet := phase{"quiet", follow.changes(t, *duration/parts), heapOf(t, b)}
	stop := f.start(t, append(flows(), fills()...))
	loud := phase{"flood", follow.changes(t, 2*(*duration)/parts), heapOf(t, b)}
	f.watch(t)
	watched := phase{"flood and watches", follow.changes(t, *duration/parts), heapOf(t, b)}
	open := by.watches(t)
	stop()
	for _, p := range []phase{quiet, loud, watched} {
		t.Log(p.compared(quiet))
	}
	t.Logf("the responses to the flood: %v", f.answers)
	t.Logf("heartbeats at most %v apart; the broker's storage has %.0f MiB, and had %.0f watches; imports use %d addresses in c2", by.gap().Round(time.Millisecond), by.storage(t)/(1<<20), open, by.addresses(t))
	if peak := max(loud.heap, watched.heap); peak > float64(border.DefaultLimits.Bytes) {
		t.Errorf("the importer's heap has grown to %.0f MiB", peak/(1<<20))
	}
	by.expect(t)
	by.expectAddresses(t)
	f.expect(t, "largest slices 200", "records 200", "catalogue 200", "1,000 ports 422", "annotations 422", "revision 0 422", "Events 403",
		"10,000 records 201", "5,000 services 201", "watch leases 403")
}

// phase is a part of the test.
type phase struct {
	name string
	took []time.Duration
	heap float64
}

func (p phase) percentile(n int) time.Duration {
	return slices.Sorted(slices.Values(p.took))[(len(p.took)-1)*n/100]
}

func (p phase) compared(quiet phase) string {
	return fmt.Sprintf("%s: %d changes take %v (p99 %v), %.1f times as long (p99 %.1f times); the importer's heap is %.1f MiB, %.1f times as large",
		p.name, len(p.took), p.percentile(50), p.percentile(99), p.percentile(50).Seconds()/quiet.percentile(50).Seconds(),
		p.percentile(99).Seconds()/quiet.percentile(99).Seconds(), p.heap/(1<<20), p.heap/quiet.heap)
}

// newBed starts a lab of two clusters and a broker.
func newBed(t *testing.T) *bed.Bed {
	t.Helper()
	programs, remove, err := planes.Programs(t.Context())
	planes.NoError(t, err)
	t.Cleanup(remove)
	b, err := bed.Up(t.Context(), bed.Options{Name: fmt.Sprintf("flood-%d", os.Getpid()), Programs: programs, Clusters: 2, Progress: os.Stderr})
	planes.NoError(t, err)
	t.Cleanup(func() { planes.NoError(t, b.Down(context.Background())) })
	return b
}

// heapOf returns the heap of c2's agent.
func heapOf(t *testing.T, b *bed.Bed) float64 {
	t.Helper()
	metrics, err := b.AgentMetrics(t.Context(), "c2")
	planes.NoError(t, err)
	return metrics.Sum("go_memstats_heap_inuse_bytes")
}

// follower changes the endpoint of a Service in c1 and detects when c2 has imported the change.
type follower struct {
	exporter client.Client
	importer *bed.Observer
	source   *discoveryv1.EndpointSlice
	number   int
}

func newFollower(t *testing.T, b *bed.Bed, s bed.Service) *follower {
	t.Helper()
	o, err := bed.Observe(t.Context(), b.On["c2"], s.Namespace)
	planes.NoError(t, err)
	source := s.Slices()[0]
	planes.NoError(t, b.On["c1"].Get(t.Context(), client.ObjectKeyFromObject(source), source))
	return &follower{exporter: b.On["c1"], importer: o, source: source}
}

// changes makes changes at intervals for some time and returns how long each took.
func (f *follower) changes(t *testing.T, d time.Duration) (took []time.Duration) {
	t.Helper()
	next := time.NewTicker(betweenChanges)
	defer next.Stop()
	for end := time.Now().Add(d); time.Now().Before(end); {
		took = append(took, f.change(t))
		<-next.C
	}
	return took
}

func (f *follower) change(t *testing.T) time.Duration {
	t.Helper()
	f.number++
	f.source.Endpoints[0].Addresses = []string{bed.Address(1000 + f.number)}
	ctx, cancel := context.WithTimeout(t.Context(), planes.Patience)
	defer cancel()
	begun := time.Now()
	planes.NoError(t, f.exporter.Update(ctx, f.source))
	at, err := f.importer.Await(ctx, bed.Appeared(f.source.Endpoints[0].Addresses[0]))
	planes.NoError(t, err)
	return at.Sub(begun)
}
