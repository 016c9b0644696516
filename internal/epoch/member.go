package epoch

// member is what is known of one: what outlasts the process, and what does not.
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

// sure has what was heard count: no earlier state was restored before it was.
func (m *member) sure(now uint64) {
	if s := m.unsure; s.At > m.At {
		m.At, m.seen, m.heard = s.At, s.Seen, now
	}
	m.unsure = Statement{}
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
