// Package permissions decides which namespaces each member may export, which namespaces are reserved, and which
// addresses a member's endpoints may have (docs/adr/0033-permissions-of-members.md).
package permissions

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/ranges"
)

// Prefixes of ConfigMap keys. The member's id follows: it is last because it may contain a dot.
const (
	// NamespacesPrefix begins the key of the namespaces that a member may export.
	NamespacesPrefix = "namespaces."
	// RangesPrefix begins the key of the address ranges of a member's endpoints.
	RangesPrefix = "ranges."
	// DrainedPrefix begins the key that drains a member: other members send it no new connections while another can serve them.
	DrainedPrefix = "drained."
	// FrozenPrefix begins the key that freezes a member: the broker refuses what it creates.
	FrozenPrefix = "frozen."
	// Reserved is the key of the namespaces that only their owners may export: the members whose own namespaces name them. The
	// pattern * names none.
	Reserved = "reserved"
)

// Default is the key in Members for members without namespaces of their own. It is not a valid cluster id.
const Default names.ClusterID = ""

// NamespacesKey returns the ConfigMap key for a member's namespaces, or for the default.
func NamespacesKey(cluster names.ClusterID) string {
	return strings.TrimSuffix(NamespacesPrefix+cluster.String(), ".")
}

// Member is one member's permissions. The zero value permits everything.
type Member struct {
	// Namespaces are the namespaces that it may export; nil means all.
	Namespaces *Namespaces
	// Ranges are the address ranges of its endpoints; nil means any address.
	Ranges *ranges.Set
	// Drained is set if the broker's administrator drains the member.
	Drained bool
	// Frozen is set if the broker refuses records, slices and catalogue entries that the member creates.
	Frozen bool
	// Reserved are the namespaces that only their owners may export. Only Default has them.
	Reserved Namespaces
}

// Members are the permissions by member. A member without namespaces has those of Default; without Default, it may
// export all.
type Members map[names.ClusterID]Member

// Read reads the ConfigMap's data. Invalid namespace patterns and ranges permit nothing; the other words of the value
// apply. Keys for no member have no effect. mistakes lists all of these, sorted, for people.
func Read(config *corev1.ConfigMap) (members Members, mistakes []Mistake) {
	members = Members{}
	data := maps.Clone(config.Data)
	if data == nil {
		data = map[string]string{}
	}
	for key := range config.BinaryData { // not text, so it permits nothing
		data[key] = "\ufffd"
	}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		value := data[key]
		id, set, err := parseKey(key)
		if err != nil {
			mistakes = append(mistakes, Mistake{Key: key, Text: err.Error()})
			continue
		}
		member := members[id]
		if err := set(&member, value); err != nil {
			for _, text := range strings.Split(err.Error(), "\n") {
				mistakes = append(mistakes, Mistake{Key: key, Cluster: id, Text: text})
			}
		}
		members[id] = member
	}
	return members, mistakes
}

// Mistake is an invalid part of the ConfigMap, which permits nothing.
type Mistake struct {
	Key string
	// Cluster is the key's member, or "" for the default or an invalid key.
	Cluster names.ClusterID
	Text    string
}

// parseKey returns the key's member and the function that sets its value.
func parseKey(key string) (id names.ClusterID, set func(*Member, string) error, err error) {
	text, found := strings.CutPrefix(key, NamespacesPrefix)
	set = func(m *Member, value string) error {
		namespaces, err := ParseNamespaces(value)
		m.Namespaces = &namespaces
		return err
	}
	if !found && key == NamespacesKey(Default) {
		return Default, set, nil
	}
	if key == Reserved {
		return Default, func(m *Member, value string) (err error) {
			m.Reserved, err = ParseNamespaces(value)
			return err
		}, nil
	}
	if rest, isRange := strings.CutPrefix(key, RangesPrefix); isRange {
		text, found = rest, true
		set = func(m *Member, value string) error {
			set, err := ranges.Parse(value)
			m.Ranges = &set
			return err
		}
	}
	if rest, isDrain := strings.CutPrefix(key, DrainedPrefix); isDrain {
		text, found = rest, true
		set = func(m *Member, value string) (err error) {
			if m.Drained, err = strconv.ParseBool(strings.TrimSpace(value)); err != nil {
				return fmt.Errorf("%.70q is neither true nor false", value)
			}
			return nil
		}
	}
	if rest, isFreeze := strings.CutPrefix(key, FrozenPrefix); isFreeze {
		text, found = rest, true
		set = func(m *Member, value string) error {
			frozen, err := strconv.ParseBool(strings.TrimSpace(value))
			if m.Frozen = frozen || err != nil; err != nil { // an invalid value permits nothing, as in the admission policy
				return fmt.Errorf("%.70q is neither true nor false", value)
			}
			return nil
		}
	}
	if !found {
		return "", nil, fmt.Errorf("the key must have the form %sCLUSTER, %sCLUSTER, %sCLUSTER or %sCLUSTER, or be %s", NamespacesPrefix, RangesPrefix, DrainedPrefix, FrozenPrefix, Reserved)
	}
	id, err = names.ParseClusterID(text)
	return id, set, err
}

// Data returns the ConfigMap data for the permissions, the inverse of Read.
func (m Members) Data() map[string]string {
	data := map[string]string{}
	for id, member := range m {
		if member.Namespaces != nil {
			data[NamespacesKey(id)] = member.Namespaces.String()
		}
		if member.Ranges != nil {
			data[RangesPrefix+id.String()] = member.Ranges.String()
		}
		if member.Drained {
			data[DrainedPrefix+id.String()] = "true"
		}
		if member.Frozen {
			data[FrozenPrefix+id.String()] = "true"
		}
		if reserved := member.Reserved.String(); reserved != "" {
			data[Reserved] = reserved
		}
	}
	return data
}

// Of returns a member's permissions, including the default.
func (m Members) Of(cluster names.ClusterID) Member {
	member := m[cluster]
	if member.Namespaces == nil {
		member.Namespaces = m[Default].Namespaces
	}
	return member
}

// MayExport reports whether a member may export a namespace.
func (m Members) MayExport(cluster names.ClusterID, namespace string) bool {
	if m.IsReserved(namespace) {
		return m.names(cluster, namespace)
	}
	may := m.Of(cluster).Namespaces
	return may == nil || may.Contains(namespace)
}

// IsReserved reports whether only its owners may export a namespace.
func (m Members) IsReserved(namespace string) bool { return m[Default].Reserved.Contains(namespace) }

// Owns reports whether a namespace is reserved, and a member is one of its owners.
func (m Members) Owns(cluster names.ClusterID, namespace string) bool {
	return m.IsReserved(namespace) && m.names(cluster, namespace)
}

// OwnedBy returns the reserved patterns that a member's own namespaces have, too.
func (m Members) OwnedBy(cluster names.ClusterID) (patterns []string) {
	own := m[cluster].Namespaces
	if own == nil || cluster == Default {
		return nil
	}
	for _, p := range m[Default].Reserved.patterns {
		if slices.ContainsFunc(own.patterns, func(o string) bool { return o != everything && covers(o, p) }) {
			patterns = append(patterns, p)
		}
	}
	return patterns
}

// names reports whether a member's own namespaces name a namespace, by more than the pattern *.
func (m Members) names(cluster names.ClusterID, namespace string) bool {
	own := m[cluster].Namespaces
	return own != nil && cluster != Default && own.Without(everything).Contains(namespace)
}

// Drains reports whether the broker's administrator drains a member.
func (m Members) Drains(cluster names.ClusterID) bool { return m[cluster].Drained }

// RangesOf returns the address ranges of a member's endpoints, and false if any address is permitted.
func (m Members) RangesOf(cluster names.ClusterID) (ranges.Set, bool) {
	if set := m[cluster].Ranges; set != nil {
		return *set, true
	}
	return ranges.Set{}, false
}

// AllowsAddress reports whether a member's endpoint may have an address.
func (m Members) AllowsAddress(cluster names.ClusterID, address netip.Addr) bool {
	set, restricted := m.RangesOf(cluster)
	return !restricted || set.Contains(address)
}
