// Package tcplimit is a CoreDNS plugin that limits how many TCP connections stay open: per client, and in total.
//
// CoreDNS itself closes a connection without a query after 3 seconds, and one without a further query after 10 seconds, but
// does not limit their number, and plugins do not see them open and close. So the plugin closes a connection over the limit
// after its answer. Clients ask again over a new connection what was not answered, as RFC 7766 (section 6.2.4) requires of them. A
// connection that never has a query is not limited.
//
// CoreDNS refuses names of no server block without asking plugins. A server block for the root zone with only this plugin refuses
// them too, and limits their connections. All server blocks share the limits.
package tcplimit

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/coredns/caddy"
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/plugin"
	"github.com/miekg/dns"
)

const (
	name = "tcplimit"
	// perClient suits other DNS servers, such as a cache on each node: they keep one connection for each query that waits.
	perClient = 100
	// inTotal limits the memory of all connections.
	inTotal = 2000
	// idle is how long CoreDNS keeps a connection after a query.
	idle = 10 * time.Second
)

func init() { plugin.Register(name, setup) }

func setup(c *caddy.Controller) error {
	if c.Next(); c.NextArg() {
		return plugin.Error(name, c.ArgErr())
	}
	dnsserver.GetConfig(c).AddPlugin(func(next plugin.Handler) plugin.Handler { return &handler{shared, next} })
	return nil
}

// shared are the connections of this process.
var shared = newConnections()

// connections decides which connections stay open.
type connections struct {
	mu sync.Mutex
	// clients has the last query of each connection that may be open, by client and port.
	clients map[netip.Addr]map[uint16]time.Time
	total   int
	swept   time.Time
}

func newConnections() *connections {
	return &connections{clients: map[netip.Addr]map[uint16]time.Time{}}
}

// handler is the plugin's handler in one server block.
type handler struct {
	*connections
	next plugin.Handler
}

// Name implements plugin.Handler.
func (*handler) Name() string { return name }

// ServeDNS implements plugin.Handler.
func (h *handler) ServeDNS(ctx context.Context, w dns.ResponseWriter, r *dns.Msg) (int, error) {
	answer := func() (int, error) {
		if h.next == nil {
			return dns.RcodeRefused, nil
		}
		return plugin.NextOrFailure(name, h.next, ctx, w, r)
	}
	client, isTCP := w.RemoteAddr().(*net.TCPAddr)
	if !isTCP || h.keeps(client.AddrPort(), time.Now()) {
		return answer()
	}
	rcode, err := answer()
	if !plugin.ClientWrite(rcode) { // else the server would answer after this function, too late
		_ = w.WriteMsg(new(dns.Msg).SetRcode(r, rcode))
	}
	_ = w.Close() // the client may have closed it
	return rcode, err
}

// keeps reports whether a connection may stay open after a query.
func (c *connections) keeps(from netip.AddrPort, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	client := from.Addr().Unmap()
	_, known := c.clients[client][from.Port()]
	if !known {
		if len(c.clients[client]) >= perClient {
			c.forget(client, now)
		}
		if c.total >= inTotal && now.Sub(c.swept) >= time.Second { // not for each query of a flood
			c.swept = now
			for other := range c.clients {
				c.forget(other, now)
			}
		}
		if len(c.clients[client]) >= perClient || c.total >= inTotal {
			return false
		}
		if c.clients[client] == nil {
			c.clients[client] = map[uint16]time.Time{}
		}
		c.total++
	}
	c.clients[client][from.Port()] = now
	return true
}

// forget removes a client's connections that CoreDNS has closed.
func (c *connections) forget(client netip.Addr, now time.Time) {
	ports := c.clients[client]
	for port, last := range ports {
		if now.Sub(last) > idle {
			delete(ports, port)
			c.total--
		}
	}
	if len(ports) == 0 {
		delete(c.clients, client)
	}
}
