package lost

import (
	"context"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/atoll-mcs/atoll/internal/agent/inputs"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

const (
	// firstRetry and lastRetry bound the backoff for writes of the ConfigMap.
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
)

// Controller owns the ConfigMap of lost members, and updates a Set from it.
type Controller struct {
	store      store
	cluster    *inputs.Cluster
	broker     *inputs.Broker
	heartbeats *Heartbeats
	prober     Prober
	timeout    time.Duration
	withdrawn  *Set
	renew      func()
	log        *slog.Logger

	mu       sync.Mutex
	detector *Detector
	wake     chan struct{}

	// since is when each member was withdrawn, majoritySilent the detector's last result. Only the loop uses them.
	since          map[string]string
	majoritySilent bool
	// followed are the endpoints of members whose heartbeat is missing but that still answer. Guarded by mu.
	followed map[string]endpoints
}

// NewController returns a controller that updates withdrawn. It suspects a member when its heartbeat has been missing
// for timeout. renew renews this cluster's heartbeat at once.
func NewController(cluster *inputs.Cluster, broker *inputs.Broker, heartbeats *Heartbeats, prober Prober, timeout time.Duration, withdrawn *Set, renew func(), log *slog.Logger) *Controller {
	return &Controller{
		store: store{cluster.Live, cluster.Client}, cluster: cluster, broker: broker, heartbeats: heartbeats, prober: prober, timeout: timeout,
		withdrawn: withdrawn, renew: renew, log: log, wake: make(chan struct{}, 1), followed: map[string]endpoints{},
	}
}

// Start decides until ctx is done. A new process first reads the stored members, so that lost members do not come back.
func (c *Controller) Start(ctx context.Context) error {
	var stored map[string]string
	var retry backOff
	for {
		var err error
		if stored, err = c.store.read(ctx); err == nil {
			break
		}
		retry.failed()
		c.log.Error("Failed to read the list of lost clusters. The agent retries, and imports no EndpointSlice until it has read the list", "error", err)
		if !c.sleep(ctx, retry.at) {
			return nil
		}
	}
	c.withdrawn.Replace(slices.Sorted(maps.Keys(stored)))
	if c.heartbeats.Await(ctx) != nil {
		return nil
	}
	c.since, retry = maps.Clone(stored), backOff{}
	c.begin()
	for {
		next := c.step(ctx)
		switch {
		case maps.Equal(c.since, stored):
		case time.Now().Before(retry.at):
			next = Earliest(next, retry.at)
		default:
			if err := c.store.write(ctx, c.since); err == nil {
				stored, retry = maps.Clone(c.since), backOff{}
			} else if ctx.Err() == nil {
				retry.failed()
				next = Earliest(next, retry.at)
				c.log.Error("Failed to store the list of lost clusters. The agent retries", "error", err)
			}
		}
		if !c.sleep(ctx, next) {
			return nil
		}
	}
}

type backOff struct {
	at    time.Time
	pause time.Duration
}

func (b *backOff) failed() {
	b.pause = max(firstRetry, min(2*b.pause, lastRetry))
	b.at = time.Now().Add(b.pause)
}

// begin tells the detector of all heartbeats.
func (c *Controller) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.detector = NewDetector(c.timeout, c.exports)
	for id, since := range c.since {
		c.detector.Inherit(id, withdrawnAt(since))
	}
	now := time.Now()
	members := c.heartbeats.Listen(c)
	for id := range c.since {
		if !slices.Contains(members, names.ClusterID(id)) {
			c.detector.Gone(id) // the member was removed meanwhile
		}
	}
	for _, id := range members {
		if id == c.cluster.ID {
			continue
		}
		c.detector.Known(id.String(), now)
		if !c.heartbeats.Live(id) {
			c.detector.Missed(id.String(), now)
		}
	}
}

func (c *Controller) exports(id string) bool {
	return len(c.cluster.View.ServicesOf(names.ClusterID(id))) > 0
}

// withdrawnAt parses when a member was withdrawn; an invalid time counts as now.
func withdrawnAt(since string) time.Time {
	if at, err := time.Parse(time.RFC3339, since); err == nil {
		return at
	}
	return time.Now()
}

// step performs the actions that are due, and returns when to run again.
func (c *Controller) step(ctx context.Context) time.Time {
	c.mu.Lock()
	probe, renew, wake := c.detector.Due(time.Now())
	withdrawn, majoritySilent := c.detector.Withdrawn(), c.detector.MajoritySilent(time.Now())
	out := map[string]map[netip.AddrPort]bool{}
	for id, followed := range c.followed {
		if gone := followed.withdrawn(); len(gone) > 0 {
			out[id] = gone
		}
	}
	c.mu.Unlock()
	c.withdrawn.ReplaceEndpoints(out)
	for _, id := range probe {
		go c.probe(ctx, names.ClusterID(id))
	}
	if renew {
		c.renew()
	}
	if majoritySilent && !c.majoritySilent {
		c.log.Warn("Stopped withdrawing endpoints. Most clusters do not answer, so this cluster itself may be disconnected", "withdrawnClusters", withdrawn)
	}
	c.majoritySilent = majoritySilent
	c.note(withdrawn)
	c.withdrawn.Replace(withdrawn)
	return wake
}

// note records when members were withdrawn, and logs changes.
func (c *Controller) note(withdrawn []string) {
	for _, id := range withdrawn {
		if _, known := c.since[id]; !known {
			c.since[id] = time.Now().UTC().Format(time.RFC3339)
			c.log.Warn("Withdrew the endpoints of an unreachable cluster. The cluster sends no heartbeat, and its endpoints do not answer", "cluster", id)
		}
	}
	maps.DeleteFunc(c.since, func(id, since string) bool {
		back := !slices.Contains(withdrawn, id)
		if back {
			c.log.Info("Restored the endpoints of a cluster that is reachable again", "cluster", id, "withdrawnSince", since)
		}
		return back
	})
}

// probe connects to a member's followed endpoints and, if none of them answers, to others.
func (c *Controller) probe(ctx context.Context, id names.ClusterID) {
	c.mu.Lock()
	targets := c.followed[id.String()].targets()
	c.mu.Unlock()
	outcomes := c.prober.Probe(ctx, targets)
	if !answered(outcomes) {
		targets = slices.DeleteFunc(c.sample(id), func(t Target) bool { _, asked := outcomes[t]; return asked })
		maps.Copy(outcomes, c.prober.Probe(ctx, targets))
	}
	answers := answered(outcomes)
	if ctx.Err() != nil {
		return
	}
	c.update(func(d *Detector, now time.Time) {
		d.Probed(id.String(), answers, now)
		if !d.Missing(id.String()) {
			return // the heartbeat has been renewed meanwhile
		}
		if c.followed[id.String()] == nil && answers {
			c.followed[id.String()] = endpoints{}
		}
		c.followed[id.String()].observe(outcomes)
	})
}

// Renewed implements Listener.
func (c *Controller) Renewed(id names.ClusterID) {
	c.update(func(d *Detector, now time.Time) {
		if id == c.cluster.ID {
			d.Confirmed(now)
		} else {
			delete(c.followed, id.String())
			d.Renewed(id.String(), now)
		}
	})
}

// Missed implements Listener.
func (c *Controller) Missed(id names.ClusterID) {
	c.update(func(d *Detector, now time.Time) { d.Missed(id.String(), now) })
}

// Gone implements Listener.
func (c *Controller) Gone(id names.ClusterID) {
	c.update(func(d *Detector, _ time.Time) {
		delete(c.followed, id.String())
		d.Gone(id.String())
	})
}

func (c *Controller) update(f func(*Detector, time.Time)) {
	c.mu.Lock()
	f(c.detector, time.Now())
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// sleep waits until a time (zero for no limit) or a change. It returns false when ctx is done.
func (c *Controller) sleep(ctx context.Context, until time.Time) bool {
	var due <-chan time.Time
	if !until.IsZero() {
		timer := time.NewTimer(time.Until(until))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-ctx.Done():
		return false
	case <-due:
	case <-c.wake:
	}
	return true
}
