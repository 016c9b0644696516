// Package names holds the names that the parts of Atoll share: cluster ids, labels, annotations, field managers and
// object names.
//
// It depends only on the standard library.
package names

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// ClusterID identifies a cluster within its clusterset. It is one DNS label, or two joined by a dot: a cluster's name
// and, for instance, its registry's (KEP-1645, "Not allowing cluster-specific targeting via DNS"). Its limit is 63
// characters because it is a label value.
type ClusterID string

// maxClusterID is the length limit of Kubernetes label values.
const maxClusterID = 63

// label is an RFC 1123 DNS label in lower case, as Kubernetes requires.
var label = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

// ParseClusterID returns s as a ClusterID, or an error that names the broken rule.
func ParseClusterID(s string) (ClusterID, error) {
	if s == "" {
		return "", errors.New("the cluster id is missing: use one or two DNS labels, such as \"c1\" or \"c1.eu\"")
	}
	if len(s) > maxClusterID {
		return "", fmt.Errorf("cluster id %q has %d characters, but at most %d are allowed", s, len(s), maxClusterID)
	}
	labels := strings.Split(s, ".")
	if len(labels) > 2 {
		return "", fmt.Errorf("cluster id %q has %d labels, but at most two are allowed", s, len(labels))
	}
	for _, l := range labels {
		if !label.MatchString(l) {
			return "", fmt.Errorf("cluster id %q: %q is not a DNS label (lower-case letters, digits and inner hyphens)", s, l)
		}
	}
	return ClusterID(s), nil
}

// String returns the id as in labels and DNS names.
func (id ClusterID) String() string { return string(id) }

const listed = 5

// ListClusters names clusters in a message, only the first ones of many.
func ListClusters(ids []string) string {
	quoted := make([]string, 0, listed)
	for _, id := range ids[:min(listed, len(ids))] {
		quoted = append(quoted, strconv.Quote(id))
	}
	list := strings.Join(quoted, ", ")
	if more := len(ids) - listed; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}
