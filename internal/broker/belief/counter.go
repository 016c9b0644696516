package belief

import "k8s.io/apimachinery/pkg/types"

// Counter counts a member's comparisons that found everything right. An owner increases it in its Lease after it has
// compared all its objects with a fresh list (package compare). Only increases that this process sees confirm something,
// and a new or restored Lease starts over.
type Counter struct {
	// Lease is the UID of the member's Lease.
	Lease types.UID
	Count int64
	// Refused is true if the broker refuses some of the member's objects.
	Refused bool
}

// Stands reports whether later shows that the broker was not wiped or restored since c was read.
func (c Counter) Stands(later Counter) bool { return later.Lease == c.Lease && later.Count >= c.Count }
