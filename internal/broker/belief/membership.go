package belief

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// Revision is a version of a MemberCluster. Unlike a resource version, it changes with the spec only.
type Revision struct {
	UID        types.UID
	Generation int64
}

// String returns what ParseRevision reads.
func (r Revision) String() string { return fmt.Sprintf("%s/%d", r.UID, r.Generation) }

// ParseRevision reads a revision; the zero Revision if it is malformed.
func ParseRevision(text string) Revision {
	uid, number, _ := strings.Cut(text, "/")
	generation, err := strconv.ParseInt(number, 10, 64)
	if err != nil || uid == "" {
		return Revision{}
	}
	return Revision{types.UID(uid), generation}
}

// Membership is what is remembered of a member's MemberCluster.
type Membership struct {
	// Seen is the last revision that showed the member as present, or, if Doubted, the revision that says Removed.
	Seen Revision
	// Removed is true if an administrator has removed the member, or it has left. Doubted is true if its MemberCluster says so but
	// is older than Seen was, or is another object: a backup from before the member joined again shows the same.
	Removed, Doubted bool
}

// See returns what is remembered after a MemberCluster was seen. A removal counts if it is newer than Seen. After one that is
// doubted, the next one counts: somebody has written it since.
func (m Membership) See(found Revision, removed bool) Membership {
	isNewer := found.UID == m.Seen.UID && found.Generation > m.Seen.Generation
	switch {
	case !removed:
		return Membership{Seen: found}
	case m.Removed, m.Seen == Revision{}, isNewer:
		return Membership{Seen: m.Seen, Removed: true}
	}
	return Membership{Seen: found, Doubted: true}
}
