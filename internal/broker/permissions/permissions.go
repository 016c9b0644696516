// Package permissions decides which namespaces each member may export and which addresses its endpoints may have
// (docs/adr/0033-permissions-of-members.md).
package permissions

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/ranges"
)

// Prefixes of keys in the ConfigMap: a member's id follows. An id may contain a dot, so that it comes last.
const (
	// NamespacesPrefix begins the key of the namespaces that a member may export.
	NamespacesPrefix = "namespaces."
	// RangesPrefix begins the key of the ranges in which the addresses of a member's endpoints are.
	RangesPrefix = "ranges."
)

// Default is the key in Members of what members without namespaces of their own may export. It is no cluster's id.
const Default names.ClusterID = ""

// NamespacesKey returns the key of the namespaces that a member may export, or members by default.
func NamespacesKey(cluster names.ClusterID) string {
	return strings.TrimSuffix(NamespacesPrefix+cluster.String(), ".")
}

// Member is what one member is permitted. The zero value permits everything.
type Member struct {
	// Namespaces are those that it may export; nil for all.
	Namespaces *Namespaces
	// Ranges are those in which its endpoints may be; nil for any address.
	Ranges *ranges.Set
}

// MayExport tells whether the member may export a namespace.
func (m Member) MayExport(namespace string) bool {
	return m.Namespaces == nil || m.Namespaces.Contains(namespace)
}

// Members is what members are permitted. A member without namespaces of its own has those of Default. Without Default it may export
// all namespaces.
type Members map[names.ClusterID]Member

// Read reads the data of the ConfigMap. A word that is neither a namespace pattern nor a range permits nothing; the other words of
// the same value count. A key that is for no member has no effect. mistakes are all of these, sorted, for people.
func Read(config *corev1.ConfigMap) (members Members, mistakes []Mistake) {
	members = Members{}
	data := maps.Clone(config.Data)
	if data == nil {
		data = map[string]string{}
	}
	for key := range config.BinaryData { // is not text, so it permits nothing
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

// Mistake is something in the ConfigMap that permits nothing because it can't be read.
type Mistake struct {
	Key string
	// Cluster is the member that the key is about, "" for the default or none.
	Cluster names.ClusterID
	Text    string
}

// parseKey returns the member that a key is about, and what sets its value.
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
	if !found {
		if text, found = strings.CutPrefix(key, RangesPrefix); !found {
			return "", nil, fmt.Errorf("the key is neither %sCLUSTER nor %sCLUSTER", NamespacesPrefix, RangesPrefix)
		}
		set = func(m *Member, value string) error {
			set, err := ranges.Parse(value)
			m.Ranges = &set
			return err
		}
	}
	id, err = names.ParseClusterID(text)
	return id, set, err
}

// Data is the ConfigMap's data from which Read reads the same.
func (m Members) Data() map[string]string {
	data := map[string]string{}
	for id, member := range m {
		if member.Namespaces != nil {
			data[NamespacesKey(id)] = member.Namespaces.String()
		}
		if member.Ranges != nil {
			data[RangesPrefix+id.String()] = member.Ranges.String()
		}
	}
	return data
}

// Of returns what a member is permitted, by its own entries and the default.
func (m Members) Of(cluster names.ClusterID) Member {
	member := m[cluster]
	if member.Namespaces == nil {
		member.Namespaces = m[Default].Namespaces
	}
	return member
}

// MayExport tells whether a member may export a namespace.
func (m Members) MayExport(cluster names.ClusterID, namespace string) bool {
	return m.Of(cluster).MayExport(namespace)
}

// RangesOf returns the ranges that a member's endpoints may be in, and false where they may have any address.
func (m Members) RangesOf(cluster names.ClusterID) (ranges.Set, bool) {
	if set := m[cluster].Ranges; set != nil {
		return *set, true
	}
	return ranges.Set{}, false
}

// AllowsAddress tells whether a member's endpoint may have an address.
func (m Members) AllowsAddress(cluster names.ClusterID, address netip.Addr) bool {
	set, restricted := m.RangesOf(cluster)
	return !restricted || set.Contains(address)
}
