// Package quota bounds how much of one cluster each member of a clusterset takes up: what one
// asks for beyond its limit is refused to it, and costs no other member anything. What it has it
// keeps.
package quota

import (
	"container/list"
	"slices"
	"sync"
)

// Item is a part of a group that takes up units.
type Item struct {
	Name  string
	Units int
}

// Quota has how many units the groups of each member take up, of which there are the same number
// for each member. A group is what is decided on at a time.
type Quota[G comparable] struct {
	limit int

	mu      sync.Mutex
	members map[string]*share[G]
	denied  map[string]bool // members of which Allows has said no of a group that had not asked
}

// share is what one member has.
type share[G comparable] struct {
	total   int
	groups  map[G]*group
	waiting *list.List // of groups that lack something, in the order in which they began to
}

type group struct {
	has, lacks map[string]int // by item
	lacking    int            // the sum
	waiting    *list.Element  // nil where it lacks nothing
}

// New returns a quota of limit units for each member, 0 for any number.
func New[G comparable](limit int) *Quota[G] {
	return &Quota[G]{limit: limit, members: map[string]*share[G]{}, denied: map[string]bool{}}
}

// Limit returns how many units there are for each member, 0 for any number.
func (q *Quota[G]) Limit() int { return q.limit }

// Take asks for a member's units for items of a group, and returns how many each of them has then,
// in the same order: what it had, and more as long as there is some. Items with none are given up;
// those that are not named stay as they are, unless these are all.
func (q *Quota[G]) Take(member string, of G, items []Item, all bool) []int {
	granted := make([]int, len(items))
	if q.limit <= 0 {
		for i, item := range items {
			granted[i] = item.Units
		}
		return granted
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.members[member]
	if s == nil {
		s = &share[G]{groups: map[G]*group{}, waiting: list.New()}
		q.members[member] = s
	}
	g, had := s.release(of, items, all)
	for i, item := range items {
		granted[i] = min(item.Units, had[item.Name])
		s.total += granted[i]
	}
	for i, item := range items {
		more := min(item.Units-granted[i], max(0, q.limit-s.total))
		granted[i] += more
		s.total += more
		g.put(item, granted[i])
	}
	s.note(of, g)
	if len(s.groups) == 0 {
		delete(q.members, member)
	}
	return granted
}

// release takes back what items of a group have, or all of them, and returns what that was.
func (s *share[G]) release(of G, items []Item, all bool) (g *group, had map[string]int) {
	g = s.groups[of]
	if g == nil {
		g = &group{has: map[string]int{}, lacks: map[string]int{}}
		s.groups[of] = g
	}
	if all {
		had = g.has
		g.has, g.lacks, g.lacking = map[string]int{}, map[string]int{}, 0
	} else {
		had = make(map[string]int, len(items))
		for _, item := range items {
			had[item.Name] = g.has[item.Name]
		}
	}
	for _, n := range had {
		s.total -= n
	}
	return g, had
}

// put keeps what an item has now, and lacks.
func (g *group) put(item Item, has int) {
	set(g.has, item.Name, has)
	g.lacking += item.Units - has - g.lacks[item.Name]
	set(g.lacks, item.Name, item.Units-has)
}

func set(units map[string]int, item string, n int) {
	if n == 0 {
		delete(units, item)
	} else {
		units[item] = n
	}
}

// note has a group wait as long as it lacks something, and forgets it where it is nothing.
func (s *share[G]) note(of G, g *group) {
	switch {
	case g.lacking > 0 && g.waiting == nil:
		g.waiting = s.waiting.PushBack(of)
	case g.lacking == 0 && g.waiting != nil:
		s.waiting.Remove(g.waiting)
		g.waiting = nil
	}
	if len(g.has) == 0 && g.lacking == 0 {
		delete(s.groups, of)
	}
}

// Has tells whether a group of a member's takes up any units.
func (q *Quota[G]) Has(member string, of G) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.members[member]
	return s != nil && s.groups[of] != nil && len(s.groups[of].has) > 0
}

// Allows tells whether a group of a member's has units, or would get some if it asked for the first time.
func (q *Quota[G]) Allows(member string, of G) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.members[member]
	if s == nil {
		return true
	}
	if g := s.groups[of]; g != nil {
		return len(g.has) > 0
	}
	if q.limit > 0 && s.total >= q.limit {
		q.denied[member] = true
		return false
	}
	return true
}

// Denied tells whether Allows has ever said no of a group of a member's that had not asked. Where it has not, nobody is
// surprised that a group gets what it asks for the first time.
func (q *Quota[G]) Denied(member string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.denied[member]
}

// Next returns the group of a member's that has lacked something for the longest time, if there
// is something for it now. All of it is to be asked for again.
func (q *Quota[G]) Next(member string) (next G, found bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.members[member]
	if s == nil || s.total >= q.limit || s.waiting.Len() == 0 {
		return next, false
	}
	return s.waiting.Front().Value.(G), true
}

// Lacks tells whether a group of a member's lacks something.
func (q *Quota[G]) Lacks(member string, of G) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.members[member]
	return s != nil && s.groups[of] != nil && s.groups[of].lacking > 0
}

// Members returns those of which a group has or lacks something, sorted.
func (q *Quota[G]) Members(of G) []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	var members []string
	for member, s := range q.members {
		if s.groups[of] != nil {
			members = append(members, member)
		}
	}
	slices.Sort(members)
	return members
}

// Lacking returns how many units each member lacks, of those that have or lack any.
func (q *Quota[G]) Lacking() map[string]int {
	q.mu.Lock()
	defer q.mu.Unlock()
	lacking := map[string]int{}
	for member, s := range q.members {
		lacking[member] = 0
		for e := s.waiting.Front(); e != nil; e = e.Next() {
			lacking[member] += s.groups[e.Value.(G)].lacking
		}
	}
	return lacking
}
