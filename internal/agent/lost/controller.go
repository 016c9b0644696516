package lost

import (
	"context"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/atoll-mcs/atoll/internal/agent/inputs"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/kit/metrics"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

const (
	// firstRetry and lastRetry bound the backoff for writes of the ConfigMap.
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
	// manyRounds is how many members are asked at once before only one endpoint of each is.
	manyRounds = 16
)

// Options configure a Controller.
type Options struct {
	Cluster    *inputs.Cluster
	Heartbeats *Heartbeats
	Prober     *Prober
	// Timeout is how long a heartbeat is missing before its member may be lost.
	Timeout time.Duration
	// Node is the name of this process's node, "" if it is not known.
	Node string
	// Renew renews this cluster's heartbeat at once.
	Renew func()
	Log   *slog.Logger
}

// Controller decides which members are lost or silent, updates a Set, and owns the ConfigMap with the same for the next
// process and for people. It works without the broker, too.
type Controller struct {
	store      store
	cluster    *inputs.Cluster
	heartbeats *Heartbeats
	prober     *Prober
	evidence   *evidence
	timeout    time.Duration
	node       string
	decided    *Set
	renew      func()
	log        *slog.Logger
	wake       chan struct{}
	asking     atomic.Int32 // rounds of probes that run

	mu       sync.Mutex
	detector *Detector
	silences *Silences
	// followed are the endpoints of members whose heartbeat is missing but that still answer.
	followed map[names.ClusterID]endpoints

	// Only the loop uses these: the ConfigMap's data as decided, and the detector's last result.
	data           map[string]string
	majoritySilent bool
}

// NewController returns a controller that updates decided.
func NewController(o Options, decided *Set) *Controller {
	c := &Controller{
		store: store{o.Cluster.Live, o.Cluster.Client}, cluster: o.Cluster, heartbeats: o.Heartbeats, prober: o.Prober, evidence: newEvidence(o.Timeout),
		timeout: o.Timeout, node: o.Node, decided: decided, renew: o.Renew, log: o.Log, wake: make(chan struct{}, 1),
		silences: NewSilences(o.Timeout), followed: map[names.ClusterID]endpoints{},
	}
	c.detector = NewDetector(o.Timeout, c.exports, c.silences.IsLate)
	return c
}

// Start decides until ctx is done. A new process first reads what the last one decided, so that lost members do not come back.
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
	c.data, retry = maps.Clone(stored), backOff{}
	if err := c.expectOwners(ctx); err != nil {
		return nil // a synced cache fails only when the agent ends
	}
	defer c.begin()()
	for {
		next := c.step(ctx)
		switch {
		case maps.Equal(c.data, stored):
		case time.Now().Before(retry.at):
			next = Earliest(next, retry.at)
		default:
			if err := c.store.write(ctx, c.data); err == nil {
				stored, retry = maps.Clone(c.data), backOff{}
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

// expectOwners expects a heartbeat from each member with imports in this cluster: their Leases may be gone, and the broker may be
// unreachable.
func (c *Controller) expectOwners(ctx context.Context) error {
	imported, err := c.cluster.AllImported(ctx)
	for _, slice := range imported {
		if layout.HasImportedName(slice) { // else it is a copy, or its label names no cluster
			c.heartbeats.Expect(layout.Cluster(slice))
		}
	}
	return err
}

// begin continues with what the last process decided, and follows the heartbeats until end is called.
func (c *Controller) begin() (end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, since := range c.data {
		if id, silent := silentKey(key); silent {
			c.silences.Inherit(id)
		} else if !isUnproven(key) {
			c.detector.Inherit(names.ClusterID(key), decidedAt(since))
		}
	}
	before, endReads := c.heartbeats.Follow(func(r Read) {
		c.update(func(time.Time) { c.read(r) })
	})
	c.read(before)
	endChanges := c.cluster.Changes.Subscribe(func(changed kit.Scope) {
		if c.evidence.changed(changed.Member, time.Now()) {
			c.wakeUp()
		}
	})
	return func() {
		endReads()
		endChanges()
	}
}

func (c *Controller) exports(id names.ClusterID) bool { return len(c.cluster.View.ServicesOf(id)) > 0 }

// read records a read of the heartbeats.
func (c *Controller) read(r Read) {
	if r.Members != nil {
		for _, id := range both(c.detector.Withdrawn(), c.silences.Silent()) { // as the last process stored them
			if !slices.Contains(r.Members, id) {
				r.Gone = append(r.Gone, id) // the member was removed meanwhile
			}
		}
	}
	c.detector.Read(r)
	c.silences.Read(r)
	for id := range r.Renewed {
		if !r.First {
			delete(c.followed, id)
		}
	}
	for _, id := range r.Gone {
		delete(c.followed, id)
	}
	c.evidence.keep(append(c.silences.Members(), c.cluster.ID))
}

// step performs the actions that are due, and returns when to run again.
func (c *Controller) step(ctx context.Context) time.Time {
	c.mu.Lock()
	now := time.Now()
	probe, renew, wake := c.detector.Due(now)
	ask, askAgain := c.silences.Due(now)
	decided := State{Lost: c.detector.Withdrawn(), Silent: c.silences.Silent(), Endpoints: map[names.ClusterID]map[netip.AddrPort]bool{}}
	majoritySilent := c.detector.MajoritySilent(now)
	for id, followed := range c.followed {
		if gone := followed.withdrawn(); len(gone) > 0 {
			decided.Endpoints[id] = gone
		}
	}
	c.mu.Unlock()
	prove, proveAgain := c.evidence.due(now)
	for _, id := range probe {
		go c.probe(ctx, id)
	}
	for _, id := range ask {
		go c.round(ctx, id)
	}
	for _, id := range prove {
		go c.gatherEvidence(ctx, id)
	}
	if renew {
		c.renew()
	}
	if majoritySilent && !c.majoritySilent {
		c.log.Warn("Stopped withdrawing endpoints. Most clusters do not answer, so this cluster itself may be disconnected", "withdrawnClusters", decided.Lost)
	}
	c.majoritySilent = majoritySilent
	c.note(decided)
	c.decided.Replace(decided)
	return Earliest(Earliest(wake, askAgain), proveAgain)
}

// note records when members became lost or silent, and which have never answered, and logs changes.
func (c *Controller) note(decided State) {
	want := map[string]bool{}
	add := func(key, message string, id names.ClusterID) {
		want[key] = true
		if _, known := c.data[key]; !known {
			c.data[key] = time.Now().UTC().Format(time.RFC3339)
			c.log.Warn(message, "member", id)
		}
	}
	for _, id := range decided.Lost {
		add(id.String(), "Withdrew the endpoints of an unreachable cluster. The cluster sends no heartbeat, and its endpoints do not answer", id)
	}
	for _, id := range decided.Silent {
		add(keySilent+id.String(), "Put the endpoints of a silent cluster on standby. Its heartbeat is late, and endpoints that answered before do not answer", id)
	}
	stored := func(id names.ClusterID) bool { return c.data[keyUnproven+id.String()] != "" }
	for _, id := range c.evidence.unproven(stored) {
		if id != c.cluster.ID && (c.exports(id) || stored(id) && !c.cluster.View.Known()) { // a member without exports has no endpoints to prove
			add(keyUnproven+id.String(), "No endpoint of a cluster has answered this agent over TCP so far. If that cluster fails, its endpoints stay in use until the agent withdraws them", id)
		}
	}
	maps.DeleteFunc(c.data, func(key, since string) bool {
		if want[key] {
			return false
		}
		if id, silent := silentKey(key); silent {
			c.log.Info("The cluster is no longer silent. The agent uses the cluster's endpoints again", "member", id, "silentSince", since)
		} else if !isUnproven(key) {
			c.log.Info("Restored the endpoints of a cluster that is reachable again", "member", key, "withdrawnSince", since)
		}
		return true
	})
}

// round asks a member whose heartbeat is late.
func (c *Controller) round(ctx context.Context, id names.ClusterID) {
	c.asking.Add(1)
	answer := c.ask(ctx, id)
	c.asking.Add(-1)
	if answer == Unanswered {
		c.heartbeats.Unanswered(id)
	}
	c.update(func(now time.Time) { c.silences.Asked(id, answer, now) })
}

// probe connects to a member's followed endpoints and, if none of them answers, to others.
func (c *Controller) probe(ctx context.Context, id names.ClusterID) {
	c.mu.Lock()
	targets := c.followed[id].targets()
	c.mu.Unlock()
	outcomes := c.prober.Probe(ctx, metrics.ProbesMissing, targets)
	if !answered(outcomes) {
		targets = slices.DeleteFunc(c.sample(ctx, id), func(t Target) bool { _, asked := outcomes[t]; return asked })
		maps.Copy(outcomes, c.prober.Probe(ctx, metrics.ProbesMissing, targets))
	}
	answers := answered(outcomes)
	if ctx.Err() != nil {
		return
	}
	for target, outcome := range outcomes {
		c.evidence.add(id, target.Address, outcome, time.Now())
	}
	c.update(func(now time.Time) {
		c.detector.Probed(id, answers, now)
		if !c.detector.Missing(id) {
			return // the heartbeat has been renewed meanwhile
		}
		if c.followed[id] == nil && answers {
			c.followed[id] = endpoints{}
		}
		c.followed[id].observe(outcomes)
	})
}

func (c *Controller) update(f func(time.Time)) {
	c.mu.Lock()
	f(time.Now())
	c.mu.Unlock()
	c.wakeUp()
}

func (c *Controller) wakeUp() {
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
