// Package merge merges the exports of one Service from several clusters into one import, and finds conflicts
// (KEP-1645, "Constraints and Conflict Resolution").
//
// The decision is a pure function of the exports. Every agent that sees the same
// exports comes to the same result, so none has to tell another.
package merge

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/mcs/metadata"
)

// Export is one cluster's contribution. There is at most one from each cluster.
type Export = brokerv1alpha1.ExportedServiceSpec

// Resolution is what the exports of one Service amount to.
type Resolution struct {
	// Spec is the import's, but for the clusterset IPs, which every importing
	// cluster assigns for itself.
	Spec mcsv1beta1.ServiceImportSpec
	// Labels and Annotations are the exported ones.
	Labels, Annotations map[string]string
	// Clusters are the ids of the exporting clusters, sorted.
	Clusters []string
	// Conflicts lists the properties in which the exports disagree, in a fixed
	// order. It concerns all exports alike.
	Conflicts []Conflict
}

// Exported returns the exported labels and annotations in maps that can be added to.
func (r Resolution) Exported() metadata.Set {
	set := metadata.Set{Labels: map[string]string{}, Annotations: map[string]string{}}
	maps.Copy(set.Labels, r.Labels)
	maps.Copy(set.Annotations, r.Annotations)
	return set
}

// Conflict is one property in which exports disagree.
type Conflict struct {
	// Reason is the reason of the ServiceExport's Conflict condition.
	Reason mcsv1beta1.ServiceExportConditionReason
	// Message names the value in use, where it comes from, and how many of how many
	// clusters disagree.
	Message string
}

// Resolve merges the exports of one Service. The order in which they are given
// does not matter; there must be at least one.
func Resolve(exports []Export) Resolution {
	exports = byPrecedence(exports)
	oldest := exports[0]
	ports, conflicts := mergePorts(exports)
	families, familyConflicts := mergeIPFamilies(exports)
	for _, property := range properties {
		conflicts = append(conflicts, property.conflict(exports)...)
	}
	return Resolution{
		Spec: mcsv1beta1.ServiceImportSpec{
			Type:                  oldest.Type,
			Ports:                 ports,
			IPFamilies:            families,
			SessionAffinity:       affinity(oldest),
			SessionAffinityConfig: oldest.SessionAffinityConfig.DeepCopy(),
			InternalTrafficPolicy: clone(oldest.InternalTrafficPolicy),
			TrafficDistribution:   clone(oldest.TrafficDistribution),
		},
		Labels:      maps.Clone(oldest.ExportedLabels),
		Annotations: maps.Clone(oldest.ExportedAnnotations),
		Clusters:    Clusters(exports),
		Conflicts:   append(conflicts, familyConflicts...),
	}
}

// Type returns the type alone of what Resolve makes of the exports.
func Type(exports []Export) mcsv1beta1.ServiceImportType { return byPrecedence(exports)[0].Type }

// Precedence returns the ids of the exporting clusters, the one that wins all conflicts
// first.
func Precedence(exports []Export) []string {
	ids := make([]string, 0, len(exports))
	for _, e := range byPrecedence(exports) {
		ids = append(ids, e.ClusterID)
	}
	return ids
}

// Clusters returns the ids of the exporting clusters, sorted.
func Clusters(exports []Export) []string {
	return slices.Sorted(slices.Values(Precedence(exports)))
}

// byPrecedence returns the exports oldest first. Creation times have a
// resolution of one second, so equal ones are common where a pipeline deploys to
// several clusters at once: the cluster id decides then.
func byPrecedence(exports []Export) []Export {
	return slices.SortedFunc(slices.Values(exports), func(a, b Export) int {
		return cmp.Or(a.ExportedAt.Compare(b.ExportedAt.Time), strings.Compare(a.ClusterID, b.ClusterID))
	})
}

// affinity is the export's session affinity with the API's default.
func affinity(e Export) corev1.ServiceAffinity {
	return cmp.Or(e.SessionAffinity, corev1.ServiceAffinityNone)
}

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}
