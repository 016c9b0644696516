package embedded

import (
	"container/list"
	"net/netip"
	"time"
)

// maxAffinity is how many clients' backends are remembered for a port, at 100 bytes or so each.
// Beyond it those are forgotten that have not connected for the longest time.
const maxAffinity = 100_000

// affinity remembers which backend each client was sent to last. It is not safe for use by
// several at the same time.
type affinity struct {
	timeout time.Duration // 0 remembers nothing
	limit   int
	clients map[netip.Addr]*list.Element
	order   *list.List // of visits, the latest first
}

type visit struct {
	client  netip.Addr
	backend netip.AddrPort
	at      time.Time
}

func newAffinity(limit int) *affinity {
	return &affinity{limit: limit, clients: map[netip.Addr]*list.Element{}, order: list.New()}
}

func (a *affinity) setTimeout(timeout time.Duration) {
	a.timeout = timeout
	if timeout == 0 {
		clear(a.clients)
		a.order.Init()
	}
}

// get returns the client's backend, and counts as a visit.
func (a *affinity) get(client netip.Addr, now time.Time) (netip.AddrPort, bool) {
	e := a.clients[client]
	if e == nil {
		return netip.AddrPort{}, false
	}
	v := e.Value.(*visit)
	if now.Sub(v.at) > a.timeout {
		a.forget(e)
		return netip.AddrPort{}, false
	}
	v.at = now
	a.order.MoveToFront(e)
	return v.backend, true
}

// put remembers where a client was sent.
func (a *affinity) put(client netip.Addr, backend netip.AddrPort, now time.Time) {
	if a.timeout == 0 {
		return
	}
	if e := a.clients[client]; e != nil {
		*e.Value.(*visit) = visit{client, backend, now}
		a.order.MoveToFront(e)
		return
	}
	a.clients[client] = a.order.PushFront(&visit{client, backend, now})
	for oldest := a.order.Back(); len(a.clients) > a.limit || now.Sub(oldest.Value.(*visit).at) > a.timeout; oldest = a.order.Back() {
		a.forget(oldest)
	}
}

func (a *affinity) forget(e *list.Element) {
	a.order.Remove(e)
	delete(a.clients, e.Value.(*visit).client)
}
