// Package belief decides what to do about an object on the broker that is missing or older than before, because
// its owner ended it or because the broker was wiped, restored or edited.
//
// Removal is something that an owner writes; everything else is suspicious until the owner vouches for what is there (Suspicions). docs/explanation/protocol.md has
// the rules. Nothing here reads or writes.
package belief

// Applied is what an importing cluster has made of an object.
type Applied struct {
	// Revision is that of the object, 0 where none is known.
	Revision int64
	// Exists tells whether something is imported now. Of what was ended the revision is still remembered for a while.
	Exists bool
}

// Found is an object as it is on the broker.
type Found struct {
	// Revision is 0 where it cannot be read.
	Revision int64
	// Withdrawn says that its owner has ended it.
	Withdrawn bool
}

// Owner is what is known of the member that writes an object.
type Owner struct {
	// Removed says that an administrator has removed it from the clusterset.
	Removed bool
	// Lost says that its endpoints are withdrawn in this cluster, because it is unreachable.
	Lost bool
	// Vouched says that it has compared what it publishes with what is on the broker since the object became suspicious, and the object was read again
	// after that.
	Vouched bool
	// Refused says that it has done so although the broker refuses some of what it publishes, so that what is missing may be just that.
	Refused bool
}

// Verdict is what to do.
type Verdict int

// Verdicts.
const (
	// Keep leaves what is imported as it is, until the owner vouches.
	Keep Verdict = iota
	// Apply has the import match the object.
	Apply
	// Remove removes what is imported.
	Remove
)

// Decide returns what to do about an object, nil for one that is not there.
func Decide(applied Applied, found *Found, owner Owner) Verdict {
	suspicious := found == nil && applied.Exists || found != nil && (found.Revision <= 0 || found.Revision < applied.Revision)
	switch {
	case owner.Removed:
		return Remove
	case suspicious && !owner.Lost && (!owner.Vouched || found == nil && owner.Refused):
		return Keep
	case found == nil || found.Withdrawn:
		return Remove
	}
	return Apply
}
