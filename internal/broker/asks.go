package broker

import (
	"maps"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/atoll-mcs/atoll/internal/epoch"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

const (
	// answerAgain is how long after this member has been asked to say again that all is published it is asked in vain, whoever asks; and
	// answerBegun how long where it has not come to say so since.
	answerAgain = 30 * time.Second
	answerBegun = 10 * time.Minute
	// farthest is how far ahead of this member's clock a time may be that it is asked to be later than.
	farthest = 24 * time.Hour
)

// asking is which time a statement has to be later than that is awaited, and since when it is.
type asking struct {
	later int64
	since time.Time
}

// Asks returns what the own heartbeat is to ask of others who live, where it asks what is said now: what this replica has awaited for longer than patience,
// and what has not been answered yet of what is said, perhaps by the other replica.
//
// Nobody is awaited for long who is there, unless something has gone wrong: one restore of the broker was found twice, say, and who
// had published again in between sees no reason to do it once more.
func (e *Epoch) Asks(said string, patience time.Duration) string {
	if !e.MembersSynced() {
		return said // nobody knows yet who has answered
	}
	return e.asks(said, patience).String()
}

// asks is Asks where it is known who is a member.
func (e *Epoch) asks(said string, patience time.Duration) epoch.Asks {
	asks := e.awaitedFor(patience)
	for id, later := range epoch.ParseAsks(said) {
		asks[id] = max(asks[id], later)
	}
	maps.DeleteFunc(asks, e.answered)
	return asks
}

// awaitedFor returns what this replica has awaited for longer than patience.
func (e *Epoch) awaitedFor(patience time.Duration) epoch.Asks {
	e.mu.Lock()
	defer e.mu.Unlock()
	before := e.asking
	e.asking = map[string]asking{}
	long := epoch.Asks{}
	for id, later := range e.judge.Awaited() {
		now := asking{later, time.Now()}
		if a, was := before[id]; was && a.later == later {
			now.since = a.since
		}
		if e.asking[id] = now; time.Since(now.since) >= patience && !slices.Contains(e.showing, id) {
			long[id] = later
		}
	}
	return long
}

// answered tells whether a member has made a statement that is later than a time, or can't be asked.
func (e *Epoch) answered(id string, later int64) bool {
	m := e.Member(names.ClusterID(id))
	e.mu.Lock()
	live := e.live
	e.mu.Unlock()
	return m == nil || m.Spec.Published == nil || statement(m).At > later || !live(names.ClusterID(id))
}

// heard takes notice of what clusters ask of this member on their heartbeats: to say again that all is published. Another replica may, too.
func (e *Epoch) heard(leases []coordinationv1.Lease) {
	own := e.Member(e.self)
	if own == nil || own.Spec.Published == nil {
		return // it is about to say so
	}
	at, by, later := statement(own).At, "", int64(0)
	latest := time.Now().Add(farthest).UnixMicro()
	for _, lease := range leases {
		text, asks := lease.Annotations[names.AnnotationAwaits]
		if !asks {
			continue
		}
		if asked, me := epoch.ParseAsks(text)[e.self.String()]; me && at <= asked && asked < latest && asked > later {
			by, later = lease.Name, asked
		}
	}
	if by != "" && e.begins(at, later) {
		e.log.Info("a cluster waits for this one to say again that all is published", "by", by)
		e.mayBeLost()
	}
}

// begins tells whether this member, which has made a statement at a time, has to begin to make another one that is later than that. One that
// it is about to make is not begun anew, but made so late.
func (e *Epoch) begins(at, later int64) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.askedLater = max(e.askedLater, later)
	pause := answerAgain
	if at == e.askedAt {
		pause = answerBegun
	}
	if !e.asked.IsZero() && time.Since(e.asked) < pause {
		return false
	}
	e.asked, e.askedAt = time.Now(), at
	return true
}

// AskedLater is the time, in microseconds, that this member's next statement is asked to be later than, 0 for none. A member whose
// clock was set back would otherwise be awaited until that has come to where it was.
func (e *Epoch) AskedLater() int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.askedLater
}
