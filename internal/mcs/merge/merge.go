// Package merge merges the exports of one Service from several clusters into one import, and finds conflicts (KEP-1645,
// "Constraints and Conflict Resolution").
//
// The result depends only on the exports, so all agents reach the same result without coordination.
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

// Export is one cluster's contribution; each cluster has at most one.
type Export = brokerv1alpha1.ExportedServiceSpec

// Resolution is the result for the exports of one Service.
type Resolution struct {
	// Spec is the import's spec, without clusterset IPs: each importing cluster assigns its own.
	Spec mcsv1beta1.ServiceImportSpec
	// Labels and Annotations are the exported ones.
	Labels, Annotations map[string]string
	// Clusters are the ids of the exporting clusters, sorted.
	Clusters []string
	// Conflicts lists the properties in which the exports disagree, in a fixed order. All exports get the same list.
	Conflicts []Conflict
}

// Exported returns copies of the exported labels and annotations, never nil.
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
	// Message names the value in use, its source, and how many clusters disagree.
	Message string
}

// Resolve merges the exports of one Service, at least one, in any order.
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

// Type returns only the type that Resolve decides.
func Type(exports []Export) mcsv1beta1.ServiceImportType { return byPrecedence(exports)[0].Type }

// Precedence returns the ids of the exporting clusters, by precedence in conflicts.
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

// byPrecedence returns the exports oldest first. Creation times have a resolution of one second, and a pipeline may
// deploy to several clusters at once, so the cluster id breaks ties.
func byPrecedence(exports []Export) []Export {
	return slices.SortedFunc(slices.Values(exports), func(a, b Export) int {
		return cmp.Or(a.ExportedAt.Compare(b.ExportedAt.Time), strings.Compare(a.ClusterID, b.ClusterID))
	})
}

// affinity returns the export's session affinity, with the API's default.
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
