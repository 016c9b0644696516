// Package belief decides whether the owner withdrew a missing or older object on the broker, or whether the broker was
// wiped, restored or edited.
//
// An owner removes an object by a write. Any other loss is suspicious until the owner confirms the data on the
// broker (Counter). docs/explanation/protocol.md has the rules. This package does no I/O.
package belief

// Applied is the state of an object in an importing cluster.
type Applied struct {
	// Revision is the object's revision, 0 if unknown.
	Revision int64
	// Exists is true if something is imported now. The revision of an ended object is remembered for a while.
	Exists bool
}

// Found is an object as it is on the broker.
type Found struct {
	// Revision is 0 if it is unreadable.
	Revision int64
	// Withdrawn is true if the owner has ended the object.
	Withdrawn bool
}

// Owner is the state of the member that writes an object.
type Owner struct {
	// Removed is true if an administrator has removed the member from the clusterset.
	Removed bool
	// Lost is true if this cluster has withdrawn the member's endpoints, because it is unreachable.
	Lost bool
	// Ended is true if the member is known not to export the service of the object, which is a slice. A missing slice is then not
	// suspicious, and does not count again with the next export.
	Ended bool
	// Confirmed is true if the member compared its objects with the broker after this one became suspicious, and this one
	// was read again after that.
	Confirmed bool
	// Refused is true if the broker refuses some of the confirming member's objects; the missing one may be among them.
	Refused bool
}

// Verdict is the action to take.
type Verdict int

const (
	// Keep leaves the import as it is, until the owner confirms.
	Keep Verdict = iota
	// Apply makes the import match the object.
	Apply
	// Remove removes the import.
	Remove
)

// Decide returns what to do about an object, which is nil if it is missing.
func Decide(applied Applied, found *Found, owner Owner) Verdict {
	suspicious := found == nil && applied.Exists && !owner.Ended || found != nil && (found.Revision <= 0 || found.Revision < applied.Revision)
	switch {
	case owner.Removed:
		return Remove
	case suspicious && !owner.Lost && (!owner.Confirmed || found == nil && owner.Refused):
		return Keep
	case found == nil || found.Withdrawn:
		return Remove
	}
	return Apply
}
