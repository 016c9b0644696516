// Package quota bounds how much of the hub's memory and time each member takes up: what one has beyond its limit is refused to it, and costs no other
// member anything.
package quota

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Limits are what one member may cost each cluster that holds copies of what it publishes. 0 is no limit.
type Limits struct {
	// Objects and Bytes are what is held of it, in memory.
	Objects int
	Bytes   int64
	// Changes is how many changes a second are taken from it, and ChangesAtOnce how many in a burst.
	Changes       float64
	ChangesAtOnce int
	// BytesChanged is how many bytes a second these cost, and BytesAtOnce how many in a burst.
	BytesChanged float64
	BytesAtOnce  int
}

// DefaultLimits are several times what a cluster at the limits of Kubernetes publishes: 10,000 services and 150,000 endpoints are
// some 60 MiB, and a rolling update of 2,000 pods 4,000 changes.
var DefaultLimits = Limits{
	Objects: 30_000, Bytes: 128 << 20,
	Changes: 100, ChangesAtOnce: 5000,
	BytesChanged: 2 << 20, BytesAtOnce: 32 << 20,
}

// String returns the limits as a flag's description has them.
func (l Limits) String() string {
	return fmt.Sprintf("%d objects, %d MiB, %g changes or %g MiB of changes a second", l.Objects, l.Bytes>>20, l.Changes, l.BytesChanged/(1<<20))
}

// Explain says what it means, and what to do, that a member exceeds somebody's limits.
func (l Limits) Explain(member string, u Usage, whose string) string {
	effect := "What is beyond it is left out. Export less there"
	if u.Reason == TooManyChanges {
		effect = fmt.Sprintf("Its changes are ignored until %s, and its imported services stay as they are. Find out in cluster %s what changes so often",
			u.CutOff.UTC().Format(time.RFC3339), member)
	}
	return fmt.Sprintf("Cluster %s exceeds the budget of %s for one member (%s): %v. %s, or raise --member-budget here. Other clusters are not affected.",
		member, whose, u.Reason, l, effect)
}

// Times returns limits that are some times as much, or none for 0.
func (l Limits) Times(n float64) Limits {
	l.Objects, l.Bytes = int(n*float64(l.Objects)), int64(n*float64(l.Bytes))
	return l.Share(n)
}

// Share returns a part of limits on changes.
func (l Limits) Share(of float64) Limits {
	l.Changes, l.BytesChanged = of*l.Changes, of*l.BytesChanged
	l.ChangesAtOnce, l.BytesAtOnce = int(of*float64(l.ChangesAtOnce)), int(of*float64(l.BytesAtOnce))
	return l
}

const (
	// firstPause and lastPause bound for how long a member is cut off that changes too much. Each time is twice as long as the one
	// before, unless that is longer ago than lastPause.
	firstPause = 30 * time.Second
	lastPause  = 5 * time.Minute
)

// Reason is why a member is over budget.
type Reason string

// Reasons.
const (
	TooManyChanges Reason = "changes"
	TooManyObjects Reason = "objects"
	TooManyBytes   Reason = "bytes"
)

// Usage is what a member costs now.
type Usage struct {
	Objects int
	Bytes   int64
	// LeftOut is how many objects are not held, and CutOff until when no changes are taken; zero where they are.
	LeftOut int
	CutOff  time.Time
	// Reason is the part of the budget that the member exceeds, "" where everything is taken.
	Reason Reason
}

// Budget is how much of each member a cluster takes. A member whose objects are too many or too large has those left out that
// come last. One that changes them too fast is cut off for a while: nothing more is taken of it, and what is held stays as it is.
type Budget struct {
	limits Limits
	now    func() time.Time

	mu      sync.Mutex
	members map[string]*usage
	over    func(member string, u Usage)
}

// usage is what one member has used.
type usage struct {
	objects        int
	bytes          int64
	leftOut        int
	changes, moved *rate.Limiter
	cutAt, cutOff  time.Time
	pause          time.Duration
	// leftOutFor is why the first of leftOut was left out, and told when that was last reported.
	leftOutFor Reason
	told       time.Time
}

// NewBudget returns a budget. over, or nil, is called without any lock at each cut-off of a member, and when objects are left out,
// but then once per lastPause: a member can alternate between too many objects and enough.
func NewBudget(limits Limits, now func() time.Time, over func(member string, u Usage)) *Budget {
	if over == nil {
		over = func(string, Usage) {}
	}
	return &Budget{limits: limits, now: now, members: map[string]*usage{}, over: over}
}

// Limits returns what the budget is.
func (b *Budget) Limits() Limits { return b.limits }

func (b *Budget) of(member string) *usage {
	u := b.members[member]
	if u == nil {
		u = &usage{changes: limiter(b.limits.Changes, b.limits.ChangesAtOnce), moved: limiter(b.limits.BytesChanged, b.limits.BytesAtOnce)}
		b.members[member] = u
	}
	return u
}

func limiter(each float64, burst int) *rate.Limiter {
	if each <= 0 {
		return rate.NewLimiter(rate.Inf, 0)
	}
	return rate.NewLimiter(rate.Limit(each), burst)
}

// changed takes a change that costs some bytes, and tells whether the member may make it. It is called with mu held.
func (b *Budget) changed(member string, bytes int) (ok, news bool) {
	u, now := b.of(member), b.now()
	if now.Before(u.cutOff) {
		return false, false
	}
	if u.changes.AllowN(now, 1) && u.moved.AllowN(now, min(bytes, max(1, u.moved.Burst()))) {
		return true, false
	}
	u.pause = min(2*u.pause, lastPause)
	if u.pause == 0 || now.Sub(u.cutOff) > lastPause {
		u.pause = firstPause
	}
	u.cutAt, u.cutOff = now, now.Add(u.pause)
	return false, true
}

// hold has an object that was of some bytes, 0 where it was not held, be of others, and returns why there is no room for it, ""
// where there is. It is called with mu held.
func (b *Budget) hold(member string, had, bytes int) Reason {
	u := b.of(member)
	objects, total := u.objects, u.bytes+int64(bytes-had)
	if had == 0 {
		objects++
	}
	switch {
	case b.limits.Objects > 0 && objects > b.limits.Objects && had == 0:
		return TooManyObjects
	case b.limits.Bytes > 0 && total > b.limits.Bytes && bytes > had:
		return TooManyBytes
	}
	u.objects, u.bytes = objects, total
	return ""
}

// CutOff returns until when each member is cut off that is.
func (b *Budget) CutOff() map[string]time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	now, cut := b.now(), map[string]time.Time{}
	for member, u := range b.members {
		if now.Before(u.cutOff) {
			cut[member] = u.cutOff
		}
	}
	return cut
}

// Removed has a member that is none any more be cut off for the shortest time only, so that its end is seen.
func (b *Budget) Removed(member string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if u := b.members[member]; u != nil && u.cutOff.After(u.cutAt.Add(firstPause)) {
		u.cutOff = u.cutAt.Add(firstPause)
	}
}

// Usage returns what each member costs of which anything is or was held.
func (b *Budget) Usage() map[string]Usage {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := map[string]Usage{}
	for member, u := range b.members {
		all[member] = b.usage(u)
	}
	return all
}

func (b *Budget) usage(u *usage) Usage {
	now := Usage{Objects: u.objects, Bytes: u.bytes, LeftOut: u.leftOut}
	if b.now().Before(u.cutOff) {
		now.CutOff, now.Reason = u.cutOff, TooManyChanges
	} else if u.leftOut > 0 {
		now.Reason = u.leftOutFor
	}
	return now
}

// Account is what one copy holds of all members.
type Account struct {
	budget  *Budget
	members map[string]map[string]*entry // by member and object; with budget.mu held
	round   int                          // of lists
	// missed are the members of which the copy lacks changes since its last list.
	missed map[string]bool
}

// entry is an object that a copy holds, or leaves out.
type entry struct {
	bytes   int
	leftOut bool
	round   int
}

// NewAccount returns the account of a copy that is empty.
func (b *Budget) NewAccount() *Account {
	return &Account{budget: b, members: map[string]map[string]*entry{}, missed: map[string]bool{}}
}

// Begin begins a list, and returns the members, sorted, that are to be left out of it: what is held of them stays.
func (a *Account) Begin() (without []string) {
	cut := a.budget.CutOff()
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	a.round++
	clear(a.missed)
	for member := range cut {
		a.missed[member] = true
	}
	return slices.Sorted(maps.Keys(cut))
}

// Listed takes an object of a list, and tells whether the copy is to have it.
func (a *Account) Listed(member, object string, bytes int) (ok bool) {
	b := a.budget
	b.mu.Lock()
	ok, u := a.put(member, object, bytes)
	b.mu.Unlock()
	if u != nil {
		b.over(member, *u)
	}
	return ok
}

// End ends a list: what was held and not in it is not there any more, but for members that were left out.
func (a *Account) End() {
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	for member, objects := range a.members {
		if a.missed[member] {
			continue
		}
		for object, e := range objects {
			if e.round != a.round {
				a.drop(member, object)
			}
		}
	}
}

// Changed takes a change of an object to some bytes, or to none if it is deleted, which costs as much as cost bytes, and tells whether the copy is to have it, and whether
// the member is cut off.
func (a *Account) Changed(member, object string, bytes, cost int) (ok, cutOff bool) {
	b := a.budget
	b.mu.Lock()
	ok, news := b.changed(member, cost)
	if !ok {
		a.missed[member] = true
		u := b.usage(b.of(member))
		b.mu.Unlock()
		if news {
			b.over(member, u)
		}
		return false, true
	}
	if bytes == 0 {
		e := a.members[member][object]
		ok = e == nil || !e.leftOut || e.bytes > 0
		a.drop(member, object)
		b.mu.Unlock()
		return ok, false
	}
	ok, u := a.put(member, object, bytes)
	b.mu.Unlock()
	if u != nil {
		b.over(member, *u)
	}
	return ok, false
}

// put has an object be held, if there is room, and returns what is to be told where there is none. It is called
// with the budget's mu held.
func (a *Account) put(member, object string, bytes int) (ok bool, news *Usage) {
	of := a.members[member]
	if of == nil {
		of = map[string]*entry{}
		a.members[member] = of
	}
	e := of[object]
	if e == nil {
		e = &entry{}
		of[object] = e
	}
	e.round = a.round
	u := a.budget.of(member)
	why := a.budget.hold(member, e.bytes, bytes)
	switch {
	case why == "":
		e.bytes = bytes
		if e.leftOut {
			e.leftOut = false
			u.leftOut--
		}
	case !e.leftOut:
		e.leftOut = true
		if u.leftOut++; u.leftOut > 1 {
			break
		}
		u.leftOutFor = why
		if now := a.budget.now(); now.Sub(u.told) >= lastPause {
			u.told = now
			told := a.budget.usage(u)
			news = &told
		}
	}
	return why == "", news
}

// drop forgets an object. It is called with the budget's mu held.
func (a *Account) drop(member, object string) {
	e := a.members[member][object]
	if e == nil {
		return
	}
	u := a.budget.of(member)
	if e.bytes > 0 {
		u.objects--
		u.bytes -= int64(e.bytes)
	}
	if e.leftOut {
		u.leftOut--
	}
	if delete(a.members[member], object); len(a.members[member]) == 0 {
		delete(a.members, member)
	}
}

// Close forgets all that the copy held.
func (a *Account) Close() {
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	for member, objects := range a.members {
		for object := range objects {
			a.drop(member, object)
		}
	}
}

// Without returns the members, sorted, that a watch is to leave out.
func (a *Account) Without() []string {
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	return slices.Sorted(maps.Keys(a.missed))
}

// Incomplete tells whether the copy lacks something that a list would bring: changes of a member that is not cut off any more, or
// objects of one for which there may be room now.
func (a *Account) Incomplete() bool {
	b := a.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	for member := range a.missed {
		if !now.Before(b.of(member).cutOff) {
			return true
		}
	}
	for member, objects := range a.members {
		u := b.of(member)
		if u.leftOut == 0 || a.missed[member] || !b.room(u) {
			continue
		}
		for _, e := range objects {
			if e.leftOut {
				return true
			}
		}
	}
	return false
}

// room tells whether a member that was at its limit is a tenth below it, so that there is no list for each object.
func (b *Budget) room(u *usage) bool {
	return (b.limits.Objects == 0 || u.objects < b.limits.Objects-b.limits.Objects/10) &&
		(b.limits.Bytes == 0 || u.bytes < b.limits.Bytes-b.limits.Bytes/10)
}
