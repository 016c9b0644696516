package ranges

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/atoll-mcs/atoll/internal/names"
)

// Allowed are the addresses that members' endpoints may have. A member that is not in it may have any; one that
// is and has no range may have none.
type Allowed map[names.ClusterID]Set

// Read reads what the broker's owner has written: for the ids of members their ranges. What is no range allows
// nothing, and what is not under a cluster's id is about nobody; mistakes are all of these, sorted, for people.
func Read(from *corev1.ConfigMap) (allowed Allowed, mistakes []string) {
	allowed = Allowed{}
	data := maps.Clone(from.Data)
	if data == nil {
		data = map[string]string{}
	}
	for key, value := range from.BinaryData { // what is no text: no range
		data[key] = string(value)
	}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		id, err := names.ParseClusterID(key)
		if err != nil {
			mistakes = append(mistakes, fmt.Sprintf("%.70q is no id of a cluster", key))
			continue
		}
		set, err := Parse(data[key])
		if err != nil {
			mistakes = append(mistakes, fmt.Sprintf("%s: %s", key, strings.ReplaceAll(err.Error(), "\n", "; ")))
		}
		allowed[id] = set
	}
	return allowed, mistakes
}

// Of returns what a member's endpoints may have, and false where they may have any address.
func (a Allowed) Of(cluster names.ClusterID) (Set, bool) {
	set, fixed := a[cluster]
	return set, fixed
}

// Allows tells whether a member's endpoint may have an address.
func (a Allowed) Allows(cluster names.ClusterID, address netip.Addr) bool {
	set, fixed := a[cluster]
	return !fixed || set.Contains(address)
}

// Changed returns the members for which something else is allowed than before, sorted.
func Changed(before, now Allowed) []names.ClusterID {
	var changed []names.ClusterID
	for id, set := range now {
		if had, fixed := before[id]; !fixed || !had.Equal(set) {
			changed = append(changed, id)
		}
	}
	for id := range before {
		if _, fixed := now[id]; !fixed {
			changed = append(changed, id)
		}
	}
	slices.Sort(changed)
	return changed
}
