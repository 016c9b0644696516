package embedded

import (
	"net/netip"
	"time"

	"k8s.io/utils/lru"
)

// maxAffinity limits the remembered clients per port, at about 100 bytes each. The least recently used clients are
// forgotten first.
const maxAffinity = 100_000

// affinity remembers each client's last backend. It is not safe for concurrent use.
type affinity struct {
	timeout time.Duration // 0 turns affinity off
	clients *lru.Cache    // netip.Addr to *visit
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

// get returns the client's backend and renews the visit.
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

func (a *affinity) put(client netip.Addr, backend netip.AddrPort, now time.Time) {
	if a.timeout > 0 {
		a.clients.Add(client, &visit{backend, now})
	}
}
