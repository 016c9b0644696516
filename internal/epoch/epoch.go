// Package epoch decides whether what is missing on the broker was taken away by the member
// that it is about, or lost with the broker's data (docs/adr/0031-epochs.md).
//
// An epoch is a time in which what the broker holds only changes as members write it. It
// ends when the clusterset's namespace goes or is another one, when the broker is put back to
// an earlier state, and for one member, when a record of it goes that it did not
// withdraw. Until a member says in the new epoch that it has published everything again, there
// are doubts about it: what is missing of it may still be there in its cluster. Where an earlier state
// was restored, what is there may be out of date too.
//
// What goes in and what outlasts a process is in epoch.go, what is known of one member in member.go, and
// what follows of it in judge.go.
package epoch

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
	// Unheard tells that this cluster's own heartbeat is not there, although it was, nor the entry that there was with it.
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
