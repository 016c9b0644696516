package embedded

import (
	"net/netip"
	"time"

	"k8s.io/utils/lru"
)

// maxAffinity is how many clients' backends are remembered for a port, at 100 bytes or so each.
// Beyond it those are forgotten that have not connected for the longest time.
const maxAffinity = 100_000

// affinity remembers which backend each client was sent to last. It is not safe for use by
// several at the same time.
type affinity struct {
	timeout time.Duration // 0 remembers nothing
	clients *lru.Cache    // of *visit by netip.Addr
}

type visit struct {
	backend netip.AddrPort
	at      time.Time
}

func newAffinity(limit int) *affinity { return &affinity{clients: lru.New(limit)} }

func (a *affinity) setTimeout(timeout time.Duration) {
	if a.timeout = timeout; timeout == 0 {
		a.clients.Clear()
	}
}

// get returns the client's backend, and counts as a visit.
func (a *affinity) get(client netip.Addr, now time.Time) (netip.AddrPort, bool) {
	found, ok := a.clients.Get(client)
	if !ok {
		return netip.AddrPort{}, false
	}
	v := found.(*visit)
	if now.Sub(v.at) > a.timeout {
		a.clients.Remove(client)
		return netip.AddrPort{}, false
	}
	v.at = now
	return v.backend, true
}

// put remembers where a client was sent.
func (a *affinity) put(client netip.Addr, backend netip.AddrPort, now time.Time) {
	if a.timeout > 0 {
		a.clients.Add(client, &visit{backend, now})
	}
}
