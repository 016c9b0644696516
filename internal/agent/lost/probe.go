package lost

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
)

const (
	// probeTime is how long a probe waits for an answer: for the first packet of a connection,
	// and for the second, which is sent after one second.
	probeTime = 3 * time.Second
	// maxTargets is how many endpoints one probe asks, maxServices of how many services.
	maxTargets  = 32
	maxServices = 16
)

// Dial opens connections, as net.Dialer.DialContext does.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// Prober asks endpoints of other clusters whether they are there.
type Prober struct {
	// Dial opens connections.
	Dial Dial
	// Allowed tells whether this cluster can reach an address of another one's endpoint, and may be asked to.
	Allowed func(names.ClusterID, netip.Addr) bool
}

// NewProber returns a prober that dials, or, where dial is nil, connects by the network: at addresses of families that this cluster has, and that
// network admits as endpoints of the member.
func NewProber(dial Dial, families []corev1.IPFamily, network validation.Network) Prober {
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	return Prober{Dial: dial, Allowed: func(id names.ClusterID, a netip.Addr) bool {
		family := corev1.IPv4Protocol
		if a.Is6() {
			family = corev1.IPv6Protocol
		}
		return slices.Contains(families, family) && network.Admits(id, a)
	}}
}

// Answers tells whether any of the targets answers. One at which nobody listens does: the
// answer comes from there. A way that is not there, or silence, is none.
func (p Prober) Answers(ctx context.Context, targets []string) bool {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	answers := make(chan bool, len(targets))
	for _, target := range targets {
		go func() {
			conn, err := p.Dial(ctx, "tcp", target)
			if err == nil {
				_ = conn.Close()
			}
			answers <- err == nil || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET)
		}()
	}
	for range targets {
		if <-answers {
			return true
		}
	}
	return false
}

// endpoints are where a member can be asked: some pods of some of the services that this
// cluster imports from it, others each time.
func (c *Controller) endpoints(id names.ClusterID) []string {
	services := c.published.ServicesOf(id)
	rand.Shuffle(len(services), func(i, j int) { services[i], services[j] = services[j], services[i] })
	var sample []*discoveryv1.EndpointSlice
	found := 0
	for _, service := range services {
		published := c.published.Slices(service, id)
		if len(published) == 0 {
			continue
		}
		rand.Shuffle(len(published), func(i, j int) { published[i], published[j] = published[j], published[i] })
		sample = append(sample, published[:min(len(published), maxTargets)]...)
		if found++; found == maxServices {
			break
		}
	}
	if len(sample) == 0 { // the broker has lost them, or the member has withdrawn them
		sample = c.imported(id)
	}
	return Targets(sample, maxTargets, rand.Perm, func(a netip.Addr) bool { return c.prober.Allowed(id, a) })
}

// imported are slices of a member's that this cluster uses.
func (c *Controller) imported(id names.ClusterID) []*discoveryv1.EndpointSlice {
	list := c.published.Imported(id)
	rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list[:min(len(list), maxTargets)]
}
