package status

import (
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// etcd keeps Events for an hour, and every watch on Events gets them all. Other clusters must not flood it.
const (
	eventsOfMember, eventsOfMemberEvery = 20, 30 * time.Second
	// eventsOfAll and eventsOfAllEvery are for Events without a member, such as those on a ServiceImport. Another
	// cluster may still cause them.
	eventsOfAll, eventsOfAllEvery = 1000, 200 * time.Millisecond
)

// Bounded is a recorder that limits the Events of each member (SayOf): a burst, then one per interval, with the number of
// dropped Events.
type Bounded struct {
	to  events.EventRecorder
	now func() time.Time

	mu      sync.Mutex
	members map[names.ClusterID]*bound // "" for Events without a member
}

type bound struct {
	*rate.Limiter
	since, all int // dropped since the last Event, and in total
}

// NewBounded returns a recorder that wraps another one.
func NewBounded(to events.EventRecorder, now func() time.Time) *Bounded {
	return &Bounded{to: to, now: now, members: map[names.ClusterID]*bound{}}
}

// Eventf implements events.EventRecorder, for Events without a member.
func (b *Bounded) Eventf(regarding, related runtime.Object, eventType, reason, action, note string, args ...any) {
	ofMember{b, ""}.Eventf(regarding, related, eventType, reason, action, note, args...)
}

// ofMember is a Bounded recorder for the Events of one member.
type ofMember struct {
	*Bounded
	member names.ClusterID
}

// Eventf implements events.EventRecorder.
func (b ofMember) Eventf(regarding, related runtime.Object, eventType, reason, action, note string, args ...any) {
	passes, before := b.take(b.member)
	if !passes {
		return
	}
	text := fmt.Sprintf(note, args...)
	if before > 0 {
		more := fmt.Sprintf(" (%d earlier Events were not recorded.)", before)
		text = cut(text, maxNote-len(more)) + more // never cut the count
	}
	b.to.Eventf(regarding, related, eventType, reason, action, "%s", text)
}

func (b *Bounded) take(member names.ClusterID) (passes bool, before int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	of := b.members[member]
	if of == nil {
		of = &bound{Limiter: rate.NewLimiter(rate.Every(eventsOfMemberEvery), eventsOfMember)}
		if member == "" {
			of.Limiter = rate.NewLimiter(rate.Every(eventsOfAllEvery), eventsOfAll)
		}
		b.members[member] = of
	}
	if !of.AllowN(b.now(), 1) {
		of.since, of.all = of.since+1, of.all+1
		return false, 0
	}
	before, of.since = of.since, 0
	return true, before
}

// LeftOut returns the number of dropped Events, by member.
func (b *Bounded) LeftOut() map[string]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := map[string]int{}
	for member, of := range b.members {
		all[member.String()] = of.all
	}
	return all
}
