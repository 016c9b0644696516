package embedded

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/atoll-mcs/atoll/cloudprovider"
)

// A backend is where connections to one port go. It is known by its address: one that is not
// wanted any more and comes back is another backend.
type backend struct {
	address netip.AddrPort
	// ctx ends when the backend is not wanted any more.
	ctx context.Context
	end context.CancelFunc
	// suspect tells the health check that a connection has failed just now.
	suspect chan struct{}

	// Guarded by the group's mu.
	draining bool
	down     bool
}

// A group is the backends of one port of a load balancer, and which of them the next connection
// goes to.
//
// They take turns, of those that are up and not draining: that is even in numbers, whatever
// clusters they are in, and one that fails every connection at once does not attract all of
// them, as it would where the one with the fewest is chosen. Where none is up all are tried, and
// where all are draining these serve on, as with kube-proxy.
type group struct {
	check   func(ctx context.Context, b *backend, report func(up bool)) // nil is none
	changed func()                                                      // called when a backend goes up or down
	running *sync.WaitGroup

	mu       sync.Mutex
	backends []*backend
	usable   []*backend // the best that there are
	next     int
	sticky   *affinity
}

func newGroup(running *sync.WaitGroup, check func(context.Context, *backend, func(bool)), changed func()) *group {
	return &group{check: check, changed: changed, running: running, sticky: newAffinity(maxAffinity)}
}

// update makes the group one of just these backends.
func (g *group) update(want []cloudprovider.Backend, affinity time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sticky.setTimeout(affinity)
	old := map[netip.AddrPort]*backend{}
	for _, b := range g.backends {
		old[b.address] = b
	}
	g.backends = make([]*backend, 0, len(want))
	for _, w := range want {
		b := old[w.Address]
		if b == nil {
			b = g.newBackend(w.Address)
		}
		delete(old, w.Address)
		b.draining = w.Draining
		g.backends = append(g.backends, b)
	}
	for _, gone := range old {
		gone.end()
	}
	g.choose()
}

func (g *group) newBackend(address netip.AddrPort) *backend {
	ctx, end := context.WithCancel(context.Background())
	b := &backend{address: address, ctx: ctx, end: end, suspect: make(chan struct{}, 1)}
	if g.check != nil {
		g.running.Go(func() { g.check(ctx, b, func(up bool) { g.report(b, up) }) })
	}
	return b
}

// report says whether a backend answers.
func (g *group) report(b *backend, up bool) {
	g.mu.Lock()
	moved := b.down == up && b.ctx.Err() == nil
	if moved {
		b.down = !up
		g.choose()
	}
	g.mu.Unlock()
	if moved {
		g.changed()
	}
}

// failed says that a connection to the backend could not be made: none go there any more before
// a check has succeeded.
func (g *group) failed(b *backend) {
	g.report(b, false)
	select {
	case b.suspect <- struct{}{}:
	default:
	}
}

// choose is called with mu held. The turn goes on where it was, so that a change does not begin
// with the same backend each time.
func (g *group) choose() {
	g.usable = g.usable[:0:0]
	for _, good := range []func(*backend) bool{
		func(b *backend) bool { return !b.down && !b.draining },
		func(b *backend) bool { return !b.down },
		func(b *backend) bool { return !b.draining },
		func(*backend) bool { return true },
	} {
		for _, b := range g.backends {
			if good(b) {
				g.usable = append(g.usable, b)
			}
		}
		if len(g.usable) > 0 {
			return
		}
	}
}

// pick returns the backend for a client's next connection, other than those that have failed it
// already, or nil.
func (g *group) pick(client netip.Addr, failed []*backend, now time.Time) *backend {
	g.mu.Lock()
	defer g.mu.Unlock()
	if address, found := g.sticky.get(client, now); found {
		for _, b := range g.usable {
			if b.address == address && !slices.Contains(failed, b) {
				return b
			}
		}
	}
	for _, from := range [][]*backend{g.usable, g.backends} {
		for range from {
			b := from[g.next%len(from)]
			g.next = (g.next + 1) % (1 << 30)
			if !slices.Contains(failed, b) {
				g.sticky.put(client, b.address, now)
				return b
			}
		}
	}
	return nil
}

// unreachable returns the backends that do not answer.
func (g *group) unreachable() (addresses []netip.AddrPort) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, b := range g.backends {
		if b.down {
			addresses = append(addresses, b.address)
		}
	}
	return addresses
}

// close ends all backends.
func (g *group) close() { g.update(nil, 0) }
