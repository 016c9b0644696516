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
	// Joined is the revision that showed that the member has joined, or, if Doubted, the revision that says Removed.
	Joined Revision
	// Removed is true if an administrator has removed the member, or it has left. Doubted is true if its MemberCluster says so but
	// is older than Joined was, or is another object: a backup from before the member joined again shows the same.
	Removed, Doubted bool
}

// See returns what is remembered after a MemberCluster was seen. A removal counts if it is newer than Joined. After one that is
// doubted, the next one counts: somebody has written it since.
func (m Membership) See(found Revision, removed bool) Membership {
	isNewer := found.UID == m.Joined.UID && found.Generation > m.Joined.Generation
	switch {
	case !removed && isNewer && !m.Removed:
		return Membership{Joined: m.Joined}
	case !removed:
		return Membership{Joined: found}
	case m.Removed, m.Joined == Revision{}, isNewer:
		return Membership{Joined: m.Joined, Removed: true}
	}
	return Membership{Joined: found, Doubted: true}
}
