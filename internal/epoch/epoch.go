// Package epoch decides whether what is missing on the broker was taken away by the member
// that it is about, or lost with the broker's data (docs/adr/0031-epochs.md).
//
// An epoch is a time in which what the broker holds only changes as members write it. It
// ends when the clusterset's namespace goes or is another one, when the broker is put back to
// an earlier state, and for one member, when a record of it goes that it did not
// withdraw. Until a member says in the new epoch that it has published everything again, there
// are doubts about it: what is missing of it may still be there in its cluster. Where an earlier state
// was restored, what is there may be out of date too.
package epoch

import (
	"maps"
	"slices"
)

// Statement is a member's, on the broker: all that it exports is published.
type Statement struct {
	// Place is the UID of the namespace that it is about, "" where the member can't read it.
	Place string
	// At is when it was made, in microseconds by the member's clock, but always later than the one
	// before. 0 is what members say that make none, because their agents are older.
	At int64
	// Seen is the version of the broker's data that the member had seen before it went over what it
	// exports: what had gone until then it has published again, if it is exported.
	Seen uint64
}

// about tells whether a statement is about a namespace, as far as either is known.
func (s Statement) about(place string) bool { return s.Place == place || s.Place == "" || place == "" }

// Reading is what was found in one look at the broker.
type Reading struct {
	// Going tells that the clusterset's namespace is being deleted, or is not there.
	Going bool
	// Unheard tells that this cluster's own heartbeat is not there, although it was.
	Unheard bool
	// Place is the namespace's UID, "" where that can't be read.
	Place string
	// Version is that of the broker's data when the members were read, 0 where it is not known.
	Version uint64
	// Members are the members that there are, with their last statements.
	Members map[string]Statement
	// Shown are those of the candidates of which this cluster's copies show all that there is.
	Shown map[string]bool
}

// Memory is what outlasts a process.
type Memory struct {
	// Place is the UID of the namespace that the clusterset had last.
	Place string
	// Former are those of the ones that it had before, the last ones.
	Former []string
	// Members are those that there were.
	Members map[string]Known
}

// maxFormer is how many former places are remembered: backups of older ones are nobody's any more.
const maxFormer = 8

// Known is what is known of a member.
type Known struct {
	// At is its last statement, 0 where it makes none.
	At int64
	// Awaited tells that it has to make another one. After is which it must be later than.
	Awaited bool
	After   int64
	// Outdated tells that what there is of it may be from before what it has published last.
	Outdated bool
}

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
}

type member struct {
	Known
	// seen is the version of its last statement.
	seen uint64
	// heard is when it was, if it was since the process began.
	heard uint64
	// unsure is a statement that was heard when it was not known whether an earlier state was restored.
	unsure Statement
	// here is when it was last seen in this epoch, 0 if it was not: if it is not there when somebody looks later, it
	// was removed.
	here uint64
	// vanished is when a record of it went last that it had not withdrawn, or its entry. gone is the
	// version at which it did, which a statement has to have seen; 0 where none is awaited for that.
	vanished, gone uint64
	// foreign tells that gone may be a version of another broker's: if the copies are made anew now, it is.
	foreign bool
	// lacks is when something else of it went last, of which nobody says who took it away.
	lacks uint64
}

// awaited tells whether the member has to make a statement.
func (m *member) awaited() bool { return m.Awaited || m.gone > 0 }

// unseen tells whether something of a member's has gone since a look.
func (m *member) unseen(looked uint64) bool { return max(m.vanished, m.lacks) > looked }

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
	for id, m := range j.members {
		j.await(id, m, m.At)
		m.Outdated, m.unsure = true, Statement{}
	}
}

// Vanished is called when a record of a member's, or its entry, has gone at a version, and the member had
// not withdrawn it. Members that make no statements do not withdraw either.
func (j *Judge) Vanished(id string, version uint64) {
	j.now++
	if m := j.members[id]; m != nil && m.At != 0 {
		m.vanished, m.gone = j.now, max(m.gone, version, 1)
	}
}

// Lacks is called when a slice of a member's has gone, whose service it had not withdrawn. Members do not
// say of slices that they take them away: it is so, unless a look shows that the broker is not what it was.
func (j *Judge) Lacks(id string) {
	j.now++
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
	if m.unsure = s; j.unsure <= j.looked {
		m.sure(j.now)
	}
}

// sure has what was heard count: no earlier state was restored before it was.
func (m *member) sure(now uint64) {
	if s := m.unsure; s.At > m.At {
		m.At, m.seen, m.heard = s.At, s.Seen, now
	}
	m.unsure = Statement{}
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
func (j *Judge) Begin() uint64 { return j.now }

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

// answered tells whether a statement about a namespace, found at a version, is the one that is awaited. A member that
// has never made one can say no more than that it is there. One that has seen what is yet to come was made before an earlier
// state was restored, and written after that.
func (m *member) answered(s Statement, place string, version uint64) bool {
	if s.At == 0 {
		return m.At == 0
	}
	return s.about(place) && s.At > m.After && s.Seen >= m.gone && (version == 0 || s.Seen <= version)
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

// missed is called when the own heartbeat is not there. Perhaps it was deleted; or an earlier state was restored, in which
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
