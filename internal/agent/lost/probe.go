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

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/kit/metrics"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
)

const (
	// probeTime is how long a probe waits: for the first SYN and its retransmission after one second. Since 6.5, Linux sends a
	// third one after two seconds.
	probeTime = 2 * time.Second
	// maxTargets is how many endpoints one probe connects to, maxServices of how many services.
	maxTargets  = 32
	maxServices = 16
)

// Bounds of all probes of an agent. A connection without an answer sends two SYNs, so at most 100 are sent per second.
const (
	perSecond = 40
	burst     = 10
	maxOpen   = 256
)

// Dial opens connections, as net.Dialer.DialContext does.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// Prober connects to endpoints, few at a time.
type Prober struct {
	dial Dial
	// allowed reports whether this cluster can reach, and may probe, an address of another cluster's endpoint.
	allowed func(names.ClusterID, netip.Addr) bool
	count   *prometheus.CounterVec
	limiter *rate.Limiter
	open    chan struct{}
}

// NewProber returns a prober that uses dial, or the network if dial is nil. It probes addresses of this cluster's
// families that network accepts as the member's endpoints.
func NewProber(dial Dial, count *prometheus.CounterVec, families []corev1.IPFamily, network validation.Network) *Prober {
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	return newProber(dial, count, func(id names.ClusterID, a netip.Addr) bool {
		family := corev1.IPv4Protocol
		if a.Is6() {
			family = corev1.IPv6Protocol
		}
		return slices.Contains(families, family) && network.Admits(id, a)
	})
}

func newProber(dial Dial, count *prometheus.CounterVec, allowed func(names.ClusterID, netip.Addr) bool) *Prober {
	return &Prober{dial: dial, count: count, allowed: allowed, limiter: rate.NewLimiter(perSecond, burst), open: make(chan struct{}, maxOpen)}
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

// Probe connects to all targets at once, and returns the outcomes. heartbeat is the state of the member's, for the metric.
func (p *Prober) Probe(ctx context.Context, heartbeat string, targets []Target) map[Target]Outcome {
	outcomes := make([]Outcome, len(targets))
	var all sync.WaitGroup
	for i, target := range targets {
		all.Go(func() {
			if !p.begin(ctx) {
				return
			}
			defer p.end()
			limited, cancel := context.WithTimeout(ctx, probeTime)
			defer cancel()
			outcomes[i] = p.probe(limited, heartbeat, target.Address)
		})
	}
	all.Wait()
	of := map[Target]Outcome{}
	for i, target := range targets {
		of[target] = outcomes[i]
	}
	return of
}

// Round connects to the first target, then to more of them, until one answers as expected or time is over. The time begins
// when the limits of all probes permit the first connection.
func (p *Prober) Round(ctx context.Context, targets []netip.AddrPort, within time.Duration, expected func(netip.AddrPort, Outcome) bool) bool {
	if len(targets) == 0 || !p.begin(ctx) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	targets = targets[:min(len(targets), evidencePerMember)]
	answers := make(chan bool, len(targets))
	for i, target := range targets {
		time.AfterFunc(time.Duration(waveOf(i)*float64(within)), func() {
			if i > 0 && !p.begin(ctx) {
				answers <- false
				return
			}
			defer p.end()
			answers <- expected(target, p.probe(ctx, metrics.ProbesLate, target))
		})
	}
	for range targets {
		select {
		case answer := <-answers:
			if answer {
				return true
			}
		case <-ctx.Done(): // targets that were not asked yet do not matter any more
			return false
		}
	}
	return false
}

// waveOf returns when a round asks its nth target, as a part of its time.
func waveOf(n int) float64 {
	switch {
	case n == 0:
		return 0
	case n < 4:
		return 0.15
	default:
		return 0.5
	}
}

// begin waits until another connection is permitted. It returns false when ctx is done first.
func (p *Prober) begin(ctx context.Context) bool {
	if p.limiter.Wait(ctx) != nil {
		return false
	}
	select {
	case p.open <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (p *Prober) end() { <-p.open }

// probe counts and opens a connection.
func (p *Prober) probe(ctx context.Context, heartbeat string, target netip.AddrPort) Outcome {
	p.count.WithLabelValues(heartbeat).Inc()
	conn, err := p.dial(ctx, "tcp", target.String())
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
func (c *Controller) sample(ctx context.Context, id names.ClusterID) []Target {
	services := c.cluster.View.ServicesOf(id)
	rand.Shuffle(len(services), func(i, j int) { services[i], services[j] = services[j], services[i] })
	var published, here []*discoveryv1.EndpointSlice
	found := 0
	for _, service := range services {
		p, h := c.slicesOf(ctx, service, id)
		published, here = append(published, few(p)...), append(here, few(h)...)
		if len(p)+len(h) > 0 {
			found++
		}
		if found == maxServices {
			break
		}
	}
	if found == 0 {
		imported, _ := c.cluster.ImportedFrom(ctx, id) // a synced cache fails only when the agent ends
		here = few(imported)
	}
	allowed := func(a netip.Addr) bool { return c.prober.allowed(id, a) }
	targets := Targets(published, maxTargets-min(len(here), maxTargets/2), rand.Perm, allowed)
	for _, target := range Targets(here, maxTargets-len(targets), rand.Perm, allowed) {
		target.Group = "" // their ports may differ
		targets = append(targets, target)
	}
	return targets
}

// few returns some of many slices.
func few(all []*discoveryv1.EndpointSlice) []*discoveryv1.EndpointSlice {
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:min(len(all), maxTargets)]
}

// slicesOf returns a member's slices of a service that have endpoints. If it has none on the broker, it returns those that are imported
// here: what the broker lost, and what this process has not seen yet, is in use here.
func (c *Controller) slicesOf(ctx context.Context, service types.NamespacedName, id names.ClusterID) (published, here []*discoveryv1.EndpointSlice) {
	for _, key := range c.cluster.View.SlicesOf(service) {
		if slice, _ := c.cluster.View.Slice(key.Member, key.Slice); key.Member == id && slice != nil && slice.Value != nil && len(slice.Value.Endpoints) > 0 {
			published = append(published, slice.Value)
		}
	}
	if len(published) > 0 {
		return published, nil
	}
	imported, _ := c.cluster.Imported(ctx, service) // a synced cache fails only when the agent ends
	return nil, slices.DeleteFunc(imported, func(s *discoveryv1.EndpointSlice) bool { return layout.Cluster(s) != id })
}
