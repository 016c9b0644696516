package border

import (
	"cmp"
	"maps"
	"math"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Limits are how much of the EndpointSlices of other members a process holds. 0 means no limit.
type Limits struct {
	// Endpoints are those of a member, InNamespace those of a member in one namespace.
	Endpoints, InNamespace int64
	// Bytes of memory are those of a member, Total those of all members together.
	Bytes, Total int64
}

// DefaultLimits are for a member as large as a cluster at Kubernetes' limits, and three times the memory of its endpoints.
var DefaultLimits = Limits{Endpoints: 150_000, InNamespace: 50_000, Bytes: 128 << 20}

// LimitsOf returns the default limits multiplied by a factor, and for all members together half of the program's memory limit. A
// factor of 0 means no limit for a member.
func LimitsOf(factor float64) Limits {
	times := func(n int64) int64 { return int64(float64(n) * factor) }
	limits := Limits{Endpoints: times(DefaultLimits.Endpoints), InNamespace: times(DefaultLimits.InNamespace), Bytes: times(DefaultLimits.Bytes)}
	if memory := debug.SetMemoryLimit(-1); memory < math.MaxInt64 {
		limits.Total = memory / 2
	}
	return limits
}

// resumed is the part of a limit to which the use must fall before slices that wait for room are held, so that a member at its
// limit does not cause a read for each of its changes.
const resumed = 0.9

// Budget limits how much of each member's EndpointSlices is held. What is held stays; what has no room waits, and the oldest is held
// first. Counting a slice twice counts it once.
type Budget struct {
	limits Limits
	room   func(kit.Scope)

	mu      sync.Mutex
	slices  map[string]entry // by name on the broker
	used    map[part]Size
	waiting map[part]map[string]waiting // by member and namespace
	waits   map[names.ClusterID]int     // their number by member, and of all
	total   Size
	// reserved are the slices that were imported before, and have not been counted yet.
	reserved map[string]bool
	// reading are the slices that are read without the cache, and have not been counted since.
	reading map[string]bool
}

// Size is what a slice takes.
type Size struct{ Endpoints, Bytes int64 }

func (s Size) plus(t Size) Size  { return Size{s.Endpoints + t.Endpoints, s.Bytes + t.Bytes} }
func (s Size) minus(t Size) Size { return Size{s.Endpoints - t.Endpoints, s.Bytes - t.Bytes} }

// part is a member, or a namespace of a member.
type part struct {
	member    names.ClusterID
	namespace string
}

// entry is a slice's share of its member's budget, nothing if it had no room.
type entry struct {
	part part
	size Size
}

type waiting struct {
	slice kit.Scope
	size  Size
	since time.Time
}

// Usage is a member's use of its budget.
type Usage struct {
	// Held is the size of the slices that are held.
	Held Size
	// Waiting is the number of slices that are not held for lack of room.
	Waiting int
}

// NewBudget returns a budget. When the use falls, room (may be nil) is called, without locks, for the waiting slices that fit now.
// They count from then on.
func NewBudget(limits Limits, room func(kit.Scope)) *Budget {
	if room == nil {
		room = func(kit.Scope) {}
	}
	return &Budget{
		limits: limits, room: room, slices: map[string]entry{}, used: map[part]Size{}, waiting: map[part]map[string]waiting{}, waits: map[names.ClusterID]int{},
		reserved: map[string]bool{}, reading: map[string]bool{},
	}
}

// Reserve counts a slice that was imported before, so that it stays. Call it before Hold, and Settle when Hold was called for
// all slices that there are.
func (b *Budget) Reserve(slice kit.Scope, name string, size Size) {
	b.Keep(slice, name, size)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reserved[name] = true
}

// Settle is described at Reserve.
func (b *Budget) Settle() {
	b.mu.Lock()
	gone := slices.Collect(maps.Keys(b.reserved))
	b.mu.Unlock()
	for _, name := range gone {
		b.Forget(name, false)
	}
}

// Begin announces a read of a slice without the cache, until end is called. A call with live set counts what was read. It does
// nothing, and returns false for current, if the slice was counted since Begin: what was read may be older than what was counted.
func (b *Budget) Begin(name string) (end func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reading[name] = true
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.reading, name)
	}
}

// Hold replaces the size of a slice, which has the given name on the broker and exists since some time, and returns whether there
// is room. A slice without room to grow is not held any more. live and current are described at Begin.
func (b *Budget) Hold(slice kit.Scope, name string, size Size, since time.Time, live bool) (ok, current bool) {
	current = b.change(name, live, func(had Size) {
		in := part{slice.Member, slice.Slice.Namespace}
		of, ofTotal := upTo(b.waits[in.member]), upTo(b.waits[""])
		if had != (Size{}) {
			of, ofTotal = 1, 1 // it does not overtake those that wait
		}
		if ok = size.Endpoints <= had.Endpoints && size.Bytes <= had.Bytes || b.fits(in, size, of, ofTotal); ok {
			b.hold(name, in, size)
			return
		}
		if b.waiting[in] == nil {
			b.waiting[in] = map[string]waiting{}
		}
		b.waiting[in][name] = waiting{slice, size, since}
		b.slices[name] = entry{part: in}
		b.wait(in.member, 1)
	})
	return ok, current
}

// Keep counts a slice, whether there is room or not.
func (b *Budget) Keep(slice kit.Scope, name string, size Size) {
	b.change(name, false, func(Size) { b.hold(name, part{slice.Member, slice.Slice.Namespace}, size) })
}

// Forget stops counting a slice. live and current are described at Begin.
func (b *Budget) Forget(name string, live bool) (current bool) {
	return b.change(name, live, func(Size) {})
}

// Waits reports whether a slice had no room when it was last counted.
func (b *Budget) Waits(name string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, waits := b.waiting[b.slices[name].part][name]
	return waits
}

// change removes a slice's count, then calls set with its previous size to count it again. live and current are described at Begin.
func (b *Budget) change(name string, live bool, set func(had Size)) (current bool) {
	b.mu.Lock()
	if live && !b.reading[name] {
		b.mu.Unlock()
		return false
	}
	old := b.slices[name]
	delete(b.slices, name)
	delete(b.reserved, name)
	delete(b.reading, name)
	if _, waits := b.waiting[old.part][name]; waits {
		b.endWait(old.part, name)
	}
	b.count(old.part, Size{}.minus(old.size))
	set(old.size)
	var fit []waiting
	if now := b.slices[name].size; now.Endpoints < old.size.Endpoints || now.Bytes < old.size.Bytes {
		fit = b.release()
	}
	b.mu.Unlock()
	for _, w := range fit {
		b.room(w.slice)
	}
	return true
}

// wait changes how many slices of a member wait, and how many of all.
func (b *Budget) wait(id names.ClusterID, by int) {
	for _, of := range []names.ClusterID{id, ""} {
		if b.waits[of] += by; b.waits[of] == 0 {
			delete(b.waits, of)
		}
	}
}

func (b *Budget) endWait(in part, name string) {
	if delete(b.waiting[in], name); len(b.waiting[in]) == 0 {
		delete(b.waiting, in)
	}
	b.wait(in.member, -1)
}

func (b *Budget) hold(name string, in part, size Size) {
	b.slices[name] = entry{in, size}
	b.count(in, size)
}

// count adds to what a namespace of a member uses, the member, and all.
func (b *Budget) count(in part, size Size) {
	if size == (Size{}) {
		return
	}
	b.total = b.total.plus(size)
	for _, p := range []part{in, {member: in.member}} {
		if b.used[p] = b.used[p].plus(size); b.used[p] == (Size{}) {
			delete(b.used, p)
		}
	}
}

// fits reports whether a size fits into a namespace of a member, up to a part of the member's limits, and of that of all members.
func (b *Budget) fits(in part, size Size, of, ofTotal float64) bool {
	member, namespace, total := b.used[part{member: in.member}].plus(size), b.used[in].plus(size), b.total.plus(size)
	return within(member.Endpoints, b.limits.Endpoints, of) && within(member.Bytes, b.limits.Bytes, of) &&
		within(namespace.Endpoints, b.limits.InNamespace, of) && within(total.Bytes, b.limits.Total, ofTotal)
}

// upTo returns the part of a limit that may be used while so many others wait.
func upTo(waiting int) float64 {
	if waiting > 0 {
		return resumed
	}
	return 1
}

func within(use, limit int64, of float64) bool {
	return limit <= 0 || float64(use) <= float64(limit)*of
}

// release returns the waiting slices that fit now, where the use has fallen enough, the oldest first, and counts them.
func (b *Budget) release() (fit []waiting) {
	var all []string
	of := map[string]waiting{}
	for in, waits := range b.waiting {
		if b.fits(in, Size{}, resumed, resumed) {
			all = slices.AppendSeq(all, maps.Keys(waits))
			maps.Copy(of, waits)
		}
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(of[a].since.Compare(of[b].since), strings.Compare(a, b)) })
	for _, name := range all {
		w := of[name]
		in := part{w.slice.Member, w.slice.Slice.Namespace}
		if b.fits(in, w.size, 1, 1) {
			b.endWait(in, name)
			b.hold(name, in, w.size)
			fit = append(fit, w)
		}
	}
	return fit
}

// Usage returns each member's usage.
func (b *Budget) Usage() map[names.ClusterID]Usage {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := map[names.ClusterID]Usage{}
	for p, size := range b.used {
		if p.namespace == "" {
			all[p.member] = Usage{size, b.waits[p.member]}
		}
	}
	for id, n := range b.waits {
		if id != "" {
			all[id] = Usage{all[id].Held, n}
		}
	}
	return all
}
