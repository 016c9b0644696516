package epoch

import (
	"maps"
	"slices"
)

// Judge tells which members there are doubts about. It is told of what happens to the copies
// as it happens, and of looks at the broker.
type Judge struct {
	place   string
	former  []string // places that there were before
	members map[string]*member
	rounds  map[string]int // of those that there have been
	// now numbers what happens; what is numbered higher than looked has not been looked into.
	now, looked uint64
	// relisted is when a copy was last made anew, of which nobody knows what went unseen. back is when it was last
	// found that something is older than before. unsure is when either was.
	relisted, back, unsure uint64
	// version is the highest one of the broker's data that was seen, asked what it was when a look began: nothing that is
	// read from then on is older, unless the broker was put back.
	version, asked uint64
}

// NewJudge returns a judge that remembers. Until the first look there are doubts about all.
func NewJudge(memory Memory) *Judge {
	j := &Judge{place: memory.Place, former: memory.Former, members: map[string]*member{}, rounds: map[string]int{}, now: 1, unsure: 1}
	for id, known := range memory.Members {
		m := &member{Known: known}
		if !known.Awaited {
			m.here = j.now
		}
		j.members[id] = m
	}
	return j
}

// Memory returns what is to outlast the process. Versions are not: after a restore they can't be compared.
func (j *Judge) Memory() Memory {
	memory := Memory{Place: j.place, Former: slices.Clone(j.former), Members: map[string]Known{}}
	for id, m := range j.members {
		known := m.Known
		if known.Awaited = m.awaited(); m.gone > m.seen {
			known.After = max(m.After, m.At)
		}
		memory.Members[id] = known
	}
	return memory
}

// Place is the UID of the clusterset's namespace, as far as it is known.
func (j *Judge) Place() string { return j.place }

// Rounds is how often a member has come to be awaited.
func (j *Judge) Rounds(id string) int { return j.rounds[id] }

// Unsure is called when a copy has been made anew: nobody knows what went unseen before.
func (j *Judge) Unsure() {
	j.now++
	j.relisted, j.unsure = j.now, j.now
	for _, m := range j.members {
		if m.foreign {
			m.foreign, m.gone, m.seen = false, 0, 0
		}
	}
}

// Back is called when something is older than it was before. What a member says may come
// before anybody looks: it has to be later than what is known now.
func (j *Judge) Back() {
	j.now++
	j.back, j.unsure = j.now, j.now
	j.version, j.asked = 0, 0
	for id, m := range j.members {
		j.await(id, m, m.At)
		m.Outdated, m.unsure = true, Statement{}
	}
}

// Vanished is called when a record of a member's, or its entry, has gone at a version, and the member had
// not withdrawn it. Members that make no statements do not withdraw either.
func (j *Judge) Vanished(id string, version uint64) {
	j.now++
	j.version = max(j.version, version)
	if m := j.members[id]; m != nil && m.At != 0 {
		m.vanished, m.gone = j.now, max(m.gone, version, 1)
	}
}

// Lacks is called when a slice of a member's has gone at a version, whose service it had not withdrawn. Members do not
// say of slices that they take them away: it is so, unless a look shows that the broker is not what it was.
func (j *Judge) Lacks(id string, version uint64) {
	j.now++
	j.version = max(j.version, version)
	if m := j.members[id]; m != nil {
		m.lacks = j.now
	}
}

// Begun is called when a copy of some slices has been begun. A process before this one may have imported what it does not
// have, and the broker may not be any more what it was when somebody looked last.
func (j *Judge) Begun() {
	j.now++
	for _, m := range j.members {
		m.lacks = j.now
	}
}

// Heard is called with a member's statement when a watch shows that it is made, or that the
// member is there, which is before any look does. A list is no such thing: what it has may be from before
// an earlier state was restored. What comes before a look has shown that none was may be what is awaited then.
func (j *Judge) Heard(id string, s Statement) {
	j.now++
	m := j.member(id)
	m.here = j.now
	if s.At == 0 && m.At != 0 {
		m.lacks = j.now // its agents may be older ones now, that make none: which a look finds
	}
	if m.unsure = s; j.unsure <= j.looked {
		m.sure(j.now)
	}
}

// member returns what is known of a member, which may be nothing.
func (j *Judge) member(id string) *member {
	if j.members[id] == nil {
		j.members[id] = &member{}
	}
	return j.members[id]
}

// Doubts tells whether what is missing of a member may be there all the same.
func (j *Judge) Doubts(id string) bool {
	m := j.members[id]
	return j.unsure > j.looked || m != nil && (m.awaited() || m.unseen(j.looked))
}

// Outdated tells whether what there is of a member may be from before what it has published last.
func (j *Judge) Outdated(id string) bool {
	m := j.members[id]
	return j.unsure > j.looked || m != nil && m.Outdated
}

// Unseen tells whether something has happened that no look has looked into.
func (j *Judge) Unseen() bool {
	if j.unsure > j.looked {
		return true
	}
	for _, m := range j.members {
		if m.unseen(j.looked) {
			return true
		}
	}
	return false
}

// Settled tells whether nobody is awaited and nothing is unseen.
func (j *Judge) Settled() bool {
	for _, m := range j.members {
		if m.awaited() {
			return false
		}
	}
	return !j.Unseen()
}

// Begin is called when a look begins. What it returns goes to Looked.
func (j *Judge) Begin() uint64 {
	j.asked = j.version
	return j.now
}

// Receded tells whether a reading is of an earlier state than what was seen before its look began.
func (j *Judge) Receded(r Reading) bool {
	return r.Place != "" && r.Place == j.place && 0 < r.Version && r.Version < j.asked
}

// Candidates returns the members that are awaited and have made their statement, sorted. They
// are out of doubt when they are Shown too.
func (j *Judge) Candidates(r Reading) []string {
	var ids []string
	for id, s := range r.Members {
		if m := j.members[id]; m != nil && m.awaited() && m.answered(s, r.Place, r.Version) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// Looked is called with what was found by a look that began at a number.
func (j *Judge) Looked(began uint64, r Reading) {
	another := j.place != "" && r.Place != "" && r.Place != j.place
	if r.Unheard && !r.Going && !another {
		j.missed(r)
		return
	}
	if another {
		if slices.Contains(j.former, r.Place) {
			j.Back() // to what there was before, with what members have said then
		}
		j.former = append(slices.Clone(j.former[max(0, len(j.former)+1-maxFormer):]), j.place)
		j.version, j.asked = 0, 0
		j.now++
		j.unsure = j.now // the members that were read may be those of the former one
	}
	for id, m := range j.members {
		if j.unsure <= began {
			m.sure(j.now)
		}
		switch {
		case another && m.Outdated:
			j.await(id, m, m.After) // it may have said so before anybody knew that the namespace is another one too
		case another:
			j.await(id, m, 0) // which is about this one, whatever the time
		case r.Going && !m.Awaited:
			j.await(id, m, m.At)
		}
	}
	before := j.looked
	if j.looked = began; r.Going {
		return
	}
	if r.Place != "" {
		j.place = r.Place
	}
	if another || j.back > began {
		return // likewise, or those of before an earlier state was restored
	}
	j.version = max(j.version, r.Version)
	for id, s := range r.Members {
		if m := j.member(id); before < m.vanished && m.vanished <= began {
			j.rounds[id]++
		}
		j.see(id, s, began, r)
	}
	maps.DeleteFunc(j.members, func(id string, m *member) bool {
		_, there := r.Members[id]
		return !there && 0 < m.here && m.here <= began // it was removed
	})
}

// missed is called when the own heartbeat and entry are not there. Perhaps they were deleted; or an earlier state was restored, in which
// this cluster was not a member, and whoever else is missing was not one either. Which it is its next version tells.
func (j *Judge) missed(r Reading) {
	for id, m := range j.members {
		if _, there := r.Members[id]; !there && !m.Awaited {
			j.await(id, m, m.At)
		}
	}
}

// see takes notice of a member that is there. Whoever contradicts itself concerns nobody else.
func (j *Judge) see(id string, s Statement, began uint64, r Reading) {
	m := j.member(id)
	later := m.heard > began // it has been heard meanwhile
	if m.awaited() && r.Version > 0 && s.Seen > r.Version && s.about(j.place) {
		m.After = max(m.After, s.At) // also when the versions have come to what it had seen
	}
	switch backwards := s.At != 0 && s.At < m.At && !later; {
	case backwards && !m.Awaited:
		j.await(id, m, m.At)
		m.Outdated = true
	case m.awaited() && r.Shown[id] && m.vanished <= began && m.answered(s, j.place, r.Version):
		m.Awaited, m.After, m.Outdated, m.gone, m.foreign = false, 0, false, 0, false
	}
	m.here = max(m.here, began)
	if s.At > m.At || !m.awaited() && !later {
		m.At, m.seen = s.At, s.Seen
	}
}

// await has a member have to make a statement that is later than another one. Versions from before
// the copies were made anew may be those of another broker.
func (j *Judge) await(id string, m *member, after int64) {
	m.here, m.Awaited, m.After = 0, true, after
	if j.rounds[id]++; m.vanished < j.relisted {
		m.gone, m.seen = 0, 0
	}
	m.foreign = m.gone > 0
}
