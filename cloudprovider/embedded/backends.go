package embedded

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/cache"

	"github.com/atoll-mcs/atoll/cloudprovider"
)

// A backend is the destination of connections to one port. A removed backend whose address returns is a new backend.
type backend struct {
	address netip.AddrPort
	// ctx ends when the backend is removed.
	ctx context.Context
	end context.CancelFunc
	// suspect tells the health check that a connection has just failed.
	suspect chan struct{}

	// Guarded by the group's mu:
	draining bool
	down     bool
}

// A group holds the backends of one port of a load balancer and picks one for each connection.
//
// It picks round robin among backends that are up and not draining. A least-connections choice would send every
// connection to a backend that fails them at once. When none is up, all are tried; when all drain, they keep serving,
// as with kube-proxy.
type group struct {
	check   func(ctx context.Context, b *backend, report func(up bool)) // nil means no checks
	changed func()                                                      // called when a backend goes up or down
	running *sync.WaitGroup

	mu       sync.Mutex
	backends []*backend
	usable   []*backend // the best backends available
	next     int
	affinity time.Duration         // how long a client stays with its backend; 0 turns affinity off
	sticky   *cache.LRUExpireCache // the clients' last backends: netip.Addr to netip.AddrPort
}

// maxAffinity limits the remembered clients per port. The least recently used clients are forgotten first.
const maxAffinity = 100_000

func newGroup(running *sync.WaitGroup, check func(context.Context, *backend, func(bool)), changed func()) *group {
	return &group{check: check, changed: changed, running: running}
}

// update replaces the backends of the group. Backends that stay keep their state.
func (g *group) update(want []cloudprovider.Backend, affinity time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.affinity != affinity {
		g.affinity, g.sticky = affinity, cache.NewLRUExpireCache(maxAffinity)
	}
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

// report records whether a backend answers.
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

// failed takes a backend down after a failed connection, until a check succeeds.
func (g *group) failed(b *backend) {
	g.report(b, false)
	select {
	case b.suspect <- struct{}{}:
	default:
	}
}

// choose needs mu to be held. It keeps next, so that updates do not favour the first backend.
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

// pick returns a backend for a client's next connection, or nil. It skips backends that already failed for this
// connection.
func (g *group) pick(client netip.Addr, failed []*backend) *backend {
	g.mu.Lock()
	defer g.mu.Unlock()
	b := g.sticks(client, failed)
	if b == nil {
		b = g.turn(failed)
	}
	if b != nil && g.affinity > 0 {
		g.sticky.Add(client, b.address, g.affinity)
	}
	return b
}

// sticks returns the client's last backend if it is usable. It needs mu to be held.
func (g *group) sticks(client netip.Addr, failed []*backend) *backend {
	if g.affinity == 0 {
		return nil
	}
	address, _ := g.sticky.Get(client)
	for _, b := range g.usable {
		if b.address == address && !slices.Contains(failed, b) {
			return b
		}
	}
	return nil
}

// turn returns the next backend. It needs mu to be held.
func (g *group) turn(failed []*backend) *backend {
	for _, from := range [][]*backend{g.usable, g.backends} {
		for range from {
			b := from[g.next%len(from)]
			g.next = (g.next + 1) % (1 << 30)
			if !slices.Contains(failed, b) {
				return b
			}
		}
	}
	return nil
}

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

func (g *group) close() { g.update(nil, 0) }
