package lost

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/agent/inputs"
	"github.com/atoll-mcs/atoll/internal/broker/view"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/kit/metrics"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// When 500 members die at once, all are silent and then probed for withdrawal, but the agent sends at most 100 SYNs per second
// and has at most 256 open connections.
func TestFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const members = 500
		ctx, cancel := context.WithCancel(t.Context())
		imports := importsOf{of: map[string][]discoveryv1.EndpointSlice{}}
		alive := map[names.ClusterID]time.Time{}
		for n := range members {
			id := names.ClusterID(fmt.Sprintf("m%d", n))
			alive[id] = time.Now().Add(110 * time.Second) // when its heartbeat is late
			for i := range 20 {
				address := netip.AddrFrom4([4]byte{10, byte(n >> 8), byte(n), byte(i)})
				imports.of[id.String()] = append(imports.of[id.String()], *slice(80, address.String()))
			}
		}
		remote := &network{}
		cluster := &inputs.Cluster{ID: "self", Client: imports, Live: imports, View: view.New("set", "self", nil, &kit.Changes[kit.Scope]{})}
		c := NewController(Options{
			Cluster: cluster, Heartbeats: NewHeartbeats("self", timeout), Prober: newProber(remote.dial, metrics.New(metrics.NewTraffic()).Probes, func(names.ClusterID, netip.Addr) bool { return true }),
			Timeout: timeout, Renew: func() {}, Log: slog.New(slog.DiscardHandler),
		}, NewSet(&kit.Changes[kit.Scope]{}, func(names.ClusterID) {}))
		c.detector = NewDetector(timeout, all, c.silences.IsLate)
		go c.Start(ctx)
		synctest.Wait()
		c.update(func(now time.Time) { c.read(Read{At: now, Renewed: alive}) })
		<-time.After(100 * time.Second)
		if n := c.silentMembers(); n > 0 {
			t.Errorf("%d healthy members are silent", n)
		}
		remote.die()
		<-time.After(10 * time.Second)
		late, silent := time.Now(), 0
		for ; silent < members; <-time.After(time.Second) {
			if silent = c.silentMembers(); time.Since(late) > time.Minute {
				t.Fatalf("%d of %d members are silent after a minute", silent, members)
			}
		}
		t.Logf("all are silent %v after they are late", time.Since(late))
		c.update(func(now time.Time) { c.read(Read{At: now, Missed: slices.Collect(maps.Keys(alive))}) })
		<-time.After(2 * time.Minute)
		cancel()
		synctest.Wait()
		t.Logf("%d SYNs, at most %d in a second, at most %d connections", len(remote.syns), remote.mostInASecond(), remote.most)
		if n := remote.mostInASecond(); n > 100 {
			t.Errorf("%d SYNs are sent in a second", n)
		}
		if remote.most > maxOpen {
			t.Errorf("%d connections are open", remote.most)
		}
	})
}

func (c *Controller) silentMembers() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.silences.Silent())
}

// network leads to endpoints that accept connections until they die, and then never answer.
type network struct {
	mu         sync.Mutex
	dead       bool
	syns       []time.Time
	open, most int
}

func (n *network) die() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dead = true
}

// dial sends a SYN each second, as Linux does for the first ones since 6.5 (tcp_syn_linear_timeouts).
func (n *network) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	n.mu.Lock()
	dead := n.dead
	n.open++
	n.most = max(n.most, n.open)
	n.mu.Unlock()
	defer func() {
		n.mu.Lock()
		n.open--
		n.mu.Unlock()
	}()
	for {
		n.mu.Lock()
		n.syns = append(n.syns, time.Now())
		n.mu.Unlock()
		if !dead {
			ours, theirs := net.Pipe()
			_ = theirs.Close()
			return ours, nil
		}
		again := time.NewTimer(time.Second + 4*time.Millisecond) // the kernel is never early
		select {
		case <-ctx.Done():
			again.Stop()
			return nil, ctx.Err()
		case <-again.C:
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}

// mostInASecond returns the largest number of SYNs in a second.
func (n *network) mostInASecond() (most int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	slices.SortFunc(n.syns, time.Time.Compare)
	first := 0
	for i, at := range n.syns {
		for at.Sub(n.syns[first]) >= time.Second {
			first++
		}
		most = max(most, i+1-first)
	}
	return most
}

// importsOf is a cluster with imported EndpointSlices by member, and without other objects.
type importsOf struct {
	client.Client
	of map[string][]discoveryv1.EndpointSlice
}

func (i importsOf) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(options)
	if o.FieldSelector != nil && len(o.FieldSelector.Requirements()) > 0 {
		list.(*discoveryv1.EndpointSliceList).Items = slices.Clone(i.of[o.FieldSelector.Requirements()[0].Value])
	}
	return nil
}

func (importsOf) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	return apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, key.Name)
}

func (importsOf) Create(context.Context, client.Object, ...client.CreateOption) error { return nil }
