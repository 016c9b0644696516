// Package flood tests how a member that writes without pause affects other members, with real
// agents and API servers.
package flood

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/time/rate"
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
	// parts are the phases of equal length.
	parts = 4
	// heartbeatGap is the longest time between two heartbeats of a member. After 40 s a member may count as lost.
	heartbeatGap = 30 * time.Second
	// quota is the size at which etcd refuses writes, by default.
	quota = 2 << 30
	// serviceBits is the prefix length of the clusters' Service ranges, addressesOfFlood a quarter of the range.
	serviceBits, addressesOfFlood = 22, 1 << (32 - serviceBits) / 4
	// heapOfObject exceeds what an importer keeps of a record or a small slice, and of the objects that it makes of them.
	heapOfObject = 16 << 10
	// heapUnderWay exceeds what the importer needs for the flood's changes that it is reading or writing.
	heapUnderWay = 32 << 20
)

// A member writes to the broker: the most expensive objects that it may write, as many records as count, thousands of services,
// and objects that the broker denies. First the requests are few enough for the processors, then it writes as fast as possible,
// and then it also opens a thousand watches of each kind. Another member's changes must still reach a third member, whose memory
// must stay within the budget. Both members' heartbeats must pass, a service of the bystander must keep its endpoint, a new one
// must get an address although the flood has used up its quarter, and the broker's etcd must stay within its quota. While the
// flood is bounded, changes may take twice as long as before. How long they take while all programs wait for processors depends
// on the machine: the test logs it, with the processors that each program uses.
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
	quiet := follow.phase(t, b, f, "quiet", *duration/parts)
	stop := f.start(t, append(flows(), fills()...))
	bounded := follow.phase(t, b, f, "bounded flood", *duration/parts)
	f.limiter.SetLimit(rate.Inf)
	loud := follow.phase(t, b, f, "flood", *duration/parts)
	f.watch(t)
	watched := follow.phase(t, b, f, "flood and watches", *duration/parts)
	open := by.watches(t)
	by.expectAddresses(t)
	by.expectNew(t)
	stop()
	for _, p := range []phase{quiet, bounded, loud, watched} {
		t.Log(p.compared(quiet))
		p.expectHeap(t, quiet)
	}
	bounded.expectFast(t, quiet)
	t.Logf("the responses to the flood: %v", f.answers)
	t.Logf("heartbeats at most %v apart; the broker's storage has %.0f MiB, and had %.0f watches", by.gap().Round(time.Millisecond), by.storage(t)/(1<<20), open)
	by.expect(t)
	f.expect(t, "largest slices 200", "records 200", "catalogue 200", "1,000 ports 422", "annotations 422", "revision 0 422", "Events 403",
		"10,000 records 201", "5,000 services 201", "watch leases 403")
}

// phase is a part of the test.
type phase struct {
	name          string
	took          []time.Duration
	before, after sample
}

// phase makes changes for some time.
func (f *follower) phase(t *testing.T, b *bed.Bed, fl *flood, name string, d time.Duration) phase {
	t.Helper()
	profile(t, b, name, d)
	before := takeSample(t, b, fl)
	took := f.changes(t, d)
	return phase{name, took, before, takeSample(t, b, fl)}
}

func (p phase) percentile(n int) time.Duration {
	return slices.Sorted(slices.Values(p.took))[(len(p.took)-1)*n/100]
}

func (p phase) compared(quiet phase) string {
	return fmt.Sprintf("%s: %d changes take %v (p99 %v), %.1f times as long (p99 %.1f times); stages: %s; the importer's heap is %.1f MiB, %.1f times as large; %s",
		p.name, len(p.took), p.percentile(50), p.percentile(99), p.percentile(50).Seconds()/quiet.percentile(50).Seconds(),
		p.percentile(99).Seconds()/quiet.percentile(99).Seconds(), p.stages(), p.after.heap/(1<<20), p.after.heap/quiet.after.heap, p.processors())
}

// expectHeap fails the test if the importer's heap exceeds the sum of: half as much again as in the quiet, the objects that the
// flood has stored within the limits, and the changes under way. The limit of a member's memory is the limit of the sum, too.
func (p phase) expectHeap(t *testing.T, quiet phase) {
	t.Helper()
	most := 1.5*quiet.after.heap + heapOfObject*float64(p.after.stored) + heapUnderWay
	if most = min(most, float64(border.DefaultLimits.Bytes)); p.after.heap > most {
		t.Errorf("%s: the importer's heap has grown to %.1f MiB; at most %.1f MiB were expected", p.name, p.after.heap/(1<<20), most/(1<<20))
	}
}

// expectFast fails the test if changes take more than twice as long as in the quiet, unless programs had to wait for processors.
func (p phase) expectFast(t *testing.T, quiet phase) {
	t.Helper()
	const spare, factor = 0.2, 2
	for _, one := range []phase{quiet, p} {
		if waited := one.waited(); waited > spare {
			t.Logf("%s is not compared: programs of this machine waited for its %d processors for %.0f %% of the time", one.name, runtime.NumCPU(), 100*waited)
			return
		}
	}
	if p.percentile(99) > factor*quiet.percentile(99) {
		t.Errorf("%s: changes take %v (p99), more than %d times %v", p.name, p.percentile(99), factor, quiet.percentile(99))
	}
}

// newBed starts a lab of two clusters and a broker.
func newBed(t *testing.T) *bed.Bed {
	t.Helper()
	programs, remove, err := planes.Programs(t.Context())
	planes.NoError(t, err)
	t.Cleanup(remove)
	b, err := bed.Up(t.Context(), bed.Options{Name: fmt.Sprintf("flood-%d", os.Getpid()), Programs: programs, Clusters: 2, ServiceBits: serviceBits, Progress: os.Stderr})
	planes.NoError(t, err)
	t.Cleanup(func() { planes.NoError(t, b.Down(context.Background())) })
	return b
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
