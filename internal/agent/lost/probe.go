package lost

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
)

const (
	// probeTime is how long a probe waits: for the first SYN and its retransmission after one second.
	probeTime = 3 * time.Second
	// maxTargets is how many endpoints one probe connects to, maxServices of how many services.
	maxTargets  = 32
	maxServices = 16
)

// Dial opens connections, as net.Dialer.DialContext does.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// Prober connects to endpoints of other clusters.
type Prober struct {
	// Dial opens connections.
	Dial Dial
	// Allowed reports whether this cluster can reach, and may probe, an address of another cluster's endpoint.
	Allowed func(names.ClusterID, netip.Addr) bool
}

// NewProber returns a prober that uses dial, or the network if dial is nil. It probes addresses of this cluster's
// families that network accepts as the member's endpoints.
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

// Outcome is the result of a connection attempt.
type Outcome int

const (
	// Silent: no answer, or no route.
	Silent Outcome = iota
	// Refused: the connection was refused, by the endpoint's own network.
	Refused
	// Accepted: the connection was accepted.
	Accepted
)

// Probe connects to all targets at once, and returns the outcomes.
func (p Prober) Probe(ctx context.Context, targets []Target) map[Target]Outcome {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	outcomes := make([]Outcome, len(targets))
	var all sync.WaitGroup
	for i, target := range targets {
		all.Go(func() { outcomes[i] = p.probe(ctx, target) })
	}
	all.Wait()
	of := map[Target]Outcome{}
	for i, target := range targets {
		of[target] = outcomes[i]
	}
	return of
}

func (p Prober) probe(ctx context.Context, target Target) Outcome {
	conn, err := p.Dial(ctx, "tcp", target.Address.String())
	switch {
	case err == nil:
		_ = conn.Close()
		return Accepted
	case errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET):
		return Refused
	}
	return Silent
}

func answered(outcomes map[Target]Outcome) bool {
	for _, outcome := range outcomes {
		if outcome != Silent {
			return true
		}
	}
	return false
}

// sample returns where to probe a member: some pods of some services that this cluster imports from it, different ones
// each time.
func (c *Controller) sample(id names.ClusterID) []Target {
	services := c.cluster.View.ServicesOf(id)
	rand.Shuffle(len(services), func(i, j int) { services[i], services[j] = services[j], services[i] })
	var some []*discoveryv1.EndpointSlice
	found := 0
	for _, service := range services {
		published := c.published(service, id)
		if len(published) == 0 {
			continue
		}
		rand.Shuffle(len(published), func(i, j int) { published[i], published[j] = published[j], published[i] })
		some = append(some, published[:min(len(published), maxTargets)]...)
		if found++; found == maxServices {
			break
		}
	}
	if found == 0 { // the broker has lost the slices, or the member withdrew them
		some = c.imported(id)
	}
	targets := Targets(some, maxTargets, rand.Perm, func(a netip.Addr) bool { return c.prober.Allowed(id, a) })
	if found == 0 {
		for i := range targets {
			targets[i].Group = "" // their ports may differ
		}
	}
	return targets
}

func (c *Controller) published(service types.NamespacedName, id names.ClusterID) (all []*discoveryv1.EndpointSlice) {
	for _, key := range c.cluster.View.SlicesOf(service) {
		if slice, _ := c.cluster.View.Slice(key.Member, key.Slice); key.Member == id && slice != nil {
			all = append(all, slice.Value)
		}
	}
	return all
}

func (c *Controller) imported(id names.ClusterID) []*discoveryv1.EndpointSlice {
	list, err := c.cluster.ImportedFrom(context.Background(), id)
	if err != nil {
		return nil // a synced cache fails only when the agent ends
	}
	rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list[:min(len(list), maxTargets)]
}
