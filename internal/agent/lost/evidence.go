package lost

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/atoll-mcs/atoll/internal/agent/inputs"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/kit/metrics"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

const (
	// evidencePerMember is how many endpoints are remembered, and asked in one round.
	evidencePerMember = 16
	// An endpoint that answered counts as evidence for evidenceLasts timeouts. A member is asked for new evidence every
	// evidenceEvery timeouts, and while it has none, with pauses that double up to that.
	evidenceLasts = 45
	evidenceEvery = 7.5
	// littleEvidence is how many endpoints should have answered.
	littleEvidence = 4
	// unprovenTries is after how many connections without an answer a member counts as one that never answers.
	unprovenTries = 3
)

// evidence remembers how endpoints answered. Only the silence of an endpoint that answered before says something: others may
// be behind a firewall.
type evidence struct {
	timeout time.Duration

	mu      sync.Mutex
	members map[names.ClusterID]*answers
}

type answers struct {
	of    map[netip.AddrPort]answer
	next  time.Time // when to ask for more
	pause time.Duration
	tries int  // without an answer
	none  bool // there was no endpoint to connect to
	// changed is when its endpoints first changed since it was looked at last, or zero.
	changed time.Time
	// asking is set while a connection for evidence is open.
	asking bool
}

type answer struct {
	outcome Outcome
	at      time.Time
}

func newEvidence(timeout time.Duration) *evidence {
	return &evidence{timeout: timeout, members: map[names.ClusterID]*answers{}}
}

func (e *evidence) member(id names.ClusterID) *answers {
	if e.members[id] == nil {
		e.members[id] = &answers{of: map[netip.AddrPort]answer{}}
	}
	return e.members[id]
}

// keep keeps only these members.
func (e *evidence) keep(ids []names.ClusterID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for id := range e.members {
		if !slices.Contains(ids, id) {
			delete(e.members, id)
		}
	}
	for _, id := range ids {
		e.member(id)
	}
}

// due returns the members to ask for more evidence, and when others are due.
func (e *evidence) due(at time.Time) (ask []names.ClusterID, wake time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for id, m := range e.members {
		next := m.next
		inVain := !m.none && m.pause == e.every() // asked often, and never answered: others will not answer either
		if look := m.changed.Add(e.timeout / rounds); !m.changed.IsZero() && !inVain && look.Before(next) {
			next = look // not at once: the slices that are imported here follow
		}
		switch {
		case m.asking:
		case at.Before(next):
			wake = Earliest(wake, next)
		default:
			m.asking, m.changed = true, time.Time{}
			ask = append(ask, id)
		}
	}
	slices.Sort(ask)
	return ask, wake
}

// changed makes a member due soon, whose endpoints have changed: those that answered may be gone. It reports whether it was not.
func (e *evidence) changed(id names.ClusterID, at time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	m := e.members[id]
	if m == nil || !m.changed.IsZero() {
		return false
	}
	m.changed = at
	return true
}

// targets returns the endpoints to connect to, of those that exist: as many as there is too little evidence, and at least one if
// the member is due without a change.
func (e *evidence) targets(id names.ClusterID, exist map[netip.AddrPort]bool, at time.Time) (targets []Target) {
	fresh := e.fresh(id, at, func(target netip.AddrPort) bool { return exist[target] })
	e.mu.Lock()
	defer e.mu.Unlock()
	m := e.members[id]
	if m == nil {
		return nil
	}
	count, again := littleEvidence-len(fresh), !at.Before(m.next)
	if again {
		count = max(1, count)
	}
	for target := range exist { // in random order
		if len(targets) < count && (again || !slices.Contains(fresh, target)) {
			targets = append(targets, Target{Address: target})
		}
	}
	return targets
}

// add records how an endpoint answered. Silence adds nothing.
func (e *evidence) add(id names.ClusterID, target netip.AddrPort, outcome Outcome, at time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if m := e.members[id]; m != nil && outcome != Silent {
		m.of[target] = answer{outcome, at}
		for len(m.of) > evidencePerMember {
			delete(m.of, m.sorted()[evidencePerMember])
		}
	}
}

// asked records that a member was asked for evidence at endpoints, and whether one answered.
func (e *evidence) asked(id names.ClusterID, endpoints int, answered bool, at time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	m := e.members[id]
	if m == nil {
		return
	}
	if m.asking = false; endpoints == 0 && at.Before(m.next) {
		return // there is enough evidence
	}
	if m.none && endpoints > 0 {
		m.pause = 0
	}
	if m.none = endpoints == 0; !m.none { // else nobody could answer
		m.tries++
	}
	wait := min(max(2*m.pause, e.timeout/rounds), e.every())
	if m.pause = wait; answered {
		m.pause, m.tries, wait = 0, 0, e.every()
	}
	m.next = at.Add(wait)
}

// every is how often a member is asked that has answered.
func (e *evidence) every() time.Duration { return time.Duration(evidenceEvery * float64(e.timeout)) }

// fresh returns the endpoints of a member that answered not long ago and still exist, the last one first. If there are
// none, the member is due to be asked.
func (e *evidence) fresh(id names.ClusterID, at time.Time, exist func(netip.AddrPort) bool) []netip.AddrPort {
	e.mu.Lock()
	defer e.mu.Unlock()
	m := e.members[id]
	if m == nil {
		return nil
	}
	for target, answered := range m.of {
		if at.Sub(answered.at) > evidenceLasts*e.timeout || !exist(target) {
			delete(m.of, target)
		}
	}
	if len(m.of) == 0 && m.tries == 0 {
		m.next = at
	}
	return m.sorted()
}

// confirms reports whether an outcome is an answer of an endpoint as it answered before: a refusal may be a router's.
func (e *evidence) confirms(id names.ClusterID, target netip.AddrPort, outcome Outcome) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	m := e.members[id]
	return outcome == Accepted || outcome == Refused && m != nil && m.of[target].outcome == Refused
}

// unproven returns the members of which no endpoint has answered, of those that were asked several times or that were unproven
// before.
func (e *evidence) unproven(before func(names.ClusterID) bool) (ids []names.ClusterID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for id, m := range e.members {
		if len(m.of) == 0 && (m.tries >= unprovenTries || before(id)) {
			ids = append(ids, id)
		}
	}
	return ids
}

// sorted returns the endpoints that answered, the last one first.
func (m *answers) sorted() []netip.AddrPort {
	all := make([]netip.AddrPort, 0, len(m.of))
	for target := range m.of {
		all = append(all, target)
	}
	slices.SortFunc(all, func(a, b netip.AddrPort) int {
		return cmp.Or(m.of[b].at.Compare(m.of[a].at), a.Compare(b))
	})
	return all
}

// endpointsOf returns where the TCP endpoints of a member accept connections. Those of this cluster are at other nodes: if they
// answer, this node's network works.
func (c *Controller) endpointsOf(ctx context.Context, id names.ClusterID) map[netip.AddrPort]bool {
	all := map[netip.AddrPort]bool{}
	for _, s := range c.allOf(ctx, id) {
		if _, tcp := port(s); !tcp {
			continue
		}
		for i := range s.Endpoints {
			e := &s.Endpoints[i]
			at, valid := At(s, e.Addresses[0])
			if id == c.cluster.ID {
				valid = valid && c.node != "" && ptr.Deref(e.NodeName, c.node) != c.node
			} else {
				valid = valid && c.prober.allowed(id, at.Addr())
			}
			if valid {
				all[at] = true
			}
		}
	}
	return all
}

// allOf returns a member's slices that have endpoints. Of services of which the broker shows none, and of this cluster, they are those
// that are imported here.
func (c *Controller) allOf(ctx context.Context, id names.ClusterID) (all []*discoveryv1.EndpointSlice) {
	published := map[types.NamespacedName]bool{}
	for _, key := range c.cluster.View.SlicesBy(id) {
		if slice, _ := c.cluster.View.Slice(key.Member, key.Slice); slice != nil && slice.Value != nil && len(slice.Value.Endpoints) > 0 {
			all = append(all, slice.Value)
			published[layout.Service(slice.Value)] = true
		}
	}
	imported, _ := c.cluster.ImportedFrom(ctx, id) // a synced cache fails only when the agent ends
	for _, slice := range imported {
		if !published[inputs.ImportService(slice)] {
			all = append(all, slice)
		}
	}
	return all
}

// gatherEvidence connects to an endpoint of a member, or to a few if there is little evidence: one endpoint may have a problem of
// its own.
func (c *Controller) gatherEvidence(ctx context.Context, id names.ClusterID) {
	targets := c.evidence.targets(id, c.endpointsOf(ctx, id), time.Now())
	outcomes := c.prober.Probe(ctx, metrics.ProbesCurrent, targets)
	for target, outcome := range outcomes {
		c.evidence.add(id, target.Address, outcome, time.Now())
	}
	c.evidence.asked(id, len(targets), answered(outcomes), time.Now())
	c.wakeUp()
}

// ask returns whether endpoints of a member that answered before still do.
func (c *Controller) ask(ctx context.Context, id names.ClusterID) Answer {
	exist := c.endpointsOf(ctx, id)
	targets := c.evidence.fresh(id, time.Now(), func(at netip.AddrPort) bool { return exist[at] })
	if len(targets) == 0 {
		return Unknown
	}
	if c.asking.Load() > manyRounds {
		targets = targets[:1]
	}
	answered := c.prober.Round(ctx, targets, c.timeout/margin, func(at netip.AddrPort, outcome Outcome) bool {
		confirms := c.evidence.confirms(id, at, outcome)
		if confirms {
			c.evidence.add(id, at, outcome, time.Now())
		}
		return confirms
	})
	switch {
	case ctx.Err() != nil:
		return Unknown
	case answered:
		return Answered
	case id != c.cluster.ID && c.ask(ctx, c.cluster.ID) == Unanswered:
		return Unknown // this node's network is at fault
	}
	return Unanswered
}
